package main

import (
	"io"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/shop/setup"
)

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		nil, {"-nope"}, {"-dev", "nope"}, {"-dev", "-serve"}, {"-walk", "-admin", "ana@example.com"}, {"-serve", "-data", "x"}, {"-dev", "-addr", "0.0.0.0:0"},
	} {
		if err := service().Run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	const good = "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo="
	for _, key := range []string{"", "short", "c2hvcnQ=", "not base64 but quite long, more than enough of it", good + ",", good + ",c2hvcnQ="} {
		if _, err := setup.ParseKeys(key); err == nil || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
