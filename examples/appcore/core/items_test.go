package core_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheDesign|^TestStoredForms$ -update

// docs/design.md tells which items are stored. The table there is made of what the
// service really stores.
func TestTheDesignTellsWhatIsStored(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	register(t, s, "u-123", "ana@example.com", "Ana")
	tx := create(t, s, "u-123", "8e03978e")
	check.Must(s.Approve(t.Context(), tx))(t)
	notification := text(ofType(t, tbl, "NOTIFICATION")[0], "notifId")
	abstract := strings.NewReplacer(tx, "‹txId›", notification, "‹notifId›", "u-123", "‹userId›", "ana@example.com", "‹email›", "8e03978e", "‹key›")
	timestamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	shardOf := regexp.MustCompile(`GLOBAL_TX(#\d)?`)

	var rows []string
	for _, item := range items(t, tbl) {
		cells := []string{text(item, "entityType")}
		for _, name := range []string{"pk", "sk", "GSI1PK", "GSI1SK"} {
			value := timestamp.ReplaceAllString(abstract.Replace(text(item, name)), "‹time›")
			if value = shardOf.ReplaceAllString(value, "GLOBAL_TX‹#1–3›"); value != "" {
				value = "`" + value + "`"
			}
			cells = append(cells, value)
			delete(item, name)
		}
		delete(item, "entityType")
		cells = append(cells, strings.Join(slices.Sorted(maps.Keys(item)), ", "))
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |\n")
	}
	slices.Sort(rows)
	generated.Part(t, "../docs/design.md", "items",
		"| entityType | pk | sk | GSI1PK | GSI1SK | other attributes |\n|---|---|---|---|---|---|\n"+strings.Join(rows, ""))
}

func TestStoredForms(t *testing.T) {
	t.Parallel()
	s := check.Must(core.New(tabletest.New(t, core.Schema("any"), nil), nil))(t)
	repotest.Golden(t, "testdata/stored.json", *generated.Update, s.Forms()...)
}
