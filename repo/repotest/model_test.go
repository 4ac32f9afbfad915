package repotest_test

import (
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// part is a note of which the key depends on the kind.
type part struct {
	ID   string `dynamodbav:"partId"`
	Kind string `dynamodbav:"kind"`
}

func TestTheModelIsTheProgramsConfirmedByItems(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	notes := expect.Value(repo.New(tbl, noteEntity()))(t)
	parts := expect.Value(repo.New(tbl, repo.Entity[part]{Type: "PART", Key: func(p part) keys.Key {
		if p.Kind == "spare" {
			return keys.Key{PK: keys.Prefix("SPARE").PK(p.ID), SK: keys.Metadata}
		}
		return keys.Key{PK: keys.Prefix("PART").PK(p.ID), SK: keys.Metadata}
	}}))(t)
	model := func(forms ...repo.Form) map[string]tablemodel.Entity {
		all := map[string]tablemodel.Entity{}
		m := expect.Value(repotest.Model(spec, expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t), forms...))(t)
		expect.OK(t, m.Validate())
		for _, e := range m.Entities {
			all[e.Type] = e
		}
		return all
	}

	wanted := tablemodel.Entity{Type: "NOTE", Version: "revision", Source: tablemodel.SourceProgram, Items: []tablemodel.Pattern{
		{PK: "NOTE#{noteId}", SK: "METADATA", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "MADE", SK: "{made:time}#{seats:4}"}}},
		{PK: "TITLE#{title}", SK: "METADATA"},
	}}
	partOf := func(source, prefix string) tablemodel.Entity {
		return tablemodel.Entity{Type: "PART", Source: source, Items: []tablemodel.Pattern{{PK: prefix + "#{partId}", SK: "METADATA"}}}
	}
	expect.Equal(t, "no items", model(notes.Form(), parts.Form()), map[string]tablemodel.Entity{
		"NOTE": wanted, "PART": partOf(tablemodel.SourceProgram, "PART"),
	})

	for i, id := range []string{"n-1", "n-2"} {
		expect.OK(t, notes.Create(t.Context(), &note{ID: id, Title: "of " + id, Seats: 20 + i, Made: time.Unix(int64(i), 0).UTC(), Home: address{"Rome " + id}}))
		expect.OK(t, parts.Create(t.Context(), &part{"p-" + id, "spare"}))
	}
	wanted.Source = tablemodel.SourceBoth
	got := model(notes.Form(), parts.Form())
	expect.Equal(t, "claims without a form", got["NOTE claim"].Source, tablemodel.SourceItems)
	delete(got, "NOTE claim")
	delete(got, "TAG") // the counter
	expect.Equal(t, "items", got, map[string]tablemodel.Entity{"NOTE": wanted, "PART": partOf(tablemodel.SourceItems, "SPARE")})
	got = model(parts.Form(part{"p-1", "spare"}, part{"p-2", "spare"}))
	expect.Equal(t, "samples", got["PART"], partOf(tablemodel.SourceBoth, "SPARE"))
	expect.Equal(t, "without a form", got["NOTE"].Source, tablemodel.SourceItems)
}
