package repo_test

import (
	"context"
	"errors"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A device has readings, in a table whose programs store no types.
type (
	device struct {
		ID   string `dynamodbav:"id"`
		Name string `dynamodbav:"name"`
	}
	reading struct {
		Device string  `dynamodbav:"device"`
		At     string  `dynamodbav:"at"`
		Value  float64 `dynamodbav:"value"`
		Unit   string  `dynamodbav:"unit,omitempty"`
	}
)

var typeless = schema.Table{
	Kinds: []schema.Kind{
		{Type: "DEVICE", PK: "DEVICE#", SK: "META", Equal: map[string]string{"schema": "device"}},
		{Type: "READING", PK: "DEVICE#", SK: "READING#", Exists: []string{"value"}},
	},
	Indexes: []schema.Index{{Name: "unit", PK: "unit", SK: "at"}},
}

// vanishing is a reading that can lose what its kind needs.
type vanishing struct {
	Device string  `dynamodbav:"device"`
	At     string  `dynamodbav:"at"`
	Value  float64 `dynamodbav:"value,omitempty"`
}

func deviceKey(id string) keys.Key { return keys.Key{PK: keys.PK("DEVICE#" + id), SK: "META"} }

func readingKey(r reading) keys.Key {
	return keys.Key{PK: deviceKey(r.Device).PK, SK: keys.SK("READING#" + r.At)}
}

// Items without a type attribute are of the type that their keys and attributes say, in each
// read, write and job.
func TestKinds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var recorder streamtest.Recorder
	tbl := tabletest.NewWith(t, tabletest.Client(t, recorder.Install), typeless, nil)
	devices := expect.Value(repo.New(tbl, repo.Entity[device]{
		Type: "DEVICE", Key: func(d device) keys.Key { return deviceKey(d.ID) }, Shared: &repo.Shared[device]{},
	}))(t)
	readings := expect.Value(repo.New(tbl, repo.Entity[reading]{Type: "READING", Key: readingKey, Shared: &repo.Shared[reading]{}}))(t)
	first := reading{Device: "1", At: "08:00", Value: 20, Unit: "C"}
	var handled []string
	router := expect.Value(stream.New(tbl, nil,
		stream.On(devices, func(_ context.Context, c stream.Change[device]) error {
			handled = append(handled, "device")
			return nil
		}),
		stream.On(readings, func(_ context.Context, c stream.Change[reading]) error {
			handled = append(handled, "reading")
			return nil
		})))(t)
	event := expect.Value(recorder.Event(tbl, func() error {
		return errors.Join(devices.Create(ctx, &device{ID: "1", Name: "hall"}), readings.Create(ctx, &first))
	}))(t)
	expect.OK(t, expect.Value(router.Handle(ctx, event))(t).Err)
	expect.Equal(t, "handled", handled, []string{"device", "reading"})
	expect.Equal(t, "filter", string(router.EventFilter()), `{"Filters":[]}`)

	stored := expect.Value(table.Get[table.Item](ctx, tbl, deviceKey("1")))(t)
	expect.Equal(t, "no type is stored", stored["entityType"], nil)
	expect.Equal(t, "device", expect.Value(devices.Get(ctx, deviceKey("1")))(t), device{"1", "hall"})
	all := table.Query{PK: deviceKey("1").PK}
	of := table.Query{PK: all.PK, Range: keys.Range{Prefix: "READING#"}}
	expect.Equal(t, "readings", expect.Value(readings.Query(ctx, of))(t).Items, []reading{first})
	expect.Equal(t, "of an index", expect.Value(readings.Query(ctx, table.Query{Index: "unit", PK: "C"}))(t).Items, []reading{first})
	expect.Equal(t, "count", expect.Value(readings.Count(ctx, of))(t).Items, 1)
	expect.Equal(t, "count of an index", expect.Value(readings.Count(ctx, table.Query{Index: "unit", PK: "C"}))(t).Items, 1)
	expect.Err(t, expect.ErrOf(readings.Count(ctx, all)), table.ErrInvalid)
	var ds []device
	var rs []reading
	expect.OK(t, repo.Collect(ctx, tbl, all, devices.AppendTo(&ds), readings.AppendTo(&rs)))
	expect.Equal(t, "collected", [2]int{len(ds), len(rs)}, [2]int{1, 1})

	// What is of another kind, or of none, is not written, and not read.
	expect.OK(t, tbl.Do(ctx, table.Put(keys.Key{PK: all.PK, SK: "READING#09:00"}, map[string]string{"device": "1", "at": "09:00", "unit": "C"})))
	broken := keys.Key{PK: all.PK, SK: "READING#09:00"}
	for name, err := range map[string]error{
		"Get":       expect.ErrOf(readings.Get(ctx, broken)),
		"another":   expect.ErrOf(devices.Get(ctx, readingKey(first))),
		"Query":     expect.ErrOf(readings.Query(ctx, of)),
		"Update":    expect.ErrOf(readings.Update(ctx, broken, func(r *reading) error { r.Unit = "F"; return nil })),
		"Delete":    readings.Delete(ctx, broken),
		"DeleteAll": expect.ErrOf(readings.DeleteAll(ctx, table.Query{PK: all.PK, Range: keys.Exactly("READING#09:00")}, nil)),
		"Refresh":   expect.ErrOf(readings.Refresh(ctx, broken)),
		"Collect":   repo.Collect(ctx, tbl, all, devices.AppendTo(&ds), readings.AppendTo(&rs)),
	} {
		if !errors.Is(err, table.ErrWrongType) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Equal(t, "count of what is not broken", expect.Value(readings.Count(ctx, of))(t).Items, 1)
	expect.Err(t, devices.Create(ctx, &device{ID: "1"}), table.ErrExists)
	expect.OK(t, tbl.Do(ctx, table.Delete(broken)))

	// No change of ours takes an item out of its kind, and nothing of another type is stored among
	// those of a kind.
	gone := expect.Value(repo.New(tbl, repo.Entity[vanishing]{
		Type: "READING", Key: func(v vanishing) keys.Key { return readingKey(reading{Device: v.Device, At: v.At}) }, Shared: &repo.Shared[vanishing]{},
	}))(t)
	expect.Err(t, expect.ErrOf(gone.Update(ctx, readingKey(first), func(v *vanishing) error { v.Value = 0; return nil })), table.ErrInvalid)
	typed := expect.Value(repo.New(tbl, repo.Entity[vanishing]{Type: "NOTE", Key: func(v vanishing) keys.Key { return keys.Key{PK: "DEVICE#9", SK: "META"} }}))(t)
	if err := typed.Create(ctx, &vanishing{}); err != nil {
		t.Error(err) // it is of no kind, without the attributes of one
	}
	expect.OK(t, tbl.Do(ctx, table.Put(keys.Key{PK: "X", SK: "Y"}, map[string]string{"entityType": "READING"})))
	expect.Err(t, expect.ErrOf(readings.Get(ctx, keys.Key{PK: "X", SK: "Y"})), table.ErrWrongType)

	// A write expects the kind still.
	runs := 0
	_, err := readings.Update(ctx, readingKey(first), func(r *reading) error {
		if runs++; runs == 1 {
			if err := tbl.Do(ctx, table.Patch(readingKey(first), nil, "value")); err != nil {
				return err
			}
		}
		r.Value++
		return nil
	})
	expect.Err(t, err, table.ErrWrongType)
	other := expect.Value(repo.New(tbl, repo.Entity[reading]{
		Type: "READING", Key: func(r reading) keys.Key { return keys.Key{PK: "ROOM#1", SK: keys.SK("READING#" + r.At)} }, Shared: &repo.Shared[reading]{},
	}))(t)
	expect.Err(t, other.Create(ctx, &first), table.ErrInvalid)
	_, err = repo.New(tbl, repo.Entity[reading]{Type: "READING", Key: readingKey})
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "deleted", expect.Value(devices.DeleteAll(ctx, table.Query{PK: all.PK, Range: keys.Exactly("META")}, nil))(t).Items, 1)
}

// What items of a kind have in the type attribute of others is theirs, as the type that Auth.js
// gives an account.
func TestKindsHaveTheTypeAttribute(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	type account struct {
		ID       string `dynamodbav:"id"`
		Provider string `dynamodbav:"type"`
	}
	spec := schema.Table{TypeAttribute: "type", Kinds: []schema.Kind{{Type: "account", PK: "ACCOUNT#"}}}
	key := func(a account) keys.Key { return keys.Key{PK: keys.PK("ACCOUNT#" + a.ID), SK: "META"} }
	accounts := expect.Value(repo.New(tabletest.New(t, spec, nil), repo.Entity[account]{Type: "account", Key: key, Shared: &repo.Shared[account]{}}))(t)
	a := account{"1", "oauth"}
	expect.OK(t, accounts.Create(ctx, &a))
	expect.Equal(t, "created", expect.Value(accounts.Get(ctx, key(a)))(t), a)
	expect.OK(t, expect.ErrOf(accounts.Update(ctx, key(a), func(a *account) error { a.Provider = "oidc"; return nil })))
	expect.Equal(t, "updated", expect.Value(accounts.Get(ctx, key(a)))(t), account{"1", "oidc"})
	a.Provider = "email"
	expect.OK(t, accounts.Save(ctx, &a))
	expect.Equal(t, "saved", expect.Value(accounts.Get(ctx, key(a)))(t), a)
}

// The constants of an entity add to those of its kind, which may have none.
func TestConstantsOfAKind(t *testing.T) {
	t.Parallel()
	type user struct {
		ID string `dynamodbav:"id"`
	}
	key := func(u user) keys.Key { return keys.Key{PK: keys.PK("USER#" + u.ID), SK: "META"} }
	for _, equal := range []map[string]string{nil, {"form": "2"}} {
		tbl := tabletest.New(t, schema.Table{Kinds: []schema.Kind{{Type: "user", PK: "USER#", Equal: equal}}}, nil)
		users := expect.Value(repo.New(tbl, repo.Entity[user]{Type: "user", Key: key, Shared: &repo.Shared[user]{Constants: map[string]string{"type": "USER"}}}))(t)
		expect.OK(t, users.Create(t.Context(), &user{"1"}))
		stored := expect.Value(table.Get[map[string]string](t.Context(), tbl, key(user{"1"})))(t)
		expect.Equal(t, "constants", []string{stored["type"], stored["form"]}, []string{"USER", equal["form"]})
	}
}
