package repotest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// Model returns the model of a program's table, for its schema file: types, versions, items and
// indexes are those of the forms. Patterns of keys are what the entities' functions make of the
// forms' samples, compared with stored items: see [tablemodel.Entity].Source. The stored items are
// those of a test's table; their types without a form, such as claims, are as
// [tablemodel.Infer] finds them.
func Model(spec schema.Table, stored []table.Item, forms ...repo.Form) (tablemodel.Model, error) {
	model, err := tablemodel.Infer(spec, stored)
	if err != nil {
		return model, err
	}
	for i := range model.Entities {
		model.Entities[i].Source = tablemodel.SourceItems
	}
	for _, f := range forms {
		i := slices.IndexFunc(model.Entities, func(e tablemodel.Entity) bool { return e.Type == f.Type })
		if i < 0 {
			i, model.Entities = len(model.Entities), append(model.Entities, tablemodel.Entity{Type: f.Type})
		}
		if err := describe(&model.Entities[i], spec, stored, f); err != nil {
			return model, err
		}
	}
	// A kind, or an entity whose functions have no sample, has no patterns without stored items.
	model.Entities = slices.DeleteFunc(model.Entities, func(e tablemodel.Entity) bool { return len(e.Items) == 0 })
	slices.SortFunc(model.Entities, func(a, b tablemodel.Entity) int { return strings.Compare(a.Type, b.Type) })
	return model, nil
}

// describe gives an entity, which has the patterns of stored items, what the form says.
func describe(e *tablemodel.Entity, spec schema.Table, stored []table.Item, f repo.Form) error {
	e.Version = f.Version
	samples := slices.DeleteFunc(slices.Concat(f.Samples...), func(i table.Item) bool { return i == nil })
	program, err := infer(spec, samples, f.Type)
	if err != nil || len(program.Items) == 0 {
		return err
	}
	both, err := infer(spec, slices.Concat(samples, stored), f.Type)
	switch {
	case err != nil:
		return err
	case len(e.Items) == 0:
		e.Items, e.Source = program.Items, tablemodel.SourceProgram
	case reflect.DeepEqual(program.Items, both.Items):
		e.Items, e.Source = program.Items, tablemodel.SourceBoth
	}
	if _, n, ok := (tablemodel.Model{Table: spec, Entities: []tablemodel.Entity{*e}}).Find(samples[0]); ok { // the main item
		e.Items = slices.Concat(e.Items[n:n+1], e.Items[:n], e.Items[n+1:])
	}
	return nil
}

// infer returns the entity that items of a type show.
func infer(spec schema.Table, items []table.Item, kind string) (tablemodel.Entity, error) {
	model, err := tablemodel.Infer(spec, items)
	for _, e := range model.Entities {
		if e.Type == kind {
			return e, nil
		}
	}
	return tablemodel.Entity{}, err
}
