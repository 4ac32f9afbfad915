package core_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheREADME -update

// The README tells which items are stored. The table there is made of what the
// service really stores.
func TestTheREADMETellsWhatIsStored(t *testing.T) {
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
	generated.Part(t, "../README.md", "items",
		"| entityType | pk | sk | GSI1PK | GSI1SK | other attributes |\n|---|---|---|---|---|---|\n"+strings.Join(rows, ""))
}

// The ids that the service draws, and the shards that they fall on, differ from
// run to run. The picture has ids of its own, and no shards.
func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)
	tbl := tabletest.New(t, core.Schema("any"), &table.Options{Now: func() time.Time { return now }})
	s := check.Must(core.New(tbl))(t)
	register(t, s, "u-123", "ana@example.com", "Ana")
	first := create(t, s, "u-123", "8e03978e")
	now = now.Add(time.Minute)
	second := create(t, s, "u-123", "40d9a8b1")
	now = now.Add(time.Minute)
	check.Must(s.Approve(t.Context(), first))(t)
	notification := text(ofType(t, tbl, "NOTIFICATION")[0], "notifId")
	ids := strings.NewReplacer(first, "tx-abc", second, "tx-def", notification, "notif-xyz")
	shardOf := regexp.MustCompile(`GLOBAL_TX(#\d)?`)
	found := generated.Stored(t, tbl)
	for _, item := range found {
		for _, v := range item {
			if s, ok := v.(*types.AttributeValueMemberS); ok {
				s.Value = shardOf.ReplaceAllString(ids.Replace(s.Value), "GLOBAL_TX‹#1–3›")
			}
		}
	}
	generated.Part(t, "../README.md", "stored", generated.Picture(t, core.Schema("AppCore"), found, &tablemodel.Options{
		Attributes: []string{"email", "name", "amount", "currency", "status", "message", "read", "txId"},
	}))
}
