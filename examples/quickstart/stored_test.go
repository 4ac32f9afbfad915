package main

import (
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec("any"), nil)
	r := check.Must(newRepos(tbl))(t)
	check.OK(t, seed(t.Context(), r))
	generated.Part(t, "README.md", "stored", generated.Picture(t, spec("AppCore"), generated.Stored(t, tbl), &tablemodel.Options{
		Items: 2, Attributes: []string{"name", "amount", "currency", "status", "text"},
	}))
}

// The rows in the README of the repository are from this one.
func TestTheRepositorysREADMEShowsRowsOfIt(t *testing.T) {
	t.Parallel()
	own := string(check.Must(os.ReadFile("README.md"))(t))
	_, rest, _ := strings.Cut(string(check.Must(os.ReadFile("../../README.md"))(t)), "| `pk` | `sk` |")
	picture, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(picture, "\n")[1:]
	if len(rows) < 4 {
		t.Fatalf("it has %d rows", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(own, row+"\n") {
			t.Errorf("examples/quickstart/README.md does not have %s", row)
		}
	}
}
