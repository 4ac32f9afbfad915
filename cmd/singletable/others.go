package main

import (
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/cmd/singletable/internal/shell"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// other is an item that holds the entity of a changed item too: the main item or a copy.
type other struct {
	Type string `json:"type"`
	PK   string `json:"pk"` // as on the command line
	SK   string `json:"sk,omitempty"`
	// Pattern means that the changed item's attributes do not give the key. PK and SK
	// are patterns of the model then.
	Pattern bool `json:"pattern,omitzero"`
}

// others returns the other items of the entity that a plan changes an item of. There are
// none if the model does not know the entity. Copies that the entity leaves out are not
// in it.
func others(model tablemodel.Model, tbl *table.Table, plan edit.Plan) []other {
	item := plan.Old
	if item == nil {
		item = plan.New
	}
	e, here, ok := model.Find(item)
	if !ok || len(plan.Differences) == 0 {
		return nil
	}
	var all []other
	for i, p := range e.Items {
		if i == here {
			continue
		}
		// Behind a main item that always has a key, the error is the pattern's own.
		ks, err := tablemodel.Entity{Items: []tablemodel.Pattern{{PK: "MAIN"}, p}}.Keys(item)
		switch missing := ks[1] == (keys.Key{}); {
		case !missing:
			args := append(keyArgs(tbl.Schema(), ks[1]), "")
			all = append(all, other{Type: e.Type, PK: args[0], SK: args[1]})
		case err != nil || i == 0: // Every entity has a main item.
			all = append(all, other{Type: e.Type, PK: p.PK, SK: p.SK, Pattern: true})
		}
	}
	return all
}

// othersText lists other items of an entity, with keys as the other commands take them.
func othersText(all []other) string {
	if len(all) == 0 {
		return ""
	}
	texts := make([]string, len(all))
	for i, o := range all {
		words := []string{o.PK}
		if o.SK != "" {
			words = append(words, o.SK)
		}
		texts[i] = shell.Quote(words...)
	}
	return "Other items of this " + oneLine(all[0].Type) + ", not changed: " + strings.Join(texts, ", ") + "\n"
}
