package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// handle runs ops and gives the event of them to the router.
func (w world) handle(t *testing.T, r *stream.Router, ops ...table.Op) {
	t.Helper()
	event := expect.Value(streamtest.Transact(t.Context(), w.client, w.table, ops...))(t)
	deliver(t, r, event)
}

func deliver(t *testing.T, r *stream.Router, event json.RawMessage) {
	t.Helper()
	response := expect.Value(r.Handle(t.Context(), event))(t)
	expect.OK(t, response.Err)
	expect.Equal(t, "failures", response.BatchItemFailures, []stream.ItemFailure{})
}

func TestOneChangeForAnEntityWithCopies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l), w.onNotes(&l))

	u := User{ID: "1", Email: "a@x", Phone: "1", Tags: []string{"p", "q"}}
	w.handle(t, r, w.users.CreateOps(&u)...)
	old := u
	u.Tags = []string{"q", "p"}
	w.handle(t, r, w.users.UpdateOps(old, &u)...)
	expect.Equal(t, "a new version and another order of a set", l.take(), []string{"USER insert >1/a@x/1/[p q] []"})

	old = u
	u.Tags, u.Ends = []string{"q"}, time.Now().Add(time.Hour).Unix()
	w.handle(t, r, w.users.UpdateOps(old, &u)...)
	w.handle(t, r, w.users.DeleteOps(u)...)
	expect.Equal(t, "changes", l.take(), []string{
		"USER modify 1/a@x/1/[p q]>1/a@x/1/[q] [ends tags]",
		"USER remove 1/a@x/1/[q]> []",
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l), w.onNotes(&l))
	past := time.Now().Add(-time.Hour).Unix()

	u := User{ID: "1", Email: "a@x"}
	w.handle(t, r, w.users.CreateOps(&u)...)
	event := expect.Value(streamtest.Expire(t.Context(), w.client, w.table, userKey("1"), keys.Key{PK: "EMAIL#a@x", SK: keys.Profile}))(t)
	deliver(t, r, event)
	expect.Equal(t, "deletion by DynamoDB", l.take(), []string{"USER insert >1/a@x//[] []", "USER expire 1/a@x//[]> []"})

	u = User{ID: "1", Email: "a@x", Ends: past}
	w.handle(t, r, w.users.CreateOps(&u)...)
	l.take()
	u = User{ID: "1", Email: "b@x"}
	w.handle(t, r, w.users.CreateOps(&u)...)
	expect.Equal(t, "create over an expired one", l.take(), []string{"USER insert >1/b@x//[] []"})

	old := u
	u.Ends = past
	w.handle(t, r, w.users.UpdateOps(old, &u)...)
	revision := expression.Set(expression.Name("rev"), expression.Value("another"))
	w.handle(t, r, table.Update(userKey("1"), revision)) // it is still expired
	w.handle(t, r, table.Delete(userKey("1")))
	expect.Equal(t, "deletion of an expired one by a program", l.take(), []string{
		"USER modify 1/b@x//[]>1/b@x//[] [ends]", "USER expire 1/b@x//[]> []",
	})
}

func TestChangeOfType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l), w.onNotes(&l))
	n := Note{User: "1", Text: "x"}
	w.handle(t, r, w.notes.PutOps(&n)...)
	other := repo.Entity[User]{Type: "USER", Key: func(u User) keys.Key { return noteKey(u.ID) }}
	users := newRepo(t, w.table, other)
	r = newRouter(t, w.table, nil, stream.On(users, func(_ context.Context, c stream.Change[User]) error {
		l.add("USER %s", c.Kind)
		return nil
	}), w.onNotes(&l))
	u := User{ID: "1", Email: "a@x"}
	w.handle(t, r, users.PutOps(&u)...)
	expect.Equal(t, "changes", l.take(), []string{"NOTE insert >1/x []", "NOTE remove 1/x> []", "USER insert"})
}

// shape1 is the release in which a user got a tier.
type userWithTier struct {
	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
	Tier string `dynamodbav:"tier"`
	Rev  string `dynamodbav:"rev"`
}

func TestUpgrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entity := repo.Entity[userWithTier]{
		Type: "USER", Version: "rev", Key: func(u userWithTier) keys.Key { return userKey(u.ID) },
		Copies:   []repo.Copy[userWithTier]{{Key: func(u userWithTier) keys.Key { return keys.Key{PK: keys.Prefix("EMAIL").PK(u.Mail), SK: keys.Profile} }}},
		Upgrades: []repo.Upgrade{repo.Rename("email", "mail"), repo.Default("tier", "basic")},
	}
	present := newRepo(t, w.table, entity)
	var l log
	r := newRouter(t, w.table, nil, stream.On(present, func(_ context.Context, c stream.Change[userWithTier]) error {
		text := func(u userWithTier) string { return u.ID + "/" + u.Mail + "/" + u.Tier }
		l.add("%s %s %v", c.Kind, side(c.Old, text)+">"+side(c.New, text), c.Changed)
		return nil
	}))
	u := User{ID: "1", Email: "a@x"}
	w.handle(t, r, w.users.CreateOps(&u)...)
	item := expect.Value(table.Get[table.Item](t.Context(), w.table, userKey("1")))(t)
	ops := expect.Value(present.RefreshOps(t.Context(), item))(t)
	w.handle(t, r, ops...)
	expect.Equal(t, "a former release and a backfill", l.take(), []string{"insert >1/a@x/basic []"})

	older := newRouter(t, w.table, nil, w.onUsers(&l))
	event, err := streamtest.Transact(t.Context(), w.client, w.table,
		table.Update(userKey("1"), expression.Set(expression.Name("tier"), expression.Value("gold"))))
	expect.OK(t, err)
	response := expect.Value(older.Handle(t.Context(), event))(t)
	if !errors.Is(response.Err, table.ErrNewerShape) || len(response.BatchItemFailures) != 1 {
		t.Errorf("a newer shape: %v", response)
	}
}

func TestOtherItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := keys.Key{PK: "#META", SK: "x"}
	orphan := User{ID: "1", Email: "a@x"}
	ops := []table.Op{
		table.Put(foreign, table.Item{}),
		table.Put(keys.Key{PK: "LOST", SK: "1"}, struct {
			User
			Type string `dynamodbav:"entityType"`
		}{orphan, "USER"}),
	}
	events := make([]json.RawMessage, len(ops))
	for i, op := range ops {
		var err error
		events[i], err = streamtest.Transact(t.Context(), w.client, w.table, op)
		expect.OK(t, err)
	}
	var l log
	refuses := newRouter(t, w.table, nil, w.onUsers(&l))
	for i, want := range []error{table.ErrWrongType, repo.ErrOrphan} {
		response := expect.Value(refuses.Handle(t.Context(), events[i]))(t)
		if !errors.Is(response.Err, want) || len(response.BatchItemFailures) != 1 {
			t.Errorf("event %d: %v, want %v", i, response, want)
		}
		if response.Err != nil && strings.Contains(response.Err.Error(), "LOST") {
			t.Errorf("the error prints a key: %v", response.Err)
		}
	}
	ignores := newRouter(t, w.table, nil, w.onUsers(&l), stream.IgnoreOther())
	takes := newRouter(t, w.table, nil, w.onUsers(&l), stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
		l.add("%s %s %d", c.Kind, c.Key, len(*c.New))
		return nil
	}))
	for _, e := range events {
		deliver(t, ignores, e)
		deliver(t, takes, e)
	}
	expect.Equal(t, "changes", l.take(), []string{"insert {#META x} 2", "insert {LOST 1} 6"})
}

func TestOwnItemsAreNoChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l))
	store := expect.Value(idempotency.New(w.table, nil))(t)
	var event json.RawMessage
	expect.OK(t, expect.ErrOf(idempotency.Exec(t.Context(), store, idempotency.Request{Key: "k"}, func(context.Context) ([]table.Op, error) { return nil, nil })))
	page := expect.Value(table.ScanPage[table.Item](t.Context(), w.table, table.Scan{}))(t)
	event = expect.Value(streamtest.Transact(t.Context(), w.client, w.table, table.Delete(w.table.KeyOf("", page.Items[0]))))(t)
	deliver(t, r, event)
	expect.Equal(t, "changes", len(l.take()), 0)

	// An item of another program, which has the type of an item of the library.
	foreign := newRepo(t, w.table, repo.Entity[Note]{Type: "STREAM", Key: noteEntity.Key})
	r = newRouter(t, w.table, nil, stream.On(foreign, func(_ context.Context, c stream.Change[Note]) error {
		l.add("%s", c.Kind)
		return nil
	}))
	w.handle(t, r, foreign.PutOps(&Note{User: "1"})...)
	expect.Equal(t, "changes of another program's item", l.take(), []string{"insert"})
	marked := table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "STREAM"}, "itemPK": &types.AttributeValueMemberS{Value: "x"},
		"user": &types.AttributeValueMemberS{Value: "2"},
	}
	w.handle(t, r, table.Put(noteKey("2"), marked))
	expect.Equal(t, "changes of one with such an attribute", l.take(), []string{"insert"})
	similar := newRepo(t, w.table, repo.Entity[Note]{Type: "STREAM", Key: func(n Note) keys.Key {
		return keys.Key{PK: keys.Prefix("STREAM").PK(n.User), SK: keys.Metadata}
	}})
	r = newRouter(t, w.table, nil, stream.On(similar, func(_ context.Context, c stream.Change[Note]) error {
		l.add("%s", c.Kind)
		return nil
	}))
	w.handle(t, r, similar.PutOps(&Note{User: "1"})...)
	expect.Equal(t, "changes of an item with such a key", l.take(), []string{"insert"})
}

// TestFailures fails a handler at every position, one after the other, and delivers what
// the response asks for, as Lambda does.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			event := w.busyEvent(t)
			var records struct{ Records []json.RawMessage }
			expect.OK(t, json.Unmarshal(event, &records))
			for position := range records.Records {
				var l log
				var failed atomic.Bool
				fails := sequences(t, records.Records)[position]
				handler := stream.On(w.notes, func(_ context.Context, c stream.Change[Note]) error {
					if c.Sequence == fails && failed.CompareAndSwap(false, true) {
						return errors.New("no")
					}
					l.add("%s %s", c.Key.PK, c.New.Text)
					return nil
				})
				r := newRouter(t, w.table, &stream.Options{Concurrency: concurrency}, handler)
				rest := records.Records
				for tries := 0; len(rest) > 0; tries++ {
					if tries > 2 {
						t.Fatal("too many deliveries")
					}
					response := expect.Value(r.Handle(t.Context(), expect.Value(json.Marshal(map[string]any{"Records": rest}))(t)))(t)
					if len(response.BatchItemFailures) == 0 {
						break
					}
					first := slices.Index(sequences(t, rest), response.BatchItemFailures[0].ItemIdentifier)
					expect.Equal(t, "position of the failure", first, position)
					rest = rest[first:]
				}
				inOrder(t, l.all(), 4, 5)
			}
		})
	}
}

// busyEvent returns an event of 4 notes that change 5 times each.
func (w world) busyEvent(t *testing.T) json.RawMessage {
	t.Helper()
	all := struct{ Records []json.RawMessage }{}
	for version := range 5 {
		for user := range 4 {
			n := Note{User: fmt.Sprint(user), Text: fmt.Sprint(version)}
			event := expect.Value(streamtest.Transact(t.Context(), w.client, w.table, w.notes.PutOps(&n)...))(t)
			var one struct{ Records []json.RawMessage }
			expect.OK(t, json.Unmarshal(event, &one))
			all.Records = append(all.Records, one.Records...)
		}
	}
	return expect.Value(json.Marshal(all))(t)
}

func sequences(t *testing.T, records []json.RawMessage) []string {
	t.Helper()
	all := make([]string, len(records))
	for i, raw := range records {
		var r struct {
			Dynamodb struct{ SequenceNumber string }
		}
		expect.OK(t, json.Unmarshal(raw, &r))
		all[i] = r.Dynamodb.SequenceNumber
	}
	return all
}

// inOrder checks that each item has had all of its values, and none before its
// predecessor. A value can come again with all that follow it.
func inOrder(t *testing.T, lines []string, items, versions int) {
	t.Helper()
	reached := map[string]int{}
	for _, line := range lines {
		item, text, _ := strings.Cut(line, " ")
		var version int
		expect.OK(t, expect.ErrOf(fmt.Sscan(text, &version)))
		if version > reached[item] {
			t.Fatalf("%s: version %d comes after %d: %v", item, version, reached[item]-1, lines)
		}
		reached[item] = version + 1
	}
	expect.Equal(t, "items", len(reached), items)
	for item, n := range reached {
		expect.Equal(t, item, n, versions)
	}
}

// TestHandlerEndsItsGoroutine lets a handler do what a failed test does.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	event := w.busyEvent(t)
	r := newRouter(t, w.table, &stream.Options{Concurrency: 4}, stream.On(w.notes, func(_ context.Context, c stream.Change[Note]) error {
		if c.New.Text == "3" {
			runtime.Goexit()
		}
		return nil
	}))
	response := expect.Value(r.Handle(t.Context(), event))(t)
	if response.Err == nil || len(response.BatchItemFailures) != 1 {
		t.Errorf("response: %v", response)
	}
}

func TestHandleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	event := w.busyEvent(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("late")
	n := 0
	r := newRouter(t, w.table, nil, stream.On(w.notes, func(context.Context, stream.Change[Note]) error {
		if n++; n == 3 {
			cancel(late)
		}
		return nil
	}))
	response := expect.Value(r.Handle(ctx, event))(t)
	expect.Equal(t, "handled", n, 3)
	if !errors.Is(response.Err, late) || len(response.BatchItemFailures) != 1 {
		t.Errorf("response: %v", response)
	}
}

func TestRequestRunsEachEffectOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := expect.Value(idempotency.New(w.table, nil))(t)
	counter := keys.Key{PK: "COUNT", SK: "1"}
	type count struct{ N int }
	r := newRouter(t, w.table, nil, stream.On(w.notes, func(ctx context.Context, c stream.Change[Note]) error {
		_, err := idempotency.Exec(ctx, store, c.Request("counter"), func(context.Context) ([]table.Op, error) {
			return []table.Op{table.Update(counter, expression.Add(expression.Name("N"), expression.Value(1)))}, nil
		})
		return err
	}), stream.IgnoreOther())
	event := w.busyEvent(t)
	for range 3 {
		deliver(t, r, event)
	}
	got := expect.Value(table.Get[count](t.Context(), w.table, counter))(t)
	expect.Equal(t, "count", got, count{N: 20})
}

// A change that no stream has given names no effect: two of them would have the same name.
func TestRequestOfNoRecordIsRefused(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:dynamodb:eu-west-1:1:table/T/stream/2026-01-01T00:00:00.000"
	store := expect.Value(idempotency.New(tabletest.New(t, spec, nil), nil))(t)
	for name, r := range map[string]idempotency.Request{
		"no event":    stream.Change[Note]{Kind: stream.Insert, Stream: arn}.Request("counter"),
		"no stream":   stream.Change[Note]{Kind: stream.Insert, EventID: "e"}.Request("counter"),
		"no consumer": stream.Change[Note]{Kind: stream.Insert, EventID: "e", Stream: arn}.Request(""),
	} {
		for _, suffix := range []string{"", " one of several"} {
			r.Key += suffix
			_, err := idempotency.Exec(t.Context(), store, r, func(context.Context) ([]table.Op, error) { return nil, nil })
			if !errors.Is(err, idempotency.ErrInvalidRequest) {
				t.Errorf("%s, with the suffix %q: %v", name, suffix, err)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := newRepo(t, tabletest.New(t, spec, nil), noteEntity)
	kinds := w.table.Schema()
	kinds.TypeAttribute = "kind"
	otherType := newRepo(t, expect.Value(table.New(w.client, kinds, nil))(t), noteEntity)
	do := func(context.Context, stream.Change[Note]) error { return nil }
	for name, handlers := range map[string][]stream.Handler{
		"none":          {},
		"nil":           {nil},
		"zero repo":     {stream.On(new(repo.Repo[Note]), do)},
		"nil repo":      {stream.On[Note](nil, do)},
		"nil function":  {stream.On(w.notes, nil)},
		"nil other":     {stream.OnOther(nil)},
		"twice":         {stream.On(w.notes, do), stream.On(w.notes, do)},
		"other twice":   {stream.IgnoreOther(), stream.IgnoreOther()},
		"another table": {stream.On(elsewhere, do)},
		"another type":  {stream.On(otherType, do), stream.IgnoreOther()},
	} {
		if _, err := stream.New(w.table, nil, handlers...); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tbl := range []*table.Table{nil, new(table.Table)} {
		if _, err := stream.New(tbl, nil, stream.On(w.notes, do)); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("table %v: %v", tbl, err)
		}
	}
	if _, err := stream.New(w.table, &stream.Options{Concurrency: -1}, stream.IgnoreOther()); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("negative concurrency: %v", err)
	}
}

func TestPanicOfAHandlerReachesTheCaller(t *testing.T) {
	t.Parallel()
	cause := errors.New("injected")
	w := newWorld(t)
	event := w.busyEvent(t)
	panics := func(context.Context, stream.Change[Note]) error { panic(cause) }
	for _, concurrency := range []int{1, 4} {
		r := newRouter(t, w.table, &stream.Options{Concurrency: concurrency}, stream.On(w.notes, panics), stream.IgnoreOther())
		reader := stream.Reader{Name: fmt.Sprint("notes", concurrency), Router: r, Client: streamtest.Client(w.client), Interval: 5 * time.Millisecond}
		for name, call := range map[string]func() error{
			"Handle": func() error { return expect.ErrOf(r.Handle(t.Context(), event)) },
			"Run":    func() error { return reader.Run(t.Context()) },
		} {
			func() {
				defer func() {
					err, _ := recover().(*group.Panic)
					if err == nil || !errors.Is(err, cause) || !strings.Contains(string(err.Stack), "TestPanicOfAHandler") {
						t.Errorf("%s with Concurrency %d: panic with %v", name, concurrency, err)
					}
				}()
				t.Errorf("%s with Concurrency %d: %v", name, concurrency, call())
			}()
		}
	}
}

// A count in an entity is no change of it, and an item that has expired is uncounted once.
func TestCounters(t *testing.T) {
	t.Parallel()
	type team struct {
		ID      string `dynamodbav:"id"`
		Members int64  `dynamodbav:"members"`
		Rev     string `dynamodbav:"rev"`
	}
	teamKey := func(id string) keys.Key { return keys.Key{PK: keys.Prefix("TEAM").PK(id), SK: keys.Metadata} }
	w, ctx := newWorld(t), t.Context()
	teams := newRepo(t, w.table, repo.Entity[team]{
		Type: "TEAM", Version: "rev", Counted: []string{"members"}, Key: func(v team) keys.Key { return teamKey(v.ID) },
	})
	counted := userEntity
	counted.Counters = []repo.Counter[User]{{Name: "members", Owner: "TEAM", Attribute: "members", Key: func(u User) keys.Key { return teamKey(u.Email) }}}
	w.users = newRepo(t, w.table, counted)
	store := expect.Value(idempotency.New(w.table, nil))(t)
	var l log
	r := newRouter(t, w.table, nil, w.onUsers(&l), stream.On(teams, func(_ context.Context, c stream.Change[team]) error {
		l.add("TEAM %s %v", c.Kind, c.Changed)
		return nil
	}), stream.IgnoreOther())
	uncounts := newRouter(t, w.table, nil, stream.OnOther(func(ctx context.Context, c stream.Change[table.Item]) error {
		if c.Kind != stream.Expire {
			return nil
		}
		_, err := idempotency.Exec(ctx, store, c.Request("members"), func(context.Context) ([]table.Op, error) { return w.users.UncountOps(*c.Old), nil })
		return err
	}))
	expect.OK(t, teams.Create(ctx, &team{ID: "x"}))
	u := User{ID: "1", Email: "x", Phone: "1"}
	w.handle(t, r, w.users.CreateOps(&u)...)
	expect.Equal(t, "changes", l.take(), []string{"USER insert >1/x/1/[] []"})
	members := func(n int64) {
		t.Helper()
		expect.Equal(t, "members", expect.Value(teams.Get(ctx, teamKey("x")))(t).Members, n)
	}
	members(1)
	event := expect.Value(streamtest.Expire(ctx, w.client, w.table, userKey("1"), keys.Key{PK: keys.Prefix("PHONE").PK("1"), SK: keys.Profile}))(t)
	for range 2 {
		deliver(t, uncounts, event)
		members(0)
	}
}
