package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// ErrUsedUp means that a sequence has no number left that fits its digits.
var ErrUsedUp = errors.New("sequence is used up")

// Sequence gives numbers such as ORD-000001. Each tenant has its own, and
// begins again each year.
type Sequence struct {
	Prefix string
	Digits int
}

var orderNumbers = Sequence{Prefix: "ORD", Digits: 6}

// Number is one number of a sequence. It is given out once for a tenant and a
// year.
type Number struct {
	Sequence
	Year int
	N    int64
}

// String returns the number as people write it, without the year.
func (n Number) String() string { return fmt.Sprintf("%s-%0*d", n.Prefix, n.Digits, n.N) }

// counter is the state of a sequence: SEQ#<tenant> / SEQ#<prefix>#<year>, with the
// last number that was given out.
type counter struct {
	TenantCode string `dynamodbav:"tenantCode"`
	Prefix     string `dynamodbav:"prefix"`
	Year       int    `dynamodbav:"year"`
	Last       int64  `dynamodbav:"last"`
}

var counterEntity = repo.Entity[counter]{
	Type: "SEQUENCE",
	Key: func(c counter) keys.Key {
		p := keys.Prefix("SEQ")
		return keys.Key{PK: p.PK(c.TenantCode), SK: p.SK(keys.Str(c.Prefix), keys.Int(c.Year, 4))}
	},
}

// Number draws the next number of a sequence, with one request. No number is given
// out twice. One whose response was lost is given to nobody.
func (t Tenant) Number(ctx context.Context, s Sequence) (Number, error) {
	year := t.table.Now().UTC().Year()
	c := counter{TenantCode: t.caller.Tenant, Prefix: s.Prefix, Year: year}
	c, err := t.counters.Upsert(ctx, c, repo.Patch{Add: map[string]any{"last": 1}})
	switch {
	case err != nil:
		return Number{}, err
	case float64(c.Last) >= math.Pow10(s.Digits):
		return Number{}, fmt.Errorf("%w: %s of %d", ErrUsedUp, s.Prefix, year)
	}
	return Number{Sequence: s, Year: year, N: c.Last}, nil
}

// PlaceOrder publishes a new order under the next number. An order stands below
// its year, since the numbers begin again each year. A repeated request gets
// the order of the first, and leaves out a number. So does a number that a command of an
// earlier release has taken.
func (t Tenant) PlaceOrder(ctx context.Context, name string, attributes map[string]any) (Record, error) {
	order := Change{Ref: Ref{Type: "ORDER"}, Name: name, Attributes: attributes}
	var placed Record
	err := table.ErrStale
	for range 10 {
		if !errors.Is(err, table.ErrStale) {
			break
		}
		placed, err = t.once(ctx, order, func(ctx context.Context) (Change, error) {
			n, err := t.Number(ctx, orderNumbers)
			numbered := order
			numbered.Ref = NewRef("ORDER", strconv.Itoa(n.Year), n.String())
			return numbered, err
		})
	}
	return placed, err
}
