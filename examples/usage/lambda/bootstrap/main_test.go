package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheHandlerNamesTheFunction(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), nil)
	for _, handler := range []string{"count", "query", "", "other"} {
		f, err := open(t.Context(), client, tbl.Schema().Name, handler, slog.New(slog.DiscardHandler))
		var ok bool
		switch handler {
		case "count":
			_, ok = f.(func(context.Context, json.RawMessage) (any, error))
		case "query":
			_, ok = f.(func(context.Context, lambda.Question) (lambda.Usage, error))
		default:
			ok = f == nil && err != nil
		}
		if !ok {
			t.Errorf("%q: %T %v", handler, f, err)
		}
	}
}

func TestAFunctionWithoutItsTableDoesNotStart(t *testing.T) {
	t.Parallel()
	_, err := load(t.Context(), func(string) string { return "" }, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "TABLE_NAME") {
		t.Error(err)
	}
	client := tabletest.Client(t)
	other := tabletest.NewWith(t, client, table.Schema{Name: "any", PK: "PK", SK: "SK", TTL: "expiresAt"}, nil)
	_, err = open(t.Context(), client, other.Schema().Name, "count", slog.New(slog.DiscardHandler))
	if !errors.Is(err, table.ErrSchemaMismatch) {
		t.Error(err)
	}
}
