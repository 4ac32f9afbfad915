package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// basket counts its lines, and the pieces in them.
type basket struct {
	ID        string `dynamodbav:"id"`
	Name      string `dynamodbav:"name"`
	Mail      string `dynamodbav:"mail,omitempty"`
	Lines     int64  `dynamodbav:"lines"`
	Pieces    int64  `dynamodbav:"pieces"`
	Revision  string `dynamodbav:"revision"`
	ExpiresAt int64  `dynamodbav:"expiresAt,omitempty"`
}

type line struct {
	ID        string `dynamodbav:"id"`
	Basket    string `dynamodbav:"basket,omitempty"`
	N         int64  `dynamodbav:"n"`
	Note      string `dynamodbav:"note,omitempty"`
	Code      string `dynamodbav:"code,omitempty"`
	Revision  string `dynamodbav:"revision"`
	ExpiresAt int64  `dynamodbav:"expiresAt,omitempty"`
}

func basketKey(id string) keys.Key {
	if id == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.PK("BASKET#" + id), SK: keys.Metadata}
}

func mailKey(mail string) keys.Key { return keys.Key{PK: keys.PK("MAIL#" + mail), SK: keys.Metadata} }

func lineKey(id string) keys.Key { return keys.Key{PK: keys.PK("LINE#" + id), SK: keys.Metadata} }

// plainBasket has no copies.
var plainBasket = repo.Entity[basket]{
	Type: "BASKET", Version: "revision", Counted: []string{"lines", "pieces"},
	Key: func(b basket) keys.Key { return basketKey(b.ID) },
}

var basketEntity = repo.Entity[basket]{
	Type: "BASKET", Version: "revision", Counted: []string{"lines", "pieces"},
	Key: func(b basket) keys.Key { return basketKey(b.ID) },
	Copies: []repo.Copy[basket]{{Name: "by mail", Key: func(b basket) keys.Key {
		if b.Mail == "" {
			return keys.Key{}
		}
		return mailKey(b.Mail)
	}}},
}

// past is an expiry.
var past = time.Now().Add(-time.Hour).Unix()

func inBasket(l line) keys.Key { return basketKey(l.Basket) }

// plainLine is of a release without counters.
var plainLine = repo.Entity[line]{
	Type: "LINE", Version: "revision", Key: func(l line) keys.Key { return lineKey(l.ID) },
}

func lineEntity(most int64) repo.Entity[line] {
	e := plainLine
	e.Counters = []repo.Counter[line]{
		{Name: "lines", Key: inBasket, Owner: "BASKET", Attribute: "lines"},
		{Name: "pieces", Key: inBasket, Owner: "BASKET", Attribute: "pieces", Amount: func(l line) int64 { return l.N }, Max: &most},
	}
	return e
}

// richLine has copies and claims, too.
func richLine(most int64) repo.Entity[line] {
	e := lineEntity(most)
	e.Copies = []repo.Copy[line]{{Name: "in basket", Key: func(l line) keys.Key {
		if l.Basket == "" {
			return keys.Key{}
		}
		return keys.Key{PK: keys.PK("BASKET#" + l.Basket), SK: keys.SK("LINE#" + l.ID)}
	}}}
	e.Claims = func(l line) []keys.Key {
		if l.Code == "" {
			return nil
		}
		return []keys.Key{{PK: keys.PK("CODE#" + l.Code), SK: keys.Metadata}}
	}
	return e
}

type shopping struct {
	baskets *repo.Repo[basket]
	lines   *repo.Repo[line]
	plain   *repo.Repo[line]
	table   *table.Table
	faults  *tabletest.Faults
}

func newShopping(t testing.TB, lines repo.Entity[line]) shopping {
	t.Helper()
	faults := &tabletest.Faults{}
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{Name: "any", TTLAttribute: "expiresAt"}, nil)
	s := shoppingOn(t, tbl, lines)
	s.faults = faults
	return s
}

func shoppingOn(t testing.TB, tbl *table.Table, lines repo.Entity[line]) shopping {
	t.Helper()
	plain := lines
	plain.Counters = nil
	return shopping{newRepo(t, tbl, basketEntity), newRepo(t, tbl, lines), newRepo(t, tbl, plain), tbl, nil}
}

func (s shopping) has(t *testing.T, what, id string, lines, pieces int64) {
	t.Helper()
	b := expect.Value(s.baskets.Consistent().Get(t.Context(), basketKey(id)))(t)
	if b.Lines != lines || b.Pieces != pieces {
		t.Errorf("%s: %d lines with %d pieces, want %d with %d", what, b.Lines, b.Pieces, lines, pieces)
	}
}

// set gives a number another value, behind the repository's back.
func (s shopping) set(t *testing.T, key keys.Key, attribute string, n int) {
	t.Helper()
	expect.OK(t, s.table.Do(t.Context(), table.Update(key, expression.Set(expression.Name(attribute), expression.Value(n)))))
}

func (s shopping) remove(t *testing.T, key keys.Key, attribute string) {
	t.Helper()
	expect.OK(t, s.table.Do(t.Context(), table.Patch(key, nil, attribute)))
}

// marked returns what the stored lines say that they were counted as, by item and attribute.
func marked(tb testing.TB, tbl *table.Table) map[string]int64 {
	tb.Helper()
	sums := map[string]int64{}
	for scan := (table.Scan{Consistent: true}); ; {
		page := expect.Value(table.ScanPage[table.Item](tb.Context(), tbl.IncludingExpired(), scan))(tb)
		for _, item := range page.Items {
			m, ok := item["entityCounted"].(*types.AttributeValueMemberM)
			if !ok || !strings.HasPrefix(item["pk"].(*types.AttributeValueMemberS).Value, "LINE#") {
				continue // a copy
			}
			for _, v := range m.Value["in"].(*types.AttributeValueMemberM).Value {
				l := v.(*types.AttributeValueMemberL).Value
				n, _ := strconv.ParseInt(l[2].(*types.AttributeValueMemberN).Value, 10, 64)
				sums[l[3].(*types.AttributeValueMemberS).Value+" "+l[1].(*types.AttributeValueMemberS).Value] += n
			}
		}
		if page.Next == "" {
			return sums
		}
		scan.After = page.Next
	}
}

func TestCountersFollow(t *testing.T) {
	t.Parallel()
	for name, entity := range map[string]repo.Entity[line]{"plain": lineEntity(10), "copies and claims": richLine(10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := newShopping(t, entity), t.Context()
			l := line{ID: "1", Basket: "a", N: 3, Code: "x"}
			err := s.lines.Create(ctx, &l)
			expect.Err(t, err, table.ErrUncounted)
			a, b := basket{ID: "a", Mail: "a@example.com", Lines: 7}, basket{ID: "b"}
			expect.OK(t, s.baskets.Create(ctx, &a))
			expect.OK(t, s.baskets.Create(ctx, &b))
			etag := a.Revision
			s.has(t, "a new basket", "a", 0, 0)
			expect.OK(t, s.lines.Create(ctx, &l))
			s.has(t, "created", "a", 1, 3)

			expect.Value(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.N = 5; return nil }))(t)
			s.has(t, "more", "a", 1, 5)
			_, err = s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.N = 11; return nil })
			expect.Err(t, err, table.ErrLimit)
			if failed, ok := table.FailedOp(err, "LINE pieces"); !ok || failed.Key != basketKey("a") {
				t.Errorf("the error does not name the counter: %v", err)
			}
			s.has(t, "too many", "a", 1, 5)
			expect.Value(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.Basket = "b"; l.N = 4; return nil }))(t)
			s.has(t, "moved from", "a", 0, 0)
			s.has(t, "moved to", "b", 1, 4)
			l = expect.Value(s.lines.Get(ctx, lineKey("1")))(t)
			l.N = 2
			expect.OK(t, s.lines.Save(ctx, &l))
			s.has(t, "put", "b", 1, 2)
			next := l
			next.Basket, next.N = "a", 1
			if name == "plain" {
				expect.OK(t, s.table.Transact(ctx, s.lines.UpdateOps(l, &next)...))
				s.has(t, "UpdateOps", "a", 1, 1)
				s.has(t, "UpdateOps", "b", 0, 0)
				expect.OK(t, s.table.Transact(ctx, s.lines.DeleteOps(next)...))
			} else {
				expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
			}
			s.has(t, "deleted", "a", 0, 0)
			s.has(t, "deleted", "b", 0, 0)

			// An old value undoes no count, and counting changes no revision.
			second := line{ID: "2", Basket: "a", N: 2}
			expect.OK(t, s.lines.Create(ctx, &second))
			a.Name = "new name"
			expect.OK(t, s.baskets.Save(ctx, &a))
			s.has(t, "saved an old value", "a", 1, 2)
			if got := expect.Value(s.baskets.Get(ctx, basketKey("a")))(t).Revision; got == etag || got != a.Revision {
				t.Errorf("revision %q", got)
			}
			old := a
			a.Name, a.Lines = "newer", 99
			expect.OK(t, s.table.Transact(ctx, s.baskets.UpdateOps(old, &a)...))
			s.has(t, "UpdateOps of an old value", "a", 1, 2)
			byMail := expect.Value(s.baskets.Get(ctx, keys.Key{PK: "MAIL#a@example.com", SK: keys.Metadata}))(t)
			expect.Equal(t, "lines of the copy", byMail.Lines, 0)

			// The owner goes first.
			expect.OK(t, s.baskets.Delete(ctx, basketKey("a")))
			expect.OK(t, s.lines.Delete(ctx, lineKey("2")))
			if item, err := table.Get[table.Item](ctx, s.table, basketKey("a")); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("the basket came back: %v %v", item, err)
			}
		})
	}
}

// TestCountersInOneTransaction: several ops about one item that counts become one.
func TestCountersInOneTransaction(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	one, two, three := line{ID: "1", Basket: "a", N: 4}, line{ID: "2", Basket: "a", N: 6}, line{ID: "3", Basket: "a", N: 7}
	before := len(s.faults.Requests())
	expect.OK(t, s.lines.TransactPut(ctx, &one, &two))
	if r := s.faults.Requests()[before:]; strings.Count(string(r[len(r)-1].Body), `"Update"`) != 1 {
		t.Errorf("requests: %s", r)
	}
	s.has(t, "two lines", "a", 2, 10)
	// One goes and one comes: the sum of both is bounded.
	ops := append(s.lines.DeleteOps(two), s.lines.CreateOps(&three)...)
	err := s.table.Transact(ctx, ops...)
	expect.Err(t, err, table.ErrLimit)
	three.N = 6
	expect.OK(t, s.table.Transact(ctx, append(s.lines.DeleteOps(two), s.lines.CreateOps(&three)...)...))
	s.has(t, "exchanged", "a", 2, 10)

	// The owner is written in the same transaction: one op does both.
	b := expect.Value(s.baskets.Get(ctx, basketKey("a")))(t)
	next := b
	next.Name = "x"
	expect.OK(t, s.table.Transact(ctx, append(s.lines.DeleteOps(one), s.baskets.UpdateOps(b, &next)...)...))
	s.has(t, "with a change of the basket", "a", 1, 6)
	if got := expect.Value(s.baskets.Get(ctx, basketKey("a")))(t); got.Name != "x" {
		t.Errorf("%+v", got)
	}
	b = next
	err = s.table.Transact(ctx, append(s.baskets.UpdateOps(b, &next), s.lines.CreateOps(&line{ID: "5", Basket: "a", N: 5})...)...)
	expect.Err(t, err, table.ErrLimit)
	if failed, ok := table.FailedOp(err, "LINE pieces"); !ok || failed.OpNumber != 3 {
		t.Errorf("the error does not name the counter and its op: %v", err)
	}
	fresh := basket{ID: "fresh"}
	many := s.baskets.CreateOps(&fresh)
	for i := range 4 {
		many = append(many, s.lines.CreateOps(&line{ID: fmt.Sprint("f", i), Basket: "fresh", N: 2})...)
	}
	expect.OK(t, s.table.Transact(ctx, many...))
	s.has(t, "created with its lines", "fresh", 4, 8)
	over := append(s.baskets.CreateOps(&basket{ID: "over"}), s.lines.CreateOps(&line{ID: "o", Basket: "over", N: 11})...)
	expect.Err(t, s.table.Transact(ctx, over...), table.ErrLimit)
	check := append(s.lines.CreateOps(&line{ID: "g", Basket: "fresh", N: 1}), table.CheckExists(basketKey("fresh")))
	expect.OK(t, s.table.Transact(ctx, check...))
	s.has(t, "with a check", "fresh", 5, 9)
	gone := s.baskets.DeleteOps(fresh)
	for i := range 4 {
		l := expect.Value(s.lines.Get(ctx, lineKey(fmt.Sprint("f", i))))(t)
		gone = append(gone, s.lines.DeleteOps(l)...)
	}
	expect.OK(t, s.table.Transact(ctx, gone...))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "h", Basket: "a", N: 4}))

	// The last seat was taken by the writer itself, whose response was lost.
	err = s.lines.Create(ctx, &line{ID: "h", Basket: "a", N: 4})
	if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrLimit) {
		t.Error(err)
	}
	expect.Err(t, s.lines.Create(ctx, &line{ID: "9", Basket: "a", N: 1}), table.ErrLimit)

	// An owner and what it counts are written together by UpdateWith, from both sides.
	expect.Value(s.baskets.UpdateWith(ctx, basketKey("a"), func(b *basket) ([]table.Op, error) {
		b.Name = "less"
		return s.lines.DeleteOps(expect.Value(s.lines.Get(ctx, lineKey("h")))(t)), nil
	}))(t)
	s.has(t, "UpdateWith of the basket", "a", 1, 6)
	expect.Value(s.baskets.UpdateWith(ctx, basketKey("a"), func(*basket) ([]table.Op, error) {
		return s.lines.CreateOps(&line{ID: "i", Basket: "a", N: 1}), nil
	}))(t)
	s.has(t, "UpdateWith of an unchanged basket", "a", 2, 7)
	expect.Value(s.lines.UpdateWith(ctx, lineKey("i"), func(l *line) ([]table.Op, error) {
		l.N = 2
		return newRepo(t, s.table, plainBasket).PatchOps(basketKey("a"), repo.Patch{Set: map[string]any{"name": "more"}}), nil
	}))(t)
	s.has(t, "UpdateWith of a line", "a", 2, 8)
	expect.Equal(t, "name", expect.Value(s.baskets.Get(ctx, basketKey("a")))(t).Name, "more")
}

// TestCountersAdopt: an older program creates, updates, moves and deletes.
func TestCountersAdopt(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	for _, id := range []string{"a", "b"} {
		expect.OK(t, s.baskets.Create(ctx, &basket{ID: id}))
	}
	old := line{ID: "old", Basket: "a", N: 9}
	expect.OK(t, s.plain.Create(ctx, &old))
	s.has(t, "created by an older program", "a", 0, 0)
	expect.Value(s.lines.Update(ctx, lineKey("old"), func(l *line) error { l.Note = "x"; return nil }))(t)
	s.has(t, "a change of something else", "a", 0, 0)
	l := expect.Value(s.lines.Get(ctx, lineKey("old")))(t)
	expect.Err(t, s.table.Transact(ctx, s.lines.DeleteOps(l)...), table.ErrStale)
	more := l
	more.N++
	expect.Err(t, s.table.Transact(ctx, s.lines.UpdateOps(l, &more)...), table.ErrStale)
	noted := l
	noted.Note = "y"
	expect.OK(t, s.table.Transact(ctx, s.lines.UpdateOps(l, &noted)...))
	s.has(t, "ops that change something else", "a", 0, 0)
	for range 2 { // once
		expect.Value(s.lines.Refresh(ctx, lineKey("old")))(t)
		s.has(t, "refreshed", "a", 1, 9)
	}
	// A refresh counts what there is, whatever Max says.
	expect.OK(t, s.plain.Create(ctx, &line{ID: "more", Basket: "a", N: 9}))
	expect.Value(s.lines.Refresh(ctx, lineKey("more")))(t)
	s.has(t, "over the limit", "a", 2, 18)
	// The older program moves one, and changes its amount: the mark says what to take back.
	expect.Value(s.plain.Update(ctx, lineKey("more"), func(l *line) error { l.Basket, l.N = "b", 1; return nil }))(t)
	s.has(t, "moved by an older program", "a", 2, 18)
	expect.Value(s.lines.Refresh(ctx, lineKey("more")))(t)
	s.has(t, "refreshed from", "a", 1, 9)
	s.has(t, "refreshed to", "b", 1, 1)
	// Deleting what was not counted subtracts nothing.
	expect.OK(t, s.plain.Create(ctx, &line{ID: "none", Basket: "a", N: 1}))
	expect.OK(t, s.lines.Delete(ctx, lineKey("none")))
	s.has(t, "deleted uncounted", "a", 1, 9)
	// An older program that deletes leaves the number too high.
	expect.OK(t, s.plain.Delete(ctx, lineKey("old")))
	s.has(t, "deleted by an older program", "a", 1, 9)
	// A refresh of what has no owner counts nothing and fails not.
	expect.OK(t, s.plain.Create(ctx, &line{ID: "lost", Basket: "nowhere", N: 1}))
	expect.Equal(t, "changed", expect.Value(s.lines.Refresh(ctx, lineKey("lost")))(t), false)
	expect.Equal(t, "ops of a refresh", len(expect.Value(s.lines.RefreshOps(ctx, storedItem(t, s.table, lineKey("lost"))))(t)), 0)
	_, err := s.lines.Update(ctx, lineKey("more"), func(l *line) error { l.Basket = "nowhere"; return nil })
	expect.Err(t, err, table.ErrUncounted)
	s.has(t, "not moved", "b", 1, 1)
}

// TestOwnerReCreated shows what cannot be exact: a new life of the owner is not told from the
// former one.
func TestOwnerReCreated(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
	expect.OK(t, s.baskets.Delete(ctx, basketKey("a")))
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	s.has(t, "re-created", "a", 0, 0)
	expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
	s.has(t, "below zero", "a", -1, -3)

	// It is deleted only if it counts nothing.
	b := basket{ID: "b"}
	expect.OK(t, s.baskets.Create(ctx, &b))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "b", N: 3}))
	ifEmpty := func() error {
		ops := s.baskets.DeleteOps(b)
		ops[0] = ops[0].If(table.If("attribute_not_exists(lines) OR lines = ?", 0))
		return s.table.Transact(ctx, ops...)
	}
	expect.Err(t, ifEmpty(), table.ErrConditionFailed)
	expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
	expect.OK(t, ifEmpty())
}

func TestExpiredOwner(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "e", ExpiresAt: past}))
	expect.Err(t, s.lines.Create(ctx, &line{ID: "2", Basket: "e", N: 1}), table.ErrUncounted)
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
	expect.Value(s.baskets.Update(ctx, basketKey("a"), func(b *basket) error { b.ExpiresAt = past; return nil }))(t)
	expect.Value(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.N = 1; return nil }))(t)
	expect.Equal(t, "marks of a missing owner", len(marked(t, s.table)), 1)
	expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
}

// TestCreateOverExpired: no record of the stream says that the expired entity goes, so what
// replaces it takes back what it counts.
func TestCreateOverExpired(t *testing.T) {
	t.Parallel()
	for how, create := range map[string]func(context.Context, shopping, *line) error{
		"Create": func(ctx context.Context, s shopping, l *line) error { return s.lines.Create(ctx, l) },
		"Save":   func(ctx context.Context, s shopping, l *line) error { return s.lines.Save(ctx, l) },
		"TransactPut": func(ctx context.Context, s shopping, l *line) error {
			return s.lines.TransactPut(ctx, l, &line{ID: "other"})
		},
	} {
		for what, next := range map[string]line{
			"the same":        {ID: "1", Basket: "a", N: 3},
			"another basket":  {ID: "1", Basket: "b", N: 1},
			"counted nowhere": {ID: "1"},
			"from a full one": {ID: "1", Basket: "a", N: 10},
		} {
			for kind, entity := range map[string]repo.Entity[line]{"plain": lineEntity(10), "copies and claims": richLine(10)} {
				for _, gone := range []bool{false, true} {
					t.Run(fmt.Sprint(how, " ", what, ", ", kind, ", owner gone ", gone), func(t *testing.T) {
						t.Parallel()
						s, ctx := newShopping(t, entity), t.Context()
						for _, id := range []string{"a", "b"} {
							expect.OK(t, s.baskets.Create(ctx, &basket{ID: id}))
						}
						expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
						expect.OK(t, s.lines.Delete(ctx, lineKey("1"))) // which does not see it
						s.has(t, "expired", "a", 1, 3)
						l := next
						expect.Err(t, s.table.Transact(ctx, s.lines.CreateOps(&l)...), table.ErrConditionFailed)
						if gone {
							expect.OK(t, s.baskets.Delete(ctx, basketKey("a")))
						}
						l = next
						err := create(ctx, s, &l)
						if gone && next.Basket == "a" {
							expect.Err(t, err, table.ErrUncounted)
							return
						}
						expect.OK(t, err)
						for _, id := range []string{"a", "b"} {
							want := [2]int64{}
							if next.Basket == id {
								want = [2]int64{1, next.N}
							}
							if !gone || id == "b" {
								s.has(t, "created", id, want[0], want[1])
							}
						}
						expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
					})
				}
			}
		}
	}
}

// TestMoveOverExpired: an Update does not move an entity over an expired one that counts.
func TestMoveOverExpired(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: 1}))
	to := func() error {
		_, err := s.lines.Update(ctx, lineKey("2"), func(l *line) error { l.ID = "1"; return nil })
		return err
	}
	expect.Err(t, to(), table.ErrConditionFailed)
	expect.Equal(t, "uncounted", expect.Value(s.lines.Uncount(ctx, lineKey("1")))(t), true)
	expect.OK(t, to())
	s.has(t, "moved", "a", 1, 1)
}

// hall is an item of another type under the key of a basket, which has the same attributes.
type hall struct {
	ID       string `dynamodbav:"id"`
	Lines    int64  `dynamodbav:"lines"`
	Pieces   int64  `dynamodbav:"pieces"`
	Revision string `dynamodbav:"revision"`
}

var hallEntity = repo.Entity[hall]{
	Type: "HALL", Version: "revision", Counted: []string{"pieces"},
	Key: func(h hall) keys.Key { return basketKey(h.ID) },
}

// TestTakeBackMeetsAnotherType: another item has the key of the owner by now. It keeps what it
// has, also where a release takes back that does not know the counter, or whose counter of the
// name has another Owner.
func TestTakeBackMeetsAnotherType(t *testing.T) {
	t.Parallel()
	fewer, other := lineEntity(10), lineEntity(10)
	fewer.Counters = fewer.Counters[:1]
	other.Counters = []repo.Counter[line]{{Name: "lines", Key: inBasket, Owner: "HALL", Attribute: "pieces"}}
	more := other
	more.Counters = []repo.Counter[line]{{Name: "hall", Key: inBasket, Owner: "HALL", Attribute: "pieces"}}
	for name, e := range map[string]repo.Entity[line]{"a counter less": fewer, "another Owner": other, "one more": more} {
		for what, c := range map[string]struct {
			expires bool
			write   func(context.Context, *table.Table, *repo.Repo[line]) error
			counts  int64
		}{
			"Delete": {false, func(ctx context.Context, _ *table.Table, r *repo.Repo[line]) error {
				return r.Delete(ctx, lineKey("1"))
			}, 0},
			"Refresh and Delete": {false, func(ctx context.Context, _ *table.Table, r *repo.Repo[line]) error {
				_, err := r.Refresh(ctx, lineKey("1"))
				return errors.Join(err, r.Delete(ctx, lineKey("1")))
			}, 0},
			"Uncount": {true, func(ctx context.Context, _ *table.Table, r *repo.Repo[line]) error {
				_, err := r.Uncount(ctx, lineKey("1"))
				return err
			}, 0},
			"UncountOps": {true, func(ctx context.Context, tbl *table.Table, r *repo.Repo[line]) error {
				image, err := table.Get[table.Item](ctx, tbl.IncludingExpired(), lineKey("1"))
				for _, op := range r.UncountOps(image) {
					if e := tbl.Do(ctx, op); !errors.Is(e, table.ErrUncounted) {
						err = errors.Join(err, e)
					}
				}
				return err
			}, 0},
			"Create": {true, func(ctx context.Context, _ *table.Table, r *repo.Repo[line]) error {
				return r.Create(ctx, &line{ID: "1", Basket: "a", N: 2})
			}, 1},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				s, ctx := newShopping(t, lineEntity(10)), t.Context()
				halls, lines := newRepo(t, s.table, hallEntity), newRepo(t, s.table, e)
				expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
				l := line{ID: "1", Basket: "a", N: 5}
				if c.expires {
					l.ExpiresAt = past
				}
				expect.OK(t, s.lines.Create(ctx, &l))
				expect.OK(t, s.baskets.Delete(ctx, basketKey("a")))
				expect.OK(t, s.table.Do(ctx, table.Put(basketKey("a"), map[string]any{
					"entityType": "HALL", "id": "a", "lines": 100, "pieces": 1000, "revision": "R",
				})))
				err := c.write(ctx, s.table, lines)
				if name == "a counter less" && c.counts > 0 {
					expect.Err(t, err, table.ErrUncounted)
					c.counts = 0
				} else {
					expect.OK(t, err)
				}
				h := expect.Value(halls.Get(ctx, basketKey("a")))(t)
				expect.Equal(t, "numbers of another item", fmt.Sprint(h.Lines, h.Pieces), fmt.Sprint(100, 1000+c.counts))
			})
		}
	}
}

// TestMarkOfTwoTypes: two releases have counted in items of two types under one key. The present
// one is told from the one that is gone.
func TestMarkOfTwoTypes(t *testing.T) {
	t.Parallel()
	inHall := plainLine
	inHall.Counters = []repo.Counter[line]{{Name: "hall", Key: inBasket, Owner: "HALL", Attribute: "pieces"}}
	for _, now := range []string{"HALL", "BASKET"} {
		for _, expires := range []bool{false, true} {
			t.Run(fmt.Sprint(now, ", expires ", expires), func(t *testing.T) {
				t.Parallel()
				s, ctx := newShopping(t, lineEntity(10)), t.Context()
				lines := newRepo(t, s.table, inHall)
				is := func(of string, lines, pieces int) {
					expect.OK(t, s.table.Do(ctx, table.Put(basketKey("a"), map[string]any{
						"entityType": of, "id": "a", "lines": lines, "pieces": pieces, "revision": "R",
					})))
				}
				is("BASKET", 0, 0)
				expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 5}))
				is("HALL", 100, 1000)
				expect.Value(lines.Refresh(ctx, lineKey("1")))(t)
				is(now, 1, 5)
				image := storedItem(t, s.table, lineKey("1"))
				if expires {
					s.set(t, lineKey("1"), "expiresAt", int(past))
					expect.Equal(t, "uncounted", expect.Value(lines.Uncount(ctx, lineKey("1")))(t), true)
				} else {
					expect.OK(t, lines.Delete(ctx, lineKey("1")))
				}
				want := map[string]string{"HALL": "1 4", "BASKET": "0 0"}[now]
				b := expect.Value(table.Get[hall](ctx, s.table, basketKey("a")))(t)
				expect.Equal(t, "numbers", fmt.Sprint(b.Lines, b.Pieces), want)

				is(now, 1, 5)
				var gone []string
				for _, op := range lines.UncountOps(image) { // of a record of the stream
					if err := s.table.Do(ctx, op); err != nil {
						expect.Err(t, err, table.ErrUncounted)
						gone = append(gone, fmt.Sprint(op.Key()))
					}
				}
				expect.Equal(t, "ops of a type that is gone", len(gone), 1)
				b = expect.Value(table.Get[hall](ctx, s.table, basketKey("a")))(t)
				expect.Equal(t, "numbers, by ops", fmt.Sprint(b.Lines, b.Pieces), want)
			})
		}
	}
}

// TestAmountsThatCannotBeCounted are refused before anything is written.
func TestAmountsThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	e := lineEntity(math.MaxInt64)
	e.Counters[1].Min = new(int64(math.MinInt64))
	s, ctx := newShopping(t, e), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	l := line{ID: "1", Basket: "a", N: -5e18}
	expect.OK(t, s.lines.Create(ctx, &l))
	least, far, saved := l, l, l
	least.N, far.N, saved.N = math.MinInt64, 5e18, 5e18
	twice := plainLine
	twice.Counters = []repo.Counter[line]{
		{Name: "lines", Key: inBasket, Owner: "BASKET", Attribute: "lines"}, {Name: "hall", Key: inBasket, Owner: "HALL", Attribute: "pieces"},
	}
	before := len(s.faults.Requests("TransactWriteItems"))
	for what, err := range map[string]error{
		"Create":       s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: math.MinInt64}),
		"CreateOps":    s.table.Transact(ctx, s.lines.CreateOps(&line{ID: "2", Basket: "a", N: math.MinInt64})...),
		"UpdateOps":    s.table.Transact(ctx, s.lines.UpdateOps(l, &least)...),
		"a difference": s.table.Transact(ctx, s.lines.UpdateOps(l, &far)...),
		"Save":         s.lines.Save(ctx, &saved),
		"Update":       expect.ErrOf(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.N = 5e18; return nil })),
		"two Owners":   newRepo(t, s.table, twice).Create(ctx, &line{ID: "2", Basket: "a"}),
	} {
		if !errors.Is(err, table.ErrInvalid) || what != "two Owners" && !strings.Contains(err.Error(), "pieces") {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect.Equal(t, "requests", len(s.faults.Requests("TransactWriteItems")), before)
	s.has(t, "as before", "a", 1, -5e18)
	expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
	s.has(t, "deleted", "a", 0, 0)
}

// TestOwnersWithoutANumber: what stands in for the number is reported for what it is, at once.
func TestOwnersWithoutANumber(t *testing.T) {
	t.Parallel()
	for what, is := range map[string]types.AttributeValue{
		"NULL": &types.AttributeValueMemberNULL{Value: true}, "a text": &types.AttributeValueMemberS{Value: "secret"},
	} {
		for _, attribute := range []string{"lines", "pieces"} { // without a bound, and with one
			t.Run(what+" in "+attribute, func(t *testing.T) {
				t.Parallel()
				s, ctx := newShopping(t, lineEntity(10)), t.Context()
				expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
				expect.OK(t, s.plain.Create(ctx, &line{ID: "1", Basket: "a", N: 1}))
				expect.OK(t, s.table.Do(ctx, table.Patch(basketKey("a"), table.Item{attribute: is})))
				for _, err := range []error{
					s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: 1}),
					expect.ErrOf(s.lines.Refresh(ctx, lineKey("1"))),
				} {
					expect.Err(t, err, table.ErrUncounted)
					expect.NotErr(t, err, table.ErrConflict)
					if text := err.Error(); !strings.Contains(text, `"`+attribute+`"`) || strings.Contains(text, "secret") {
						t.Errorf("the error does not name the attribute alone: %v", err)
					}
				}
				s.remove(t, basketKey("a"), attribute) // as the error says
				expect.Value(s.lines.Refresh(ctx, lineKey("1")))(t)
				s.has(t, "repaired", "a", 1, 1)
			})
		}
	}
}

// TestOwnersKeepRespelledNumbers: a write of an owner does not store its numbers, so it deletes
// none that is spelled in other letters.
func TestOwnersKeepRespelledNumbers(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	s.remove(t, basketKey("a"), "lines")
	s.set(t, basketKey("a"), "Lines", 7)
	expect.Value(s.baskets.Update(ctx, basketKey("a"), func(b *basket) error { b.Name = "new"; return nil }))(t)
	s.has(t, "updated", "a", 7, 0)
}

// visit is an entity of another type: its main item, copy and claim can have the keys of lines.
type visit struct {
	ID       string `dynamodbav:"id"`
	Copy     string `dynamodbav:"copy,omitempty"`
	Claim    string `dynamodbav:"claim,omitempty"`
	Revision string `dynamodbav:"revision"`
}

func visitEntity() repo.Entity[visit] {
	at := func(pk string) keys.Key {
		if pk == "" {
			return keys.Key{}
		}
		pk, sk, _ := strings.Cut(pk, " ")
		return keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
	}
	return repo.Entity[visit]{
		Type: "VISIT", Version: "revision", Key: func(b visit) keys.Key { return at(b.ID) },
		Copies: []repo.Copy[visit]{{Key: func(b visit) keys.Key { return at(b.Copy) }}},
		Claims: func(b visit) []keys.Key { return []keys.Key{at(b.Claim)} },
		Counters: []repo.Counter[visit]{{ // which counts nothing
			Name: "none", Owner: "BASKET", Attribute: "lines", Key: func(visit) keys.Key { return keys.Key{} },
		}},
	}
}

// TestChangesOverExpired: each item that another entity with counters creates over an expired
// line takes it out of the numbers, or is refused. A copy of the line counts nothing.
func TestChangesOverExpired(t *testing.T) {
	t.Parallel()
	for what, b := range map[string]visit{
		"main item": {ID: "LINE#1 METADATA"},
		"copy":      {ID: "B b", Copy: "LINE#1 METADATA"},
		"claim":     {ID: "B b", Claim: "LINE#1 METADATA"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, ctx := newShopping(t, richLine(10)), t.Context()
			visits := newRepo(t, s.table, visitEntity())
			expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
			expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
			other := visit{ID: "O o"}
			expect.OK(t, visits.Create(ctx, &other))
			changed := other
			changed.Copy, changed.Claim = b.Copy, b.Claim
			if what == "main item" {
				changed.ID = b.ID
			}
			err := expect.ErrOf(visits.Update(ctx, keys.Key{PK: "O", SK: "o"}, func(o *visit) error { *o = changed; return nil }))
			expect.Err(t, err, table.ErrConditionFailed)
			expect.NotErr(t, err, table.ErrConflict)
			fresh := b
			expect.Err(t, s.table.Transact(ctx, visits.CreateOps(&fresh)...), table.ErrConditionFailed)
			s.has(t, "as before", "a", 1, 3)
			expect.OK(t, visits.Create(ctx, &b))
			s.has(t, "created", "a", 0, 0)
		})
	}
}

// TestCreateOverExpiredCopies: the main item of what was copied says what is counted, or has gone.
func TestCreateOverExpiredCopies(t *testing.T) {
	t.Parallel()
	for what, b := range map[string]visit{
		"main item": {ID: "BASKET#a LINE#1"},
		"copy":      {ID: "B b", Copy: "BASKET#a LINE#1"},
		"claim":     {ID: "B b", Claim: "BASKET#a LINE#1"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, ctx := newShopping(t, richLine(10)), t.Context()
			expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
			expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
			expect.OK(t, newRepo(t, s.table, visitEntity()).Create(ctx, &b))
			s.has(t, "created", "a", 1, 3)
			expect.Equal(t, "uncounted", expect.Value(s.lines.Uncount(ctx, lineKey("1")))(t), true)
			s.has(t, "uncounted", "a", 0, 0)
		})
	}
	t.Run("CreateOps", func(t *testing.T) { // DynamoDB has deleted the main item, but not yet the copy
		t.Parallel()
		s, ctx := newShopping(t, richLine(10)), t.Context()
		expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
		expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
		image := expect.Value(table.Get[table.Item](ctx, s.table.IncludingExpired(), lineKey("1")))(t)
		expect.OK(t, s.table.Transact(ctx, append(s.lines.UncountOps(image), table.Delete(lineKey("1")))...))
		expect.OK(t, s.table.Transact(ctx, s.lines.CreateOps(&line{ID: "1", Basket: "a", N: 1})...))
		s.has(t, "created again", "a", 1, 1)
	})
}

// TestMovedEntitiesAreCounted: an entity whose main key has changed is the one that counts.
func TestMovedEntitiesAreCounted(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
	expect.Value(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.ID = "2"; return nil }))(t)
	s.has(t, "moved", "a", 1, 3)
	s.set(t, lineKey("2"), "expiresAt", int(past))
	expect.OK(t, newRepo(t, s.table, visitEntity()).Create(ctx, &visit{ID: "B b", Claim: "LINE#2 METADATA"}))
	s.has(t, "claimed", "a", 0, 0)
}

// TestUncount sweeps expired lines, and handles the records of those that DynamoDB has deleted.
func TestUncount(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, richLine(10)), t.Context()
	for _, id := range []string{"a", "b"} {
		expect.OK(t, s.baskets.Create(ctx, &basket{ID: id}))
	}
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "live", Basket: "a", N: 1}))
	expired := s.table.IncludingExpired()
	image := expect.Value(table.Get[table.Item](ctx, expired, lineKey("1")))(t)
	copied := expect.Value(table.Get[table.Item](ctx, expired, keys.Key{PK: "BASKET#a", SK: "LINE#1"}))(t)

	expect.Equal(t, "ops of a copy", len(s.lines.UncountOps(copied)), 0)
	expect.Equal(t, "ops of a basket", len(s.lines.UncountOps(storedItem(t, s.table, basketKey("a")))), 0)
	expect.Equal(t, "ops of no item", len(s.lines.UncountOps(nil)), 0)
	expect.Equal(t, "ops without counters", len(s.plain.UncountOps(image)), 0)
	ops := s.lines.UncountOps(image)
	expect.Equal(t, "ops", len(ops), 1)
	expect.Equal(t, "the op's key", ops[0].Key(), basketKey("a"))

	for _, key := range []keys.Key{lineKey("live"), lineKey("none"), {PK: "BASKET#a", SK: "LINE#1"}, basketKey("a")} {
		expect.Equal(t, "uncounted", expect.Value(s.lines.Uncount(ctx, key))(t), false)
	}
	var done sync.Map
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			one, err := s.lines.Uncount(ctx, lineKey("1"))
			if err != nil {
				t.Error(err)
			} else if one {
				done.Store(i, true)
			}
		})
	}
	wg.Wait()
	times := 0
	done.Range(func(any, any) bool { times++; return true })
	expect.Equal(t, "times it was uncounted", times, 1)
	s.has(t, "uncounted", "a", 1, 1)
	swept := expect.Value(table.Get[table.Item](ctx, expired, lineKey("1")))(t)
	expect.Equal(t, "ops of what was swept", len(s.lines.UncountOps(swept)), 0)
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "b", N: 2}))
	s.has(t, "created again", "b", 1, 2)

	expect.OK(t, s.table.Do(ctx, ops[0])) // of a record of the stream
	s.has(t, "handled", "a", 0, -2)
	expect.OK(t, s.baskets.Delete(ctx, basketKey("b")))
	expect.OK(t, s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: 3, ExpiresAt: past}))
	expect.OK(t, s.baskets.Delete(ctx, basketKey("a")))
	expect.Equal(t, "uncounted without its basket", expect.Value(s.lines.Uncount(ctx, lineKey("2")))(t), true)
	expect.Err(t, s.table.Do(ctx, ops[0]), table.ErrUncounted)
}

// TestUncountMeetsOthers: the entity comes back, or is extended, while it is uncounted.
func TestUncountMeetsOthers(t *testing.T) {
	t.Parallel()
	for what, meet := range map[string]func(context.Context, shopping) error{
		"Create": func(ctx context.Context, s shopping) error {
			return s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3})
		},
		"a later expiry": func(ctx context.Context, s shopping) error {
			return s.table.Do(ctx, table.Update(lineKey("1"), expression.Set(expression.Name("expiresAt"), expression.Value(past+72000))))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, ctx := newShopping(t, lineEntity(10)), t.Context()
			expect.OK(t, s.baskets.Create(ctx, &basket{ID: "a"}))
			expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3, ExpiresAt: past}))
			s.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				expect.OK(t, meet(ctx, s))
				return next.RoundTrip(r)
			})
			expect.Equal(t, "uncounted", expect.Value(s.lines.Uncount(ctx, lineKey("1")))(t), false)
			s.has(t, "back", "a", 1, 3)
		})
	}
}

// TestOwnersKeepNumbers: no write of an owner touches its numbers.
func TestOwnersKeepNumbers(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(100)), t.Context()
	a := basket{ID: "a", Mail: "m", Lines: 9}
	expect.OK(t, s.baskets.Create(ctx, &a))
	read := a
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
	expect.Equal(t, "the revision after a count", expect.Value(s.baskets.Get(ctx, basketKey("a")))(t).Revision, a.Revision)
	if _, has := storedItem(t, s.table, keys.Key{PK: "MAIL#m", SK: keys.Metadata})["lines"]; has {
		t.Error("the copy has a number")
	}
	now := expect.Value(s.baskets.Get(ctx, basketKey("a")))(t)
	expect.Equal(t, "changes", strings.Join(expect.Value(s.baskets.Changes(read, now))(t), " "), "")

	a.Name = "new"
	expect.OK(t, s.baskets.Save(ctx, &a)) // an old value
	s.has(t, "saved", "a", 1, 3)
	_, err := s.baskets.Update(ctx, basketKey("a"), func(b *basket) error { b.ID = "b"; return nil })
	expect.Err(t, err, table.ErrInvalid)
	expect.Value(s.baskets.Update(ctx, basketKey("a"), func(b *basket) error { b.Mail = "n"; b.Lines++; return nil }))(t)
	expect.Equal(t, "refreshed", expect.Value(s.baskets.Refresh(ctx, basketKey("a")))(t), false)
	s.has(t, "a copy moved", "a", 1, 3)
	if _, has := storedItem(t, s.table, mailKey("n"))["lines"]; has {
		t.Error("the copy has a number")
	}
	for _, p := range []repo.Patch{{Set: map[string]any{"lines": 1}}, {Add: map[string]any{"lines": 1}}, {Remove: []string{"lines"}}} {
		expect.Err(t, expect.ErrOf(newRepo(t, s.table, plainBasket).Patch(ctx, basketKey("a"), p)), table.ErrInvalid)
	}
	patched := expect.Value(newRepo(t, s.table, plainBasket).Patch(ctx, basketKey("a"), repo.Patch{Set: map[string]any{"name": "x"}}))(t)
	expect.Equal(t, "lines that Patch returns", patched.Lines, 1)

	// An owner that has no revision yet is guarded by all that it has, but for the numbers.
	s.remove(t, basketKey("a"), "revision")
	ops := expect.Value(s.baskets.RefreshOps(ctx, storedItem(t, s.table, basketKey("a"))))(t)
	expect.Value(s.lines.Update(ctx, lineKey("1"), func(l *line) error { l.N = 4; return nil }))(t)
	expect.OK(t, s.table.Transact(ctx, ops...))
	s.has(t, "adopted", "a", 1, 4)

	// The main item of another release, in which that counts, is a copy in this one.
	s.set(t, mailKey("n"), "lines", 7)
	expect.Value(s.baskets.Update(ctx, basketKey("a"), func(b *basket) error { b.Name = "newer"; return nil }))(t)
	expect.Value(s.baskets.Refresh(ctx, basketKey("a")))(t)
	expect.Equal(t, "lines of the copy", expect.Value(s.baskets.Get(ctx, mailKey("n")))(t).Lines, 7)
}

// TestOwnersWithAnIntegerVersion: the numbers are not among what guards a copy, which another
// entity could have.
func TestOwnersWithAnIntegerVersion(t *testing.T) {
	t.Parallel()
	type shelf struct {
		ID      string `dynamodbav:"id"`
		Name    string `dynamodbav:"name"`
		Lines   int64  `dynamodbav:"lines"`
		Version int64  `dynamodbav:"version"`
	}
	s, ctx := newShopping(t, plainLine), t.Context()
	shelves := newRepo(t, s.table, repo.Entity[shelf]{
		Type: "BASKET", Version: "version", Counted: []string{"lines"}, Key: func(b shelf) keys.Key { return basketKey(b.ID) },
		Copies: []repo.Copy[shelf]{{Key: func(b shelf) keys.Key { return mailKey(b.ID) }}},
	})
	e := plainLine
	e.Counters = []repo.Counter[line]{{Name: "lines", Key: inBasket, Owner: "BASKET", Attribute: "lines"}}
	lines := newRepo(t, s.table, e)
	a := shelf{ID: "a"}
	expect.OK(t, shelves.Create(ctx, &a))
	expect.OK(t, lines.Create(ctx, &line{ID: "1", Basket: "a"}))
	counted := expect.Value(shelves.Get(ctx, basketKey("a")))(t)
	expect.Equal(t, "lines", counted.Lines, 1)
	next := counted
	next.Name = "new"
	expect.OK(t, s.table.Transact(ctx, shelves.UpdateOps(counted, &next)...))
	expect.Value(shelves.Update(ctx, basketKey("a"), func(b *shelf) error { b.Name = "newer"; return nil }))(t)
	is := expect.Value(shelves.Get(ctx, basketKey("a")))(t)
	expect.Equal(t, "stored", is, shelf{"a", "newer", 1, 3})
	expect.OK(t, s.table.Transact(ctx, shelves.DeleteOps(is)...))
	expect.Equal(t, "items left", itemsLeft(t, s.table), 1)
}

// TestReplacedOwners: an owner whose change is too long for an update is replaced as a whole,
// while another writer counts in it.
func TestReplacedOwners(t *testing.T) {
	t.Parallel()
	long := basketEntity
	long.Upgrades = []repo.Upgrade{{Change: func(table.Item) error { return nil }}}
	for i := range 600 { // REMOVE has each
		long.Upgrades[0].Removes = append(long.Upgrades[0].Removes, fmt.Sprint("former", i))
	}
	for how, write := range map[string]func(context.Context, *repo.Repo[basket], basket) error{
		"Save": func(ctx context.Context, r *repo.Repo[basket], b basket) error { b.Name = "x"; return r.Save(ctx, &b) },
		"Update": func(ctx context.Context, r *repo.Repo[basket], b basket) error {
			_, err := r.Update(ctx, basketKey("a"), func(b *basket) error { b.Name = "x"; return nil })
			return err
		},
		"Refresh": func(ctx context.Context, r *repo.Repo[basket], b basket) error {
			_, err := r.Refresh(ctx, basketKey("a"))
			return err
		},
	} {
		for _, mail := range []string{"", "m"} { // alone, and in a transaction
			t.Run(how+" "+mail, func(t *testing.T) {
				t.Parallel()
				s, ctx := newShopping(t, lineEntity(100)), t.Context()
				b := basket{ID: "a", Mail: mail}
				expect.OK(t, s.baskets.Create(ctx, &b))
				expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
				counted := 0
				count := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					counted++
					expect.OK(t, s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: 2}))
					return next.RoundTrip(r)
				}
				s.faults.Next(map[string]string{"": "PutItem", "m": "TransactWriteItems"}[mail], count)
				s.baskets = newRepo(t, s.table, long)
				expect.OK(t, write(ctx, s.baskets, b))
				expect.Equal(t, "lines that were counted meanwhile", counted, 1)
				s.has(t, "replaced", "a", 2, 5)
			})
		}
	}
}

// TestCounterHistories runs random writes of several goroutines, with lost responses and requests,
// of entities that expire, too. Odd seeds have an older program beside, which does not delete.
func TestCounterHistories(t *testing.T) {
	t.Parallel()
	for name, entity := range map[string]repo.Entity[line]{"plain": lineEntity(40), "copies and claims": richLine(40)} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				s := newShopping(t, entity)
				for _, id := range []string{"a", "b", "c"} {
					expect.OK(t, s.baskets.Create(t.Context(), &basket{ID: id, Mail: id}))
				}
				var wg sync.WaitGroup
				for g := range uint64(4) {
					wg.Go(func() {
						r := rand.New(rand.NewPCG(seed, g))
						for range 50 {
							if what, err := s.randomly(t.Context(), r, seed%2 == 1); !refusal(err) {
								t.Errorf("%s: %v", what, err)
							}
						}
					})
				}
				wg.Wait()
				calm := expect.Value(table.New(tabletest.Client(t), s.table.Schema(), nil))(t)
				s = shoppingOn(t, calm, entity)
				for key, sum := range marked(t, calm) {
					id, what, _ := strings.Cut(strings.TrimPrefix(key, "BASKET#"), " ")
					b := expect.Value(s.baskets.Consistent().Get(t.Context(), basketKey(id)))(t)
					expect.Equal(t, key, map[string]int64{"lines": b.Lines, "pieces": b.Pieces}[what], sum)
					if b.Pieces > 40 && seed%2 == 0 {
						t.Errorf("%d pieces, over the limit", b.Pieces)
					}
				}
				s.isExact(t)
			})
		}
	}
}

// isExact brings all lines over, and expects the numbers of baskets to be those of live lines.
func (s shopping) isExact(t *testing.T) {
	t.Helper()
	want := map[string][2]int64{}
	for i := range 12 {
		key := lineKey(fmt.Sprint(i))
		expect.Value(s.lines.Uncount(t.Context(), key))(t)
		_, err := s.lines.Refresh(t.Context(), key)
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		expect.OK(t, err)
		l := expect.Value(s.lines.Consistent().Get(t.Context(), key))(t)
		w := want[l.Basket]
		want[l.Basket] = [2]int64{w[0] + 1, w[1] + l.N}
	}
	for _, id := range []string{"a", "b", "c"} {
		s.has(t, "after a refresh", id, want[id][0], want[id][1])
	}
}

// refusal reports whether a write may end so.
func refusal(err error) bool {
	return err == nil || slices.ContainsFunc([]error{
		table.ErrOutcomeUnknown, table.ErrLimit, table.ErrUncounted, table.ErrExists, table.ErrNotFound,
		table.ErrConflict, table.ErrConditionFailed,
	}, func(known error) bool { return errors.Is(err, known) })
}

// randomly makes a random write, which a fault can hit.
func (s shopping) randomly(ctx context.Context, r *rand.Rand, older bool) (string, error) {
	if r.IntN(6) == 0 {
		f := []tabletest.Fault{tabletest.DropResponse(), tabletest.DropRequest(), tabletest.Corrupt()}[r.IntN(3)]
		s.faults.Next("TransactWriteItems", f)
		if r.IntN(4) == 0 {
			s.faults.Next("TransactWriteItems", f, f, f, f)
		}
	}
	lines := s.lines
	if older && r.IntN(3) == 0 {
		lines = s.plain
	}
	id, in, n := fmt.Sprint(r.IntN(12)), []string{"a", "b", "c"}[r.IntN(3)], 1+r.Int64N(9)
	switch r.IntN(10) {
	case 0, 1, 2:
		l := line{ID: id, Basket: in, N: n, Code: id}
		if !older && r.IntN(3) == 0 { // an older program would replace it with its mark
			l.ExpiresAt = past
		}
		return "create", lines.Create(ctx, &l)
	case 3:
		_, err := lines.Update(ctx, lineKey(id), func(l *line) error { l.N = n; return nil })
		return "change", err
	case 4:
		_, err := lines.Update(ctx, lineKey(id), func(l *line) error { l.Basket, l.Code = in, id+in; return nil })
		return "move", err
	case 5:
		return "delete", s.lines.Delete(ctx, lineKey(id))
	case 6:
		_, err := s.lines.Refresh(ctx, lineKey(id))
		return "refresh", err
	case 7:
		_, err := s.lines.Uncount(ctx, lineKey(id))
		return "uncount", err
	case 8:
		l, err := s.lines.Consistent().Get(ctx, lineKey(id))
		if err != nil {
			return "get", err
		}
		if r.IntN(2) == 0 {
			l.N = n
			return "save", lines.Save(ctx, &l)
		}
		next := l
		next.N, next.Note = n, "x"
		return "ops", s.table.Transact(ctx, s.lines.UpdateOps(l, &next)...)
	default:
		_, err := s.baskets.Update(ctx, basketKey(in), func(b *basket) error { b.Name += "x"; b.Lines = 77; return nil })
		return "owner", err
	}
}

// tallyItem is an item of its own, which counting creates.
type tallyItem struct {
	Day      string `dynamodbav:"day"`
	N        int64  `dynamodbav:"count"`
	Revision string `dynamodbav:"revision"`
}

// TestCounterAlone counts in an item of its own.
func TestCounterAlone(t *testing.T) {
	t.Parallel()
	e := plainLine
	e.Counters = []repo.Counter[line]{{
		Name: "all", Owner: "TALLY", Alone: true, Attribute: "count", Amount: func(l line) int64 { return l.N },
		Key: func(l line) keys.Key { return keys.Key{PK: keys.PK("TALLY#" + l.Basket), SK: keys.Metadata} },
	}}
	s, ctx := newShopping(t, e), t.Context()
	key := keys.Key{PK: "TALLY#a", SK: keys.Metadata}
	tallies := newRepo(t, s.table, repo.Entity[tallyItem]{
		Type: "TALLY", Version: "revision", Counted: []string{"count"},
		Key: func(tallyItem) keys.Key { return key },
	})
	expect.OK(t, s.lines.Create(ctx, &line{ID: "1", Basket: "a", N: 3}))
	expect.Equal(t, "created", expect.Value(tallies.Get(ctx, key))(t).N, 3)
	expect.OK(t, s.plain.Create(ctx, &line{ID: "2", Basket: "a", N: 4}))
	expect.Value(s.lines.Refresh(ctx, lineKey("2")))(t)
	expect.Equal(t, "refreshed", expect.Value(tallies.Get(ctx, key))(t).N, 7)
	// It is removed: what it counted is lost, and nothing brings it back below zero.
	expect.OK(t, tallies.Delete(ctx, key))
	expect.OK(t, s.lines.Delete(ctx, lineKey("1")))
	if _, err := tallies.Get(ctx, key); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
	expect.Value(s.lines.Update(ctx, lineKey("2"), func(l *line) error { l.N = 9; return nil }))(t)
	expect.Equal(t, "changed", expect.Value(tallies.Get(ctx, key))(t).N, 9)
	expect.OK(t, s.lines.Delete(ctx, lineKey("2")))
	expect.Equal(t, "nobody", expect.Value(tallies.Get(ctx, key))(t).N, 0)
}

// TestCountersOfTwoReleases: one knows a counter more.
func TestCountersOfTwoReleases(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	fewer := lineEntity(10)
	fewer.Counters = fewer.Counters[:1]
	former := newRepo(t, s.table, fewer)
	for _, id := range []string{"a", "b"} {
		expect.OK(t, s.baskets.Create(ctx, &basket{ID: id}))
	}
	l := line{ID: "1", Basket: "a", N: 3}
	expect.OK(t, s.lines.Create(ctx, &l))
	// The former one moves it: it moves the counter that it knows. A refresh moves the other.
	expect.Value(former.Update(ctx, lineKey("1"), func(l *line) error { l.Basket = "b"; return nil }))(t)
	s.has(t, "moved from", "a", 0, 3)
	s.has(t, "moved to", "b", 1, 0)
	expect.Value(s.lines.Refresh(ctx, lineKey("1")))(t)
	s.has(t, "refreshed from", "a", 0, 0)
	s.has(t, "refreshed to", "b", 1, 3)
	// Its ops cannot know, and refuse.
	l = expect.Value(former.Get(ctx, lineKey("1")))(t)
	expect.Err(t, s.table.Transact(ctx, former.DeleteOps(l)...), table.ErrStale)
	// It deletes: the mark says what the other counter has counted.
	expect.OK(t, former.Delete(ctx, lineKey("1")))
	s.has(t, "deleted", "b", 0, 0)

	// The same counter under another name counts anew.
	expect.OK(t, s.lines.Create(ctx, &line{ID: "2", Basket: "a", N: 3}))
	expect.OK(t, s.table.Do(ctx, table.Update(basketKey("a"), expression.Add(expression.Name("lines"), expression.Value(5))))) // it has drifted
	type renamed struct {
		basket
		Anew int64 `dynamodbav:"anew"`
	}
	fewer.Counters = []repo.Counter[line]{{Name: "anew", Key: inBasket, Owner: "BASKET", Attribute: "anew"}}
	anew := newRepo(t, s.table, fewer)
	expect.Value(anew.Refresh(ctx, lineKey("2")))(t)
	r := expect.Value(table.Get[renamed](ctx, s.table, basketKey("a")))(t)
	expect.Equal(t, "anew", r.Anew, 1)
	expect.Equal(t, "as before", r.Lines, 6)
}

// TestCounterOfAnotherLife: a version that counts from 1 does not tell an entity from one that
// was created anew, but what was counted of it does.
func TestCounterOfAnotherLife(t *testing.T) {
	t.Parallel()
	type numbered struct {
		ID      string `dynamodbav:"id"`
		Basket  string `dynamodbav:"basket"`
		N       int64  `dynamodbav:"n"`
		Version int64  `dynamodbav:"version"`
	}
	e := repo.Entity[numbered]{Type: "LINE", Version: "version", Key: func(l numbered) keys.Key { return lineKey(l.ID) }}
	e.Counters = []repo.Counter[numbered]{{
		Name: "pieces", Owner: "BASKET", Attribute: "pieces",
		Key: func(l numbered) keys.Key { return basketKey(l.Basket) }, Amount: func(l numbered) int64 { return l.N },
	}}
	s, ctx := newShopping(t, plainLine), t.Context()
	lines := newRepo(t, s.table, e)
	for _, id := range []string{"a", "b"} {
		expect.OK(t, s.baskets.Create(ctx, &basket{ID: id}))
	}
	expect.OK(t, lines.Create(ctx, &numbered{ID: "1", Basket: "a", N: 2}))
	s.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		expect.OK(t, lines.Delete(ctx, lineKey("1")))
		expect.OK(t, lines.Create(ctx, &numbered{ID: "1", Basket: "b", N: 5}))
		return next.RoundTrip(r)
	})
	expect.OK(t, lines.Delete(ctx, lineKey("1")))
	s.has(t, "a", "a", 0, 0)
	s.has(t, "b", "b", 0, 0)
}

// folder counts the folders in it.
type folder struct {
	ID       string `dynamodbav:"id"`
	In       string `dynamodbav:"in,omitempty"`
	Folders  int64  `dynamodbav:"folders"`
	Revision string `dynamodbav:"revision"`
}

func folderKey(id string) keys.Key {
	if id == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.PK("FOLDER#" + id), SK: keys.Metadata}
}

// TestFolders: an entity counts in others of its own type, and not in itself.
func TestFolders(t *testing.T) {
	t.Parallel()
	tbl, ctx := tabletest.New(t, schema.Table{}, nil), t.Context()
	r := newRepo(t, tbl, repo.Entity[folder]{
		Type: "FOLDER", Version: "revision", Key: func(f folder) keys.Key { return folderKey(f.ID) },
		Counters: []repo.Counter[folder]{{Name: "folders", Owner: "FOLDER", Attribute: "folders", Key: func(f folder) keys.Key { return folderKey(f.In) }}},
		Counted:  []string{"folders"},
	})
	a, b, c := folder{ID: "a"}, folder{ID: "b", In: "a"}, folder{ID: "c", In: "b"}
	ops := slices.Concat(r.CreateOps(&a), r.CreateOps(&b), r.CreateOps(&c))
	expect.OK(t, tbl.Transact(ctx, ops...))
	has := func(what, id string, n int64) {
		t.Helper()
		expect.Equal(t, what, expect.Value(r.Consistent().Get(ctx, folderKey(id)))(t).Folders, n)
	}
	has("created", "a", 1)
	has("created", "b", 1)
	expect.Value(r.Update(ctx, folderKey("c"), func(f *folder) error { f.In = "a"; return nil }))(t)
	has("moved", "a", 2)
	has("moved", "b", 0)
	for what, err := range map[string]error{
		"Create":    r.Create(ctx, &folder{ID: "d", In: "d"}),
		"CreateOps": tbl.Transact(ctx, r.CreateOps(&folder{ID: "d", In: "d"})...),
		"Update":    expect.ErrOf(r.Update(ctx, folderKey("a"), func(f *folder) error { f.In = "a"; return nil })),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s in itself: %v", what, err)
		}
	}
	expect.OK(t, tbl.Transact(ctx, append(r.DeleteOps(b), r.DeleteOps(expect.Value(r.Get(ctx, folderKey("c")))(t))...)...))
	has("both deleted", "a", 0)
}

// TestWritesThatCannotCount are refused before anything is sent.
func TestWritesThatCannotCount(t *testing.T) {
	t.Parallel()
	s, ctx := newShopping(t, lineEntity(10)), t.Context()
	p := repo.Patch{Set: map[string]any{"note": "x"}}
	far := lineEntity(10)
	far.Counters[0].Key = func(line) keys.Key { return keys.Key{PK: "X"} }
	for what, err := range map[string]error{
		"Patch":         expect.ErrOf(s.lines.Patch(ctx, lineKey("1"), p)),
		"PatchOps":      s.table.Transact(ctx, s.lines.PatchOps(lineKey("1"), p)...),
		"Upsert":        expect.ErrOf(s.lines.Upsert(ctx, line{ID: "1"}, p)),
		"PutOps":        s.table.Transact(ctx, s.lines.PutOps(&line{ID: "1"})...),
		"a partial key": newRepo(t, s.table, far).Create(ctx, &line{ID: "1"}),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect.Equal(t, "requests", len(s.faults.Requests("TransactWriteItems", "PutItem", "UpdateItem", "GetItem")), 0)
}

// TestNewRefusesCounters that cannot be exact.
func TestNewRefusesCounters(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
	one := func(change func(*repo.Counter[line])) func(*repo.Entity[line]) {
		return func(e *repo.Entity[line]) { change(&e.Counters[0]) }
	}
	for what, change := range map[string]func(*repo.Entity[line]){
		"no Version":        func(e *repo.Entity[line]) { e.Version = "" },
		"no Name":           one(func(c *repo.Counter[line]) { c.Name = "" }),
		"no Key":            one(func(c *repo.Counter[line]) { c.Key = nil }),
		"no Owner":          one(func(c *repo.Counter[line]) { c.Owner = "" }),
		"no Attribute":      one(func(c *repo.Counter[line]) { c.Attribute = "" }),
		"a name twice":      one(func(c *repo.Counter[line]) { c.Name = "pieces" }),
		"the type":          one(func(c *repo.Counter[line]) { c.Attribute = "entityType" }),
		"the mark":          one(func(c *repo.Counter[line]) { c.Attribute = "entityCounted" }),
		"Min above Max":     one(func(c *repo.Counter[line]) { c.Min, c.Max = new(int64(2)), new(int64(1)) }),
		"reads the Version": one(func(c *repo.Counter[line]) { c.Key = func(l line) keys.Key { return basketKey(l.Revision) } }),
		"an upgraded mark": func(e *repo.Entity[line]) {
			e.Upgrades = []repo.Upgrade{{Removes: []string{"entityCounted"}, Change: func(table.Item) error { return nil }}}
		},
		"a name of other bytes": one(func(c *repo.Counter[line]) { c.Name = "\xff" }),
		"a name that is long":   one(func(c *repo.Counter[line]) { c.Name = strings.Repeat("n", 256) }),
		"in its own type":       one(func(c *repo.Counter[line]) { c.Owner = "LINE" }),
		"counted twice": func(e *repo.Entity[line]) {
			e.Counters, e.Counted = nil, []string{"n", "n"}
		},
		"counted in a text":   func(e *repo.Entity[line]) { e.Counted = []string{"note"} },
		"counted in no field": func(e *repo.Entity[line]) { e.Counted = []string{"none"} },
		"counted in expiry":   func(e *repo.Entity[line]) { e.Counted = []string{"expiresAt"} },
		"counted in Version":  func(e *repo.Entity[line]) { e.Counted = []string{"revision"} },
		"counted, and counts": func(e *repo.Entity[line]) { e.Counted = []string{"n"} }, // the Amount reads it
		"counted and upgraded": func(e *repo.Entity[line]) {
			e.Counters, e.Counted, e.Upgrades = nil, []string{"n"}, []repo.Upgrade{{Writes: []string{"n"}, Change: func(table.Item) error { return nil }}}
		},
	} {
		e := lineEntity(10)
		change(&e)
		if _, err := repo.New(tbl, e); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	type narrow struct {
		N        int8   `dynamodbav:"n"`
		Revision string `dynamodbav:"revision"`
	}
	_, err := repo.New(tbl, repo.Entity[narrow]{Type: "N", Version: "revision", Counted: []string{"n"}, Key: func(narrow) keys.Key { return docKey }})
	expect.Err(t, err, table.ErrInvalid)
	type optional struct {
		N        *int64 `dynamodbav:"n"`
		Revision string `dynamodbav:"revision"`
	}
	_, err = repo.New(tbl, repo.Entity[optional]{Type: "N", Version: "revision", Counted: []string{"n"}, Key: func(optional) keys.Key { return docKey }})
	expect.Err(t, err, table.ErrInvalid)
	of := []repo.Counter[map[string]any]{{Name: "n", Owner: "N", Attribute: "n", Key: func(map[string]any) keys.Key { return docKey }}}
	_, err = repo.New(tbl, repo.Entity[map[string]any]{Type: "M", Version: "revision", Counters: of, Key: func(map[string]any) keys.Key { return docKey }})
	expect.Err(t, err, table.ErrInvalid)
}

// A condition of the caller's that is false is no stale value, where the mark is as the value
// shows it: a handler can tell "it still has comments" from "read it again".
func TestConditionsOfOpsThatCount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShopping(t, lineEntity(9))
	expect.OK(t, s.baskets.Create(ctx, &basket{ID: "b"}))
	never := table.If("attribute_exists(nothing)")
	for id, ops := range map[string]func(v line) []table.Op{
		"DeleteOps": func(v line) []table.Op { return s.lines.DeleteOps(v) },
		"UpdateOps": func(v line) []table.Op { next := v; next.N++; return s.lines.UpdateOps(v, &next) },
	} {
		v := line{ID: id, Basket: "b", N: 2}
		expect.OK(t, s.lines.Create(ctx, &v))
		all := ops(v)
		all[0] = all[0].If(never)
		err := s.table.Transact(ctx, all...)
		expect.Err(t, err, table.ErrConditionFailed)
		expect.NotErr(t, err, table.ErrStale)
		expect.OK(t, s.table.Do(ctx, table.Patch(lineKey(id), nil, "entityCounted")))
		expect.Err(t, s.table.Transact(ctx, all...), table.ErrStale)
	}
}
