package main

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The attributes by which a global table of 2017 replicates are not loaded, and load says so.
// An attribute of another name is.
func TestLoadDropsReplication(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	text := itemLine("a", "1") + strings.Replace(itemLine("b", "2"), `{"Item":{`,
		`{"Item":{"aws:rep:deleting":{"BOOL":false},"aws:rep:updatetime":{"N":"1678818915.260001"},"aws:rep:updateregion":{"S":"us-east-1"},"aws:rep":{"S":"kept"},`, 1)
	const says = "not loaded, of 1 item: the attributes aws:rep:… of a global table of version 2017.11.29\n"
	for _, args := range [][]string{{"load", "-check", name}, {"load", name}} {
		if got := run(t, nil, text, args...); got.code != exitYes || got.stderr != says {
			t.Errorf("%v: %+v", args, got)
		}
	}
	item, err := table.Get[table.Item](t.Context(), tbl.Consistent(), keys.Key{PK: "USER#1", SK: "b"})
	if err != nil || len(item) != 4 || item["aws:rep"] == nil {
		t.Errorf("%v, %v", item, err)
	}
	if got := run(t, nil, itemLine("a", "1"), "load", "-replace", name); got.stderr != "" {
		t.Errorf("%+v", got)
	}
}
