package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// ErrUsedUp means that a sequence has no number left that fits its digits.
var ErrUsedUp = errors.New("sequence is used up")

// Sequence gives numbers such as ORD-000001. Each tenant has its own, and each
// year begins anew.
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

// counter is the state of a sequence: SEQ#<tenant> / SEQ#<prefix>#<year>. The
// last number given out is its version, so that storing the next one expects the
// one before.
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
	Version: "last",
}

// maxDraws bounds how often a writer that lost to others tries again.
const maxDraws = 500

// number draws the next number of a sequence. No number is given out twice. One
// whose answer was lost on the way is given to nobody.
func (t tenant) number(ctx context.Context, s Sequence) (Number, error) {
	year := t.table.Now().UTC().Year()
	c := counter{TenantCode: t.caller.Tenant, Prefix: s.Prefix, Year: year}
	for draw := 0; ; draw++ {
		now, err := t.counters.Consistent().Get(ctx, counterEntity.Key(c))
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return Number{}, err
		}
		c.Last = now.Last
		if float64(c.Last+1) >= math.Pow10(s.Digits) {
			return Number{}, fmt.Errorf("%w: %s of %d", ErrUsedUp, s.Prefix, year)
		}
		// A transaction, though it is one item: DynamoDB knows a repeated
		// transaction by its token, while a lone put after a lost answer could
		// take the equal item of another writer for its own.
		err = t.table.Transact(ctx, t.counters.PutOps(c)...)
		if err == nil {
			return Number{Sequence: s, Year: year, N: c.Last + 1}, nil
		}
		if !errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrOutcomeUnknown) || draw == maxDraws {
			return Number{}, err
		}
		if err := pause(ctx, draw); err != nil {
			return Number{}, err
		}
	}
}

// pause waits for a random time, so that writers who met once do not meet again.
func pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(rand.N(time.Millisecond << min(tries+1, 6)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// placeOrder publishes a new order under the next number. An order stands below
// its year, since the numbers of each year begin anew.
func (t tenant) placeOrder(ctx context.Context, name string, attributes map[string]any) (Record, error) {
	n, err := t.number(ctx, orderNumbers)
	if err != nil {
		return Record{}, err
	}
	r := ref("ORDER", strconv.Itoa(n.Year), n.String())
	return t.publish(ctx, Change{Ref: r, Name: name, Attributes: attributes})
}
