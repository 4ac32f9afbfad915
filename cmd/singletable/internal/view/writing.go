package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// writing is a change of an item, alone or with the others of its entity.
type writing struct {
	v                *visit
	editor           *edit.Editor
	key              keys.Key
	text             string
	remove, together bool

	// plans are what is written, that of the item first.
	plans []edit.Plan
	// alone is why the other items of the entity are not among them.
	alone error
}

// plan plans to store the item in the text under the key, or to delete that item. If the
// other items of the entity cannot be told, it plans for the item alone.
func (w *writing) plan() (err error) {
	w.alone = nil
	if w.together {
		w.plans, err = w.planEntity()
		if !errors.Is(err, edit.ErrAlone) {
			return err
		}
		w.alone = err
	}
	var plan edit.Plan
	if w.remove {
		plan, err = w.editor.Delete(w.v.Context(), w.key)
	} else {
		var item table.Item
		if item, err = w.item(); err == nil {
			plan, err = w.editor.Put(w.v.Context(), item)
		}
	}
	w.plans = []edit.Plan{plan}
	if err == nil && !w.remove {
		// A pattern that was inferred can be a coincidence.
		return w.v.state.detached(w.v.state.givenModel(), plan)
	}
	return err
}

func (w *writing) planEntity() ([]edit.Plan, error) {
	st := w.v.state
	_, model := st.types()
	find := func(item table.Item) (tablemodel.Entity, int, error) {
		e, here, ok := model.Find(item)
		if !ok {
			return e, here, fmt.Errorf("%w: the entity is not known", edit.ErrAlone)
		}
		return e, here, nil
	}
	if w.remove {
		stored, err := st.stored(w.v, w.key)
		if err != nil {
			return nil, err
		}
		e, here, err := find(stored)
		if err != nil {
			return nil, err
		}
		return w.editor.DeleteEntity(w.v.Context(), e, here, w.key)
	}
	item, err := w.item()
	if err != nil {
		return nil, err
	}
	e, here, err := find(item)
	if err != nil {
		return nil, err
	}
	return w.editor.PutEntity(w.v.Context(), e, here, item)
}

// item returns the item in the text.
func (w *writing) item() (table.Item, error) {
	item, err := dynamojson.Decode(w.text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	if w.v.state.table.KeyOf("", item) != w.key {
		return nil, fmt.Errorf("%w: the text has another key, and so is another item", table.ErrInvalid)
	}
	return item, nil
}

// seen names what is stored under all keys.
func (w *writing) seen() string {
	var all []string
	for _, p := range w.plans {
		all = append(all, p.Seen)
	}
	return strings.Join(all, "-")
}

// writes reports whether the item changes.
func (w *writing) writes() bool { return len(w.plans[0].Differences) > 0 }

// ignored returns the version attribute that guards the item, if the text has another value
// of it than is stored: the write sets it, whatever the text says.
func (w *writing) ignored() string {
	plan := w.plans[0]
	item, err := dynamojson.Decode(w.text)
	if err != nil || plan.Guard != edit.ByVersion || edit.Equal(item[plan.Version], plan.Old[plan.Version]) {
		return ""
	}
	return plan.Version
}

// editor returns the editor of a table. Items are guarded by the version of their entity.
// Without a schema file, a number called version can be data of the item, such as that of
// a document, and is not changed: all attributes are the guard then.
func (s *server) editor(st *state) (*edit.Editor, error) {
	_, model := st.types()
	return edit.New(s.client, st.schema, func(item table.Item) string {
		kind := st.typeOf(item)
		for _, e := range model.Entities {
			if e.Type != kind {
				continue
			}
			given := slices.ContainsFunc(st.given, named(kind))
			if given || e.Version == "revision" {
				return e.Version
			}
		}
		return ""
	})
}
