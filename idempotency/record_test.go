package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A record as AppCore writes it: IDE#<key> / METADATA with these attributes.
func appCoreRecord(txID string) table.Item {
	return table.Item{
		"entityType": str("IDEMPOTENCY"),
		"txId":       str(txID),
		"userId":     str("u-123"),
		"createdAt":  str("2100-01-15T10:05:00.000Z"),
	}
}

var (
	appCoreRequest = idempotency.Request{Key: "req-uuid-1", Payload: idempotency.JSON(1)}
	appCoreKey     = keys.Key{PK: "IDE#req-uuid-1", SK: "METADATA"}
)

func appCoreOrder(record table.Item) (keys.Key, error) {
	id, ok := record["txId"].(*types.AttributeValueMemberS)
	if !ok {
		return keys.Key{}, errNoTx
	}
	return orderKey(id.Value), nil
}

var errNoTx = errors.New("the record names no transaction")

func TestRecordIsInTheLayoutOfAppCore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := idempotency.Do(t.Context(), s.store, appCoreRequest, planned(func() (idempotency.Plan[order], error) {
		o := s.newOrder()
		return idempotency.Reference(o, orderKey(o.ID), ops("k", o)...).
			With(map[string]string{"txId": o.ID, "userId": "u-123"}), nil
	}))
	expect.OK(t, err)
	item := expect.Value(table.Get[table.Item](t.Context(), s.table.Consistent().OfType("IDEMPOTENCY"), appCoreKey))(t)
	for name, want := range appCoreRecord("o-1") {
		expect.Equal(t, name, fmt.Sprint(item[name]), fmt.Sprint(want))
	}
	n, ok := item["expiresAt"].(*types.AttributeValueMemberN)
	if !ok || n.Value != fmt.Sprint(start.Add(24*time.Hour).Unix()) {
		t.Errorf("expires at %v", item["expiresAt"])
	}
}

func TestRecordOfAnotherWriter(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			o := s.newOrder()
			expect.OK(t, s.table.Transact(t.Context(), ops("k", o)...))
			expect.OK(t, s.table.Do(t.Context(), table.Put(appCoreKey, appCoreRecord(o.ID))))
			s.faults.Always("TransactWriteItems", engine)
			do := func() (idempotency.Result[order], error) {
				return idempotency.Do(t.Context(), s.store, appCoreRequest, s.snapshot("k"))
			}
			wantErr(t, expect.ErrOf(do()), table.ErrInvalid)
			_, err := idempotency.Exec(t.Context(), s.store, appCoreRequest, func(context.Context) ([]table.Op, error) { return nil, nil })
			wantErr(t, err, table.ErrInvalid)
			s.wantEffects(t, "k", 1)

			s.store = newStore(t, s.table, &idempotency.Options{Legacy: appCoreOrder, Observe: s.observe})
			result := expect.Value(do())(t)
			expect.Equal(t, "replayed", result.Replayed, true)
			expect.Equal(t, "id", result.Value.ID, o.ID)
			expect.Equal(t, "events", s.kinds(), []idempotency.EventKind{idempotency.Replayed})

			record := expect.Value(s.store.Lookup(t.Context(), appCoreRequest))(t)
			expect.Equal(t, "created", record.CreatedAt, start)
			expect.Equal(t, "expires", record.ExpiresAt, time.Time{})
			expect.Equal(t, "fingerprint", record.Fingerprint, nil)

			// It does not expire, whatever our own would do.
			s.clock.move(1000 * time.Hour)
			expect.OK(t, expect.ErrOf(do()))

			expect.OK(t, s.table.Do(t.Context(), table.Delete(orderKey(o.ID))))
			wantErr(t, expect.ErrOf(do()), idempotency.ErrResultGone)
			first := expect.Value(idempotency.Exec(t.Context(), s.store, appCoreRequest, func(context.Context) ([]table.Op, error) { return nil, nil }))(t)
			expect.Equal(t, "first", first, false)

			// What looks like a result in it is another writer's too.
			expect.OK(t, s.table.Do(t.Context(), table.Put(appCoreKey, table.Item{"result": str("x"), "resultPK": str("x"), "fingerprint": str("x")})))
			_, err = do()
			wantErr(t, err, errNoTx)
			if e, ok := errors.AsType[*table.Error](err); !ok || e.Key != appCoreKey {
				t.Errorf("error %v", err)
			}
			s.wantEffects(t, "k", 1)
		})
	}
}

func TestLookupAndDelete(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantErr(t, expect.ErrOf(s.store.Lookup(t.Context(), request("k"))), table.ErrNotFound)
	expect.OK(t, s.store.Delete(t.Context(), request("k")))

	r := request("k")
	r.TTL = time.Minute
	expect.OK(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))))
	record := expect.Value(s.store.Lookup(t.Context(), idempotency.Request{Scope: r.Scope, Key: r.Key}))(t)
	fingerprint := expect.Value(r.Fingerprint())(t)
	expect.Equal(t, "fingerprint", record.Fingerprint, fingerprint[:])
	expect.Equal(t, "created", record.CreatedAt, start)
	expect.Equal(t, "expires", record.ExpiresAt, start.Add(time.Minute))

	expect.OK(t, s.store.Delete(t.Context(), idempotency.Request{Scope: r.Scope, Key: r.Key}))
	s.wantRecord(t, "k", false)
	result := expect.Value(s.do(t, "k"))(t)
	expect.Equal(t, "replayed", result.Replayed, false)
	s.wantEffects(t, "k", 2)

	s.faults.Always("GetItem", tabletest.DropRequest())
	expect.NotErr(t, expect.ErrOf(s.store.Lookup(t.Context(), r)), table.ErrNotFound, table.ErrOutcomeUnknown)
	s.faults.Always("DeleteItem", tabletest.DropResponse())
	wantErr(t, s.store.Delete(t.Context(), r), table.ErrOutcomeUnknown)
}

// A view of the table that is for one type of item does not hide the records.
func TestStoreOfAView(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for key, view := range map[string]*table.Table{"type": s.table.OfType("ORDER"), "projection": s.table.Project("id")} {
		s.store = newStore(t, view, nil)
		s.faults.Always("TransactWriteItems", nil)
		want := s.first(t, key)
		s.faults.Always("TransactWriteItems", changedResponse(poor))
		s.again(t, key, want)
		s.wantRecord(t, key, true)
	}
	s.faults.Always("TransactWriteItems", nil)
	s.store = newStore(t, s.table.Project("id"), nil)
	o := s.newOrder()
	for range 2 {
		result := expect.Value(idempotency.Do(t.Context(), s.store, request("reference"), planned(func() (idempotency.Plan[order], error) {
			return idempotency.Reference(o, orderKey(o.ID), table.Create(orderKey(o.ID), o)), nil
		})))(t)
		expect.Equal(t, "goods", result.Value.Goods, o.Goods)
	}
}

// A store of an entity's view reads references as the entity, and upgrades them.
func TestReferenceToAnOlderShape(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	type first struct{ ID, Name, Revision string }
	type second struct{ ID, Title, Revision string }
	old := expect.Value(repo.New(s.table, repo.Entity[first]{Type: "BOOK", Version: "Revision", Key: func(b first) keys.Key { return orderKey(b.ID) }}))(t)
	book := first{ID: "b-1", Name: "Emma"}
	expect.Value(idempotency.Do(t.Context(), s.store, request("book"), planned(func() (idempotency.Plan[first], error) {
		return idempotency.Reference(book, orderKey("b-1"), old.CreateOps(&book)...), nil
	})))(t)
	present := expect.Value(repo.New(s.table, repo.Entity[second]{
		Type: "BOOK", Version: "Revision", Key: func(b second) keys.Key { return orderKey(b.ID) }, Upgrades: []repo.Upgrade{repo.Rename("Name", "Title")},
	}))(t)
	again := expect.Value(idempotency.Do(t.Context(), newStore(t, present.View(), nil), request("book"), planned(func() (idempotency.Plan[second], error) {
		return idempotency.Reference(second{}, orderKey("b-1"), table.Put(orderKey("b-1"), second{})), nil
	})))(t)
	expect.Equal(t, "title", again.Value.Title, "Emma")
}

func TestInvalidStores(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	for name, tt := range map[string]struct {
		schema  schema.Table
		options *idempotency.Options
	}{
		"no TTL attribute": {schema.Table{Name: "Shop"}, nil},
		"no sort key":      {schema.Table{Name: "Shop", TTLAttribute: "expiresAt", SimpleKey: true}, nil},
		"numbers for keys": {schema.Table{Name: "Shop", TTLAttribute: "expiresAt", PKType: types.ScalarAttributeTypeN}, nil},
		// These are attributes of the record.
		"a key among the record's":        {schema.Table{Name: "Shop", TTLAttribute: "expiresAt", PK: "result"}, nil},
		"a sort key among the record's":   {schema.Table{Name: "Shop", TTLAttribute: "expiresAt", SK: "createdAt"}, nil},
		"a type among the record's":       {schema.Table{Name: "Shop", TTLAttribute: "expiresAt", TypeAttribute: "attempt"}, nil},
		"an expiry among the record's":    {schema.Table{Name: "Shop", TTLAttribute: "createdAt"}, nil},
		"an index key among the record's": {indexed(schema.Index{Name: "GSI1", PK: "x", SK: "fingerprint"}), nil},
		"a number key among the record's": {indexed(schema.Index{Name: "GSI1", PK: "createdAt", PKType: types.ScalarAttributeTypeN}), nil},
		"a vector among the record's":     {searched("result", schema.Attribute{Name: "tenant"}), nil},
		"a partition among the record's":  {searched("vector", schema.Attribute{Name: "attempt"}), nil},
		"a filter among the record's":     {searched("vector", schema.Attribute{Name: "tenant"}, schema.Attribute{Name: "resultPK"}), nil},
		"a number to filter by time":      {searched("vector", schema.Attribute{}, schema.Attribute{Name: "createdAt", Type: types.ScalarAttributeTypeN}), nil},
		"a negative TTL":                  {spec, &idempotency.Options{TTL: -time.Hour}},
		"a short TTL":                     {spec, &idempotency.Options{TTL: time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := expect.Value(table.New(client, tt.schema, nil))(t)
			_, err := idempotency.New(tbl, tt.options)
			wantErr(t, err, table.ErrInvalid)
			if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "New" {
				t.Errorf("error %#v", err)
			}
		})
	}
	wantErr(t, expect.ErrOf(idempotency.New(nil, nil)), table.ErrInvalid)
}

func indexed(x schema.Index) schema.Table {
	return schema.Table{Name: "Shop", TTLAttribute: "expiresAt", Indexes: []schema.Index{x}}
}

// searched has a vector index.
func searched(attribute string, partition schema.Attribute, filters ...schema.Attribute) schema.Table {
	return schema.Table{Name: "Shop", TTLAttribute: "expiresAt", Vectors: []schema.VectorIndex{
		{Name: "Similar", Attribute: attribute, Dimensions: 3, Partition: partition, Filters: filters},
	}}
}

// The attributes of indexes are not for With, whatever kind the index is of.
func TestAttributesOfVectorIndexes(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	withVectors := searched("vector", schema.Attribute{Name: "tenant"}, schema.Attribute{Name: "color"}, schema.Attribute{Name: "createdAt"})
	tbl := expect.Value(table.New(tabletest.Client(t, faults.Install), withVectors, nil))(t)
	store := newStore(t, tbl, nil)
	for _, name := range []string{"vector", "tenant", "color"} {
		_, err := idempotency.Do(t.Context(), store, request("k"), planned(func() (idempotency.Plan[int], error) {
			return idempotency.Snapshot(1).With(map[string]string{name: "x"}), nil
		}))
		if wantErr(t, err, table.ErrInvalid); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
	expect.Equal(t, "requests", len(faults.Requests()), 0)
}

// The key of an index can be the time at which items were created.
func TestRecordInAnIndex(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.table = tabletest.New(t, indexed(schema.Index{Name: "GSI1", PK: "createdAt"}), &table.Options{Now: s.clock.now})
	s.store = newStore(t, s.table, nil)
	s.stock(t, 1)
	s.first(t, "k")
	page := expect.Value(table.QueryPage[table.Item](t.Context(), s.table, table.Query{Index: "GSI1", PK: "2100-01-15T10:05:00.000Z"}))(t)
	expect.Equal(t, "records", len(page.Items), 1)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	type tag struct{}
	ctx := context.WithValue(t.Context(), tag{}, "mine")
	var events []idempotency.Event
	store := newStore(t, s.table, &idempotency.Options{Observe: func(ctx context.Context, e idempotency.Event) {
		expect.Equal(t, "value of the context", ctx.Value(tag{}), any("mine"))
		events = append(events, e)
	}})
	for _, r := range []idempotency.Request{request("k"), request("k"), otherPayload("k")} {
		_, _ = idempotency.Do(ctx, store, r, s.snapshot("k"))
	}
	s.clock.move(25 * time.Hour)
	expect.OK(t, expect.ErrOf(idempotency.Do(ctx, store, request("k"), s.snapshot("k"))))
	event := func(kind idempotency.EventKind) idempotency.Event {
		return idempotency.Event{Kind: kind, Scope: request("k").Scope, Key: recordKey("k")}
	}
	expect.Equal(t, "events", events, []idempotency.Event{
		event(idempotency.Replayed), event(idempotency.PayloadMismatch), event(idempotency.Replaced),
	})
}

// Keys and scopes name people and must not get into logs by way of errors.
func TestErrorsHoldNeitherKeyNorScope(t *testing.T) {
	t.Parallel()
	const scope, key = "secretscope", "secretkey"
	r := idempotency.Request{Scope: scope, Key: key, Payload: idempotency.JSON(1)}
	other := idempotency.Request{Scope: scope, Key: key, Payload: idempotency.JSON(2)}
	gone := func(s *shop) planner { return s.reference("k") }
	for name, tt := range map[string]struct {
		prepare func(*testing.T, *shop)
		request idempotency.Request
		plan    func(*shop) planner
		want    error
	}{
		"unknown": {
			func(_ *testing.T, s *shop) { s.faults.Always("TransactWriteItems", tabletest.DropRequest()) },
			r, nil, table.ErrOutcomeUnknown,
		},
		"throttled": {
			func(_ *testing.T, s *shop) { s.faults.Always("TransactWriteItems", tabletest.Throttle()) },
			r, nil, table.ErrThrottled,
		},
		"refused":            {func(t *testing.T, s *shop) { s.stock(t, 0) }, r, nil, table.ErrConditionFailed},
		"reused":             {func(t *testing.T, s *shop) { s.mustDo(t, r) }, other, nil, idempotency.ErrPayloadMismatch},
		"too long":           {nil, idempotency.Request{Scope: scope, Key: strings.Repeat(key, 50)}, nil, table.ErrInvalid},
		"key is not UTF-8":   {nil, idempotency.Request{Scope: scope, Key: key + "\xff"}, nil, table.ErrInvalid},
		"scope is not UTF-8": {nil, idempotency.Request{Scope: scope + "\xff", Key: key}, nil, table.ErrInvalid},
		"same item": {nil, r, func(*shop) planner {
			return planned(func() (idempotency.Plan[order], error) {
				return idempotency.Snapshot(order{}, table.Delete(keys.Key{PK: keys.Ide.PK(scope, key), SK: keys.Metadata})), nil
			})
		}, table.ErrInvalid},
		"unreadable": {
			func(t *testing.T, s *shop) {
				s.mustDo(t, r)
				s.faults.Always("TransactWriteItems", changedResponse(poor))
				s.faults.Always("GetItem", tabletest.Throttle())
			}, r, nil, table.ErrOutcomeUnknown,
		},
		"foreign": {
			func(t *testing.T, s *shop) {
				expect.OK(t, s.table.Do(t.Context(), table.Put(keys.Key{PK: keys.Ide.PK(scope, key), SK: keys.Metadata}, nil)))
			}, r, nil, table.ErrInvalid,
		},
		"gone": {
			func(t *testing.T, s *shop) {
				result := expect.Value(idempotency.Do(t.Context(), s.store, r, s.reference("k")))(t)
				expect.OK(t, s.table.Do(t.Context(), table.Delete(orderKey(result.Value.ID))))
			}, r, gone, idempotency.ErrResultGone,
		},
		"never found": {
			func(_ *testing.T, s *shop) {
				s.faults.Always("TransactWriteItems", cancelled(map[int]string{recordIndex: "ConditionalCheckFailed"}))
			}, r, nil, table.ErrConflict,
		},
		"no result": {
			func(t *testing.T, s *shop) {
				s.mustDo(t, r)
				record := expect.Value(s.store.Lookup(t.Context(), r))(t)
				record.Item["result"] = str(key)
				expect.OK(t, s.table.Do(t.Context(), table.Put(keys.Key{PK: keys.Ide.PK(scope, key), SK: keys.Metadata}, record.Item)))
			}, r, nil, errOther,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, once)
			if tt.prepare != nil {
				tt.prepare(t, s)
			}
			plan := s.snapshot("k")
			if tt.plan != nil {
				plan = tt.plan(s)
			}
			_, err := idempotency.Do(t.Context(), s.store, tt.request, plan)
			if wantErr(t, err, tt.want); err == nil {
				return
			}
			for _, text := range []string{err.Error(), fmt.Sprintf("%v %s", err, err)} {
				if strings.Contains(strings.ToLower(text), "secret") {
					t.Errorf("error %q", text)
				}
			}
		})
	}
}

func (s *shop) mustDo(t *testing.T, r idempotency.Request) {
	t.Helper()
	expect.OK(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))))
}
