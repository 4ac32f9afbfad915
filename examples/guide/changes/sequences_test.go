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
	// set stores an amount, and get reads it.
	set func(key keys.Key, amount string) error
	get func(keys.Key) (string, error)
	// change writes another attribute, and refresh does what a backfill does.
	change, refresh func(keys.Key) error
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
		change:  func(key keys.Key) error { return update(key, func(o *T) { *status(o) += "+" }) },
		refresh: func(key keys.Key) error { return check.Err(orders.Refresh(t.Context(), key)) },
	}
}

func renames(t *testing.T, tbl *table.Table) []program {
	return []program{
		newProgram(t, tbl, first, func(o Order1) string { return o.Name },
			func(o *Order1, amount string) { o.Name = amount }, func(o *Order1) *string { return &o.Status }),
		newProgram(t, tbl, withBoth, OrderBoth.Called, (*OrderBoth).Call, func(o *OrderBoth) *string { return &o.Status }),
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
		newProgram(t, tbl, withTotals, func(o OrderTotals) string { return totalText(check.Must(o.Amount())(t)) },
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
			programs := c.releases(t, tbl)
			kinds := 3 * len(programs) // of steps
			for n := range kinds * kinds * kinds {
				key, want := Key(id(n)), "7.00"
				check.OK(t, release(t, tbl, first).Create(t.Context(), &Order1{ID: id(n), Name: want, Total: want}))
				done := ""
				rest := n
				for _, amount := range c.amounts {
					by := rest % len(programs)
					var err error
					switch p := programs[by]; rest / len(programs) % 3 {
					case 0:
						if err = p.set(key, amount); err == nil {
							want = amount
						}
						done += fmt.Sprintf("release %d sets %q, ", by+1, amount)
					case 1:
						err = p.change(key)
						done += fmt.Sprintf("release %d changes another, ", by+1)
					case 2:
						err = p.refresh(key)
						done += fmt.Sprintf("release %d refreshes, ", by+1)
					}
					rest /= kinds
					refused(t, by, err)
					for by, p := range programs {
						if got, err := p.get(key); !refused(t, by, err) && got != want {
							t.Fatalf("%sthen release %d reads %q", done, by+1, got)
						}
					}
				}
			}
		})
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
