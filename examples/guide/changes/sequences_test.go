package changes

import (
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// program is a release of a guide.
type program struct {
	get func(keys.Key) (string, error) // an amount
	// set stores an amount, renew deletes the order and creates it again with one, change
	// writes another attribute, and refresh does what a backfill does.
	set, renew, change, refresh func(key keys.Key, amount string) error
}

// newProgram returns the release of an entity. amount is how its code reads an amount,
// set is how it stores one, and status is another attribute.
func newProgram[T any](t *testing.T, tbl *table.Table, e repo.Entity[T], amount func(T) string, set func(*T, string), status func(*T) *string) program {
	t.Helper()
	orders := release(t, tbl, e)
	update := func(key keys.Key, change func(*T)) error {
		return check.Err(orders.Update(t.Context(), key, func(o *T) error { change(o); return nil }))
	}
	return program{
		set: func(key keys.Key, amount string) error { return update(key, func(o *T) { set(o, amount) }) },
		get: func(key keys.Key) (string, error) {
			o, err := orders.Consistent().Get(t.Context(), key)
			return amount(o), err
		},
		change:  func(key keys.Key, _ string) error { return update(key, func(o *T) { *status(o) += "+" }) },
		refresh: func(key keys.Key, _ string) error { return check.Err(orders.Refresh(t.Context(), key)) },
		renew: func(key keys.Key, amount string) error {
			o, err := orders.Consistent().Get(t.Context(), key)
			if err == nil {
				err = orders.Delete(t.Context(), key)
			}
			if err != nil {
				return err
			}
			set(&o, amount)
			return orders.Create(t.Context(), &o)
		},
	}
}

func renames(t *testing.T, tbl *table.Table) []program {
	return []program{
		newProgram(t, tbl, first, func(o Order1) string { return o.Name },
			func(o *Order1, amount string) { o.Name = amount }, func(o *Order1) *string { return &o.Status }),
		newProgram(t, tbl, withBoth, func(o OrderBoth) string { return o.Title }, (*OrderBoth).Call, func(o *OrderBoth) *string { return &o.Status }),
		newProgram(t, tbl, withTitle, func(o OrderTitle) string { return o.Title },
			func(o *OrderTitle, amount string) { o.Title = amount }, func(o *OrderTitle) *string { return &o.Status }),
	}
}

func totalText(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func changesOfType(t *testing.T, tbl *table.Table) []program {
	number := func(amount string) int64 { return check.Must(cents(amount))(t) }
	return []program{
		newProgram(t, tbl, first, func(o Order1) string { return o.Total },
			func(o *Order1, amount string) { o.Total = amount }, func(o *Order1) *string { return &o.Status }),
		newProgram(t, tbl, withTotals, func(o OrderTotals) string { return totalText(o.Cents) },
			func(o *OrderTotals, amount string) { o.Charge(number(amount)) }, func(o *OrderTotals) *string { return &o.Status }),
		newProgram(t, tbl, withCentsAlone, func(o OrderCents) string { return totalText(o.Cents) },
			func(o *OrderCents, amount string) { o.Cents = number(amount) }, func(o *OrderCents) *string { return &o.Status }),
	}
}

// changesOfTypeAtOnce has the one release that a change of type needs if the first one
// may fail.
func changesOfTypeAtOnce(t *testing.T, tbl *table.Table) []program {
	return []program{changesOfType(t, tbl)[0], newProgram(t, tbl, withCents, func(o OrderCents) string { return totalText(o.Cents) },
		func(o *OrderCents, amount string) { o.Cents = check.Must(cents(amount))(t) }, func(o *OrderCents) *string { return &o.Status })}
}

// Whatever three steps the releases of a guide take, in any order: all of them read what
// was stored last. The first release alone can fail, with ErrNewerShape, and then it has
// stored nothing.
func TestNoOrderOfReleasesLosesAWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		releases func(*testing.T, *table.Table) []program
		amounts  [3]string
	}{
		"rename":       {renames, [3]string{"one", "", "three"}},
		"type":         {changesOfType, [3]string{"1.00", "0.00", "3.00"}},
		"type at once": {changesOfTypeAtOnce, [3]string{"1.00", "0.00", "3.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, Schema, nil)
			check.OK(t, release(t, tbl, first).Create(t.Context(), &Order1{ID: "o-1", Name: "7.00", Total: "7.00"}))
			sequences(t, tbl, c.releases(t, tbl), c.amounts[:], "7.00", "")
		})
	}
}

// sequences takes every step that the releases can take after others, and then all that
// can follow, as many as there are amounts. want is what is stored.
func sequences(t *testing.T, tbl *table.Table, programs []program, amounts []string, want, done string) {
	t.Helper()
	if len(amounts) == 0 {
		return
	}
	key := Key("o-1")
	before := check.Must(table.Get[table.Item](t.Context(), tbl.Consistent(), key))(t)
	for by, p := range programs {
		for verb, step := range map[string]func(keys.Key, string) error{
			"stores": p.set, "deletes it and stores": p.renew, "changes another than": p.change, "refreshes, not to": p.refresh,
		} {
			check.OK(t, tbl.Do(t.Context(), table.Put(key, before)))
			now, done := want, fmt.Sprintf("%srelease %d %s %q, ", done, by+1, verb, amounts[0])
			err := step(key, amounts[0])
			if !refused(t, by, err) && (verb == "stores" || verb == "deletes it and stores") {
				now = amounts[0]
			}
			for by, p := range programs {
				if got, err := p.get(key); !refused(t, by, err) && got != now {
					t.Fatalf("%sthen release %d reads %q", done, by+1, got)
				}
			}
			sequences(t, tbl, programs, amounts[1:], now, done)
		}
	}
}

// refused reports whether the first release fails as it may. No other may fail.
func refused(t *testing.T, by int, err error) bool {
	t.Helper()
	if by == 0 && errors.Is(err, table.ErrNewerShape) {
		return true
	}
	check.OK(t, err)
	return false
}
