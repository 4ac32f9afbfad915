// Package programtest runs the example programs for their tests.
package programtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

// Twice runs the program two times on the same tables and returns both reports.
func Twice(t *testing.T, p program.Program) (first, again string) {
	t.Helper()
	engine := Engine(t)
	name := newName(t, p.Table, engine.Client())
	var reports [2]bytes.Buffer
	for i := range reports {
		if err := p.Report(t.Context(), engine, name, &reports[i]); err != nil {
			t.Fatal(err)
		}
	}
	if p.Report(t.Context(), engine, "no spaces", io.Discard) == nil {
		t.Error("a table with a bad name: no error")
	}
	return reports[0].String(), reports[1].String()
}

// Table returns the name of a table for a program that starts an engine by itself. If
// the environment names the engine, the table is dropped when the test ends.
func Table(t *testing.T, prefix string) string {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") == "" {
		return prefix
	}
	return newName(t, prefix, tabletest.Client(t))
}

// newName returns a name that begins with a prefix. Tables whose names begin with it are
// dropped when the test ends.
func newName(t *testing.T, prefix string, client *dynamodb.Client) string {
	t.Helper()
	name := prefix + "-" + rand.Text() // the engine may not be ours alone
	t.Cleanup(func() { drop(t, client, name) })
	return name
}

// Engine returns an engine for the test, empty unless one is named by the
// environment.
func Engine(t *testing.T) *tabletest.Engine {
	t.Helper()
	engine, err := tabletest.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// drop removes the tables whose names begin so.
func drop(t *testing.T, client *dynamodb.Client, prefix string) {
	t.Helper()
	ctx := context.Background() // the test's own has ended
	for pages := dynamodb.NewListTablesPaginator(client, nil); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range page.TableNames {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Error(err)
			}
		}
	}
}

// Contains fails the test unless the report has each of the texts.
func Contains(t *testing.T, report string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

// Between returns the part of a report from one text to another.
func Between(t *testing.T, report, from, to string) string {
	t.Helper()
	_, rest, begins := strings.Cut(report, from)
	part, _, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Errorf("the report has nothing from %q to %q:\n%s", from, to, report)
	}
	return part
}
