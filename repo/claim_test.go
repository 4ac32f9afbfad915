package repo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// booking claims the slots of a room.
type booking struct {
	ID        string   `dynamodbav:"bookingId"`
	Room      string   `dynamodbav:"room"`
	Slots     []string `dynamodbav:"slots"`
	Note      string   `dynamodbav:"note,omitempty"`
	Revision  string   `dynamodbav:"revision"`
	ExpiresAt int64    `dynamodbav:"expiresAt,omitempty"`
}

func bookingKey(id string) keys.Key { return keys.Key{PK: keys.PK("BOOKING#" + id), SK: keys.Metadata} }

func slotKey(room, slot string) keys.Key {
	return keys.Key{PK: keys.PK("ROOM#" + room), SK: keys.SK("SLOT#" + slot)}
}

var bookingEntity = repo.Entity[booking]{
	Type:    "BOOKING",
	Key:     func(b booking) keys.Key { return bookingKey(b.ID) },
	Version: "revision",
	Claims: func(b booking) (claims []keys.Key) {
		for _, slot := range b.Slots {
			claims = append(claims, slotKey(b.Room, slot))
		}
		return claims
	},
}

var bookingSchema = schema.Table{Name: "any", TTLAttribute: "expiresAt"}

// rooms is a table with bookings, whose requests are recorded.
type rooms struct {
	*repo.Repo[booking]
	table  *table.Table
	faults *tabletest.Faults
}

func newRooms(t *testing.T) rooms {
	t.Helper()
	faults := &tabletest.Faults{}
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), bookingSchema, nil)
	return rooms{expect.Value(repo.New(tbl, bookingEntity))(t), tbl, faults}
}

// claims returns who owns each slot, and when the claim expires.
func (r rooms) claims(t *testing.T) map[string]string {
	t.Helper()
	owners := map[string]string{}
	for scan := (table.Scan{Consistent: true}); ; {
		page := expect.Value(table.ScanPage[map[string]any](t.Context(), r.table, scan))(t)
		for _, item := range page.Items {
			if item["entityType"] == "BOOKING claim" {
				owner := strings.TrimPrefix(fmt.Sprint(item["ownerPK"]), "BOOKING#")
				if item["expiresAt"] != nil {
					owner += fmt.Sprintf(" until %.0f", item["expiresAt"])
				}
				owners[strings.TrimPrefix(fmt.Sprint(item["sk"]), "SLOT#")] = owner
			}
		}
		if page.Next == "" {
			return owners
		}
		scan.After = page.Next
	}
}

func (r rooms) has(t *testing.T, what string, want map[string]string) {
	t.Helper()
	expect.Equal(t, what, r.claims(t), want)
}

// sent returns the operations that do sends.
func (r rooms) sent(do func()) (operations []string) {
	before := len(r.faults.Requests())
	do()
	for _, request := range r.faults.Requests()[before:] {
		operations = append(operations, request.Operation)
	}
	return operations
}

func TestClaimsComeAndGoWithTheirEntity(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	mine := booking{ID: "a", Room: "1", Slots: []string{"09", "10", "10"}}
	expect.OK(t, r.Create(ctx, &mine))
	r.has(t, "created", map[string]string{"09": "a", "10": "a"})

	// What is taken leaves nothing behind.
	theirs := booking{ID: "b", Room: "1", Slots: []string{"11", "10"}}
	err := r.Create(ctx, &theirs)
	expect.Err(t, err, table.ErrExists)
	if failed, ok := table.FailedOp(err, "BOOKING claim"); !ok || failed.Key != slotKey("1", "10") {
		t.Errorf("the error does not name the claim: %v", err)
	}
	r.has(t, "refused", map[string]string{"09": "a", "10": "a"})
	theirs.Slots = []string{"11"}
	expect.OK(t, r.Create(ctx, &theirs))

	// A change that moves nothing writes one item.
	note := func(b *booking) error { b.Note += "!"; return nil }
	expect.Equal(t, "requests of a note", r.sent(func() { expect.Value(r.Update(ctx, bookingKey("a"), note))(t) }), []string{"GetItem", "UpdateItem"})

	move := func(slots ...string) func(*booking) error {
		return func(b *booking) error { b.Slots = slots; return nil }
	}
	expect.Value(r.Update(ctx, bookingKey("a"), move("10", "12")))(t)
	r.has(t, "moved", map[string]string{"10": "a", "12": "a", "11": "b"})
	_, err = r.Update(ctx, bookingKey("a"), move("10", "11"))
	expect.Err(t, err, table.ErrExists)
	r.has(t, "not moved", map[string]string{"10": "a", "12": "a", "11": "b"})

	expect.OK(t, r.Delete(ctx, bookingKey("b")))
	expect.Value(r.Update(ctx, bookingKey("a"), move("11")))(t)
	r.has(t, "free after a deletion", map[string]string{"11": "a"})
	deleted := expect.Value(r.DeleteAll(ctx, table.Query{PK: bookingKey("a").PK}, nil))(t)
	expect.Equal(t, "deleted", deleted.Items, 1)
	r.has(t, "all deleted", map[string]string{})
}

func TestClaimsExpireWithTheirEntity(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	soon := time.Now().Add(time.Hour).Unix()
	b := booking{ID: "a", Room: "1", Slots: []string{"09"}, ExpiresAt: soon}
	expect.OK(t, r.Create(ctx, &b))
	r.has(t, "created", map[string]string{"09": fmt.Sprintf("a until %d", soon)})
	later := soon + 3600
	b.ExpiresAt = later
	expect.OK(t, r.Save(ctx, &b))
	r.has(t, "put off", map[string]string{"09": fmt.Sprintf("a until %d", later)})
	expect.Value(r.Update(ctx, bookingKey("a"), func(b *booking) error { b.ExpiresAt = 0; return nil }))(t)
	r.has(t, "for good", map[string]string{"09": "a"})

	// What has expired is free, whether DynamoDB has deleted it or not.
	b = booking{ID: "b", Room: "1", Slots: []string{"10"}, ExpiresAt: time.Now().Add(-time.Minute).Unix()}
	expect.OK(t, r.table.Transact(ctx, r.CreateOps(&b)...))
	other := booking{ID: "c", Room: "1", Slots: []string{"10"}}
	expect.OK(t, r.Create(ctx, &other))
	r.has(t, "taken over", map[string]string{"09": "a", "10": "c"})
}

func TestOpsOfClaims(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	run := func(ops []table.Op) error { return r.table.Transact(ctx, ops...) }
	b := booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}
	expect.OK(t, run(r.CreateOps(&b)))
	next := b
	next.Slots = []string{"10", "11"}
	expect.OK(t, run(r.UpdateOps(b, &next)))
	r.has(t, "updated", map[string]string{"10": "a", "11": "a"})
	again := next
	expect.Err(t, run(r.UpdateOps(b, &again)), table.ErrStale)
	expect.Err(t, run(r.PutOps(&next)), table.ErrInvalid)
	expect.Err(t, run(r.DeleteOps(b)), table.ErrStale)
	r.has(t, "stale", map[string]string{"10": "a", "11": "a"})
	expect.OK(t, run(r.DeleteOps(next)))
	r.has(t, "deleted", map[string]string{})

	// 100 items are the most, and the error says what is too much.
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%02d", i))
	}
	err := r.Create(ctx, &booking{ID: "b", Room: "1", Slots: many})
	expect.Err(t, err, table.ErrTooLarge)
	if !strings.Contains(err.Error(), "BOOKING claim") {
		t.Error(err)
	}
	expect.OK(t, r.Create(ctx, &booking{ID: "b", Room: "1", Slots: many[:99]}))
}

// An entity has no more items than one transaction can delete.
func TestClaimsDoNotGrowWithoutBound(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	slots := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("%03d", i))
		}
		return all
	}
	b := booking{ID: "a", Room: "1", Slots: slots(60)}
	expect.OK(t, r.Create(ctx, &b))
	expect.Err(t, expect.ErrOf(r.Update(ctx, bookingKey("a"), func(b *booking) error { b.Slots = slots(100); return nil })), table.ErrTooLarge)
	more := b
	more.Slots = slots(100)
	expect.Err(t, r.Save(ctx, &more), table.ErrTooLarge)
	more = b
	more.Slots = slots(100)
	expect.Err(t, r.table.Transact(ctx, r.UpdateOps(b, &more)...), table.ErrTooLarge)
	expect.Value(r.Update(ctx, bookingKey("a"), func(b *booking) error { b.Slots = slots(99); return nil }))(t)
	expect.OK(t, r.Delete(ctx, bookingKey("a")))
	r.has(t, "deleted", map[string]string{})
}

// A copy that is left out takes the room of no claim.
func TestClaimsBesideACopyThatIsLeftOut(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	e := bookingEntity
	e.Copies = []repo.Copy[booking]{{Key: func(b booking) keys.Key {
		if b.Note == "" {
			return keys.Key{}
		}
		return keys.Key{PK: keys.PK("NOTE#" + b.Note), SK: keys.Metadata}
	}}}
	noted := newRepo(t, r.table, e)
	b := booking{ID: "a", Room: "1"}
	for i := range 99 {
		b.Slots = append(b.Slots, fmt.Sprintf("%02d", i))
	}
	expect.OK(t, noted.Create(ctx, &b))
	update := func(change func(*booking)) error {
		return expect.ErrOf(noted.Update(ctx, bookingKey("a"), func(b *booking) error { change(b); return nil }))
	}
	expect.OK(t, update(func(b *booking) { b.Slots[98] = "other" }))
	expect.Err(t, update(func(b *booking) { b.Note = "window" }), table.ErrTooLarge)
	expect.OK(t, update(func(b *booking) { b.Note, b.Slots = "window", b.Slots[1:] }))
	b = expect.Value(noted.Get(ctx, bookingKey("a")))(t)
	more := b
	more.ID = "b"
	more.Slots, more.Note, more.Revision = append(slices.Clone(b.Slots), "99"), "door", ""
	expect.Err(t, noted.Create(ctx, &more), table.ErrTooLarge)
	changed := b
	changed.Slots = append(slices.Clone(b.Slots[1:]), "50a")
	expect.OK(t, r.table.Transact(ctx, noted.UpdateOps(b, &changed)...))
	expect.OK(t, noted.Delete(ctx, bookingKey("a")))
	r.has(t, "deleted", map[string]string{})
}

// An upgrade gives the slots other names: the first write claims them.
func TestAnUpgradeThatChangesClaims(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	expect.OK(t, r.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"9"}}))
	dated := bookingEntity
	dated.Upgrades = []repo.Upgrade{repo.Convert("slots", "slots", func(slots []string) ([]string, error) {
		for i := range slots {
			slots[i] = "2030-" + slots[i]
		}
		return slots, nil
	})}
	newer := expect.Value(repo.New(r.table, dated))(t)
	expect.Value(newer.Update(ctx, bookingKey("a"), func(b *booking) error { b.Note = "n"; return nil }))(t)
	expect.Err(t, newer.Create(ctx, &booking{ID: "b", Room: "1", Slots: []string{"2030-9"}}), table.ErrExists)
	expect.Equal(t, "the claim of the former name goes", expect.Value(newer.Refresh(ctx, slotKey("1", "9")))(t), true)
	r.has(t, "claims", map[string]string{"2030-9": "a"})
}

// A field that says the format of the key moves a main item, and back, with its claims and
// what T does not know. So do entities move that can have no copies.
func TestMainKeysMoveByAField(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	type moving struct {
		booking
		Format int `dynamodbav:"format,omitempty"`
	}
	movedKey := keys.Key{PK: "NEW#a", SK: keys.Metadata}
	moved := newRepo(t, r.table, repo.Entity[moving]{
		Type: bookingEntity.Type, Version: bookingEntity.Version,
		Key: func(m moving) keys.Key {
			if m.Format == 0 {
				return bookingEntity.Key(m.booking)
			}
			return keys.Key{PK: keys.PK("NEW#" + m.ID), SK: keys.Metadata}
		},
		Claims: func(m moving) []keys.Key { return bookingEntity.Claims(m.booking) },
	})
	move := func(from keys.Key, format int) error {
		return expect.ErrOf(moved.Update(ctx, from, func(m *moving) error { m.Format = format; return nil }))
	}
	expect.OK(t, r.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}))
	expect.OK(t, r.table.Do(ctx, table.Patch(bookingKey("a"), table.Item{"unknown": number(1)})))
	for _, way := range []struct {
		from, to keys.Key
		format   int
		owner    string
	}{{bookingKey("a"), movedKey, 1, "NEW#a"}, {movedKey, bookingKey("a"), 0, "a"}, {bookingKey("a"), movedKey, 1, "NEW#a"}} {
		// A key that is taken moves nothing.
		expect.OK(t, r.table.Do(ctx, table.Put(way.to, map[string]any{"entityType": "OTHER"})))
		expect.Err(t, move(way.from, way.format), table.ErrExists)
		expect.OK(t, r.table.Do(ctx, table.Delete(way.to)))

		expect.OK(t, move(way.from, way.format))
		expect.Err(t, expect.ErrOf(moved.Get(ctx, way.from)), table.ErrNotFound)
		expect.Equal(t, "unknown", reflect.DeepEqual(storedItem(t, r.table, way.to)["unknown"], number(1)), true)
		r.has(t, "claims", map[string]string{"09": way.owner, "10": way.owner})
		expect.Equal(t, "by claim", expect.Value(moved.GetByClaim(ctx, slotKey("1", "09")))(t).Format, way.format)
		expect.Equal(t, "refreshed", expect.Value(moved.Refresh(ctx, way.to))(t), false)
	}
	// A release that does not know the field changes nothing that has moved.
	expect.Err(t, expect.ErrOf(r.Update(ctx, movedKey, func(b *booking) error { b.Slots = nil; return nil })), repo.ErrOrphan)
	expect.Err(t, expect.ErrOf(r.Refresh(ctx, movedKey)), repo.ErrOrphan)
	expect.OK(t, moved.Delete(ctx, movedKey))
	r.has(t, "deleted", map[string]string{})
	expect.Equal(t, "items left", itemsLeft(t, r.table), 0)
}

// A key is not an item and a claim of one entity, and does not pass from one to the other.
func TestAClaimIsNoItemOfItsEntity(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	copied := bookingEntity
	copied.Copies = []repo.Copy[booking]{{Name: "by note", Key: func(b booking) keys.Key {
		if b.Note == "" {
			return keys.Key{}
		}
		return slotKey(b.Room, b.Note)
	}}}
	copies := expect.Value(repo.New(r.table, copied))(t)
	expect.OK(t, copies.Create(ctx, &booking{ID: "a", Room: "1", Note: "09"}))
	swap := func(b *booking) error { b.Note, b.Slots = "", []string{"09"}; return nil }
	expect.Err(t, expect.ErrOf(copies.Update(ctx, bookingKey("a"), swap)), table.ErrInvalid)
	expect.Value(copies.Update(ctx, bookingKey("a"), func(b *booking) error { b.Note = ""; return nil }))(t)
	expect.Value(copies.Update(ctx, bookingKey("a"), swap))(t)
	r.has(t, "one after the other", map[string]string{"09": "a"})
}

func TestGetByClaim(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	b := booking{ID: "a", Room: "1", Slots: []string{"09"}}
	expect.OK(t, r.Create(ctx, &b))
	expect.Equal(t, "by claim", expect.Value(r.GetByClaim(ctx, slotKey("1", "09")))(t), b)
	_, err := r.GetByClaim(ctx, slotKey("1", "10"))
	expect.Err(t, err, table.ErrNotFound)
	_, err = r.GetByClaim(ctx, bookingKey("a"))
	expect.Err(t, err, table.ErrWrongType)
	_, err = r.Get(ctx, slotKey("1", "09"))
	expect.Err(t, err, table.ErrWrongType)
	// An older program has moved on without the claim.
	expect.OK(t, r.table.Do(ctx, table.Patch(bookingKey("a"), table.Item{}, "slots")))
	_, err = r.GetByClaim(ctx, slotKey("1", "09"))
	expect.Err(t, err, repo.ErrOrphan)
}

// A program of a release without claims works on the same entities.
func TestRefreshRepairsClaims(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	without := bookingEntity
	without.Claims = nil
	older := expect.Value(repo.New(r.table, without))(t)

	expect.OK(t, older.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}))
	// What it has not claimed is found missing by the first change of it.
	expect.Value(r.Update(ctx, bookingKey("a"), func(b *booking) error { b.Slots = []string{"10", "11"}; return nil }))(t)
	r.has(t, "a change", map[string]string{"11": "a"})
	expect.Equal(t, "changed", expect.Value(r.Refresh(ctx, bookingKey("a")))(t), true)
	r.has(t, "refreshed", map[string]string{"10": "a", "11": "a"})
	expect.Equal(t, "changed", expect.Value(r.Refresh(ctx, bookingKey("a")))(t), false)
	expect.Equal(t, "changed, by the claim", expect.Value(r.Refresh(ctx, slotKey("1", "10")))(t), false)

	// It gives up a slot, and deletes, without the claims.
	expect.Value(older.Update(ctx, bookingKey("a"), func(b *booking) error { b.Slots = []string{"11"}; return nil }))(t)
	expect.Equal(t, "changed, by the claim", expect.Value(r.Refresh(ctx, slotKey("1", "10")))(t), true)
	r.has(t, "given up", map[string]string{"11": "a"})
	expect.OK(t, older.Delete(ctx, bookingKey("a")))
	expect.Err(t, r.Create(ctx, &booking{ID: "b", Room: "1", Slots: []string{"11"}}), table.ErrExists)
	expect.Equal(t, "changed, by the claim", expect.Value(r.Refresh(ctx, slotKey("1", "11")))(t), true)
	expect.OK(t, r.Create(ctx, &booking{ID: "b", Room: "1", Slots: []string{"11"}}))

	// It double-books: the second one keeps nothing of the first.
	expect.OK(t, older.Create(ctx, &booking{ID: "c", Room: "1", Slots: []string{"11", "12"}}))
	_, err := r.Refresh(ctx, bookingKey("c"))
	expect.Err(t, err, table.ErrExists)
	expect.OK(t, r.Delete(ctx, bookingKey("c")))
	r.has(t, "the other's", map[string]string{"11": "b"})
}

func TestRefreshItemsHasClaims(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	b := booking{ID: "a", Room: "1", Slots: []string{"09"}}
	expect.OK(t, r.Create(t.Context(), &b))
	read := func(key keys.Key) table.Item {
		return expect.Value(table.Get[table.Item](t.Context(), r.table, key))(t)
	}
	main, claim := read(bookingKey("a")), read(slotKey("1", "09"))
	items := expect.Value(r.RefreshItems(main))(t)
	if !reflect.DeepEqual(items, []table.Item{main, claim}) {
		t.Errorf("items: %v, want %v", items, []table.Item{main, claim})
	}
	expect.Equal(t, "items of a claim", len(expect.Value(r.RefreshItems(claim))(t)), 0)
}

func TestAnEntityMayBeUnableToHaveClaims(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, bookingSchema, nil)
	without := bookingEntity
	without.Version = ""
	_, err := repo.New(tbl, without)
	expect.Err(t, err, table.ErrInvalid)
	named := tabletest.New(t, schema.Table{Name: "any", TTLAttribute: "expiresAt", Indexes: []schema.Index{{Name: "GSI1", PK: "ownerPK"}}}, nil)
	_, err = repo.New(named, bookingEntity)
	expect.Err(t, err, table.ErrInvalid)
	r := newRooms(t)
	_, err = r.Upsert(t.Context(), booking{ID: "a"}, repo.Patch{Set: map[string]any{"note": "x"}})
	expect.Err(t, err, table.ErrInvalid)
}

// Collections pass over the claims of their members.
func TestCollectPassesOverClaims(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	// The bookings of a room are in the room's partition, next to the claims.
	inRoom := bookingEntity
	inRoom.Key = func(b booking) keys.Key {
		return keys.Key{PK: keys.PK("ROOM#" + b.Room), SK: keys.SK("BOOKING#" + b.ID)}
	}
	bookings := expect.Value(repo.New(r.table, inRoom))(t)
	expect.OK(t, bookings.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}))
	var found []booking
	expect.OK(t, repo.Collect(ctx, r.table, table.Query{PK: "ROOM#1"}, bookings.AppendTo(&found)))
	expect.Equal(t, "bookings", len(found), 1)
}

// A copy that becomes the main item takes the claims over. Until a write does so, either item
// is the owner, and each release knows it as the booking's own.
func TestClaimsOfACopyThatBecomesTheMainItem(t *testing.T) {
	t.Parallel()
	newKey := func(b booking) keys.Key { return keys.Key{PK: keys.PK("NEW#" + b.ID), SK: keys.Metadata} }
	before, after, last := bookingEntity, bookingEntity, bookingEntity
	before.Copies = []repo.Copy[booking]{{Key: newKey}}
	after.Key, after.Copies = newKey, []repo.Copy[booking]{{Key: bookingEntity.Key}}
	last.Key, last.FormerCopies = newKey, []func(booking) keys.Key{bookingEntity.Key}
	give := func(r *repo.Repo[booking], slots ...string) error {
		return expect.ErrOf(r.Update(t.Context(), bookingKey("a"), func(b *booking) error { b.Slots, b.ExpiresAt = slots, 0; return nil }))
	}
	for name, tt := range map[string]struct {
		do   func(r *repo.Repo[booking]) error
		want map[string]string
	}{
		"Update that gives a claim up": {func(r *repo.Repo[booking]) error { return give(r, "09") }, map[string]string{"09": "a"}},
		"Update that takes it back": {func(r *repo.Repo[booking]) error {
			return errors.Join(give(r, "09"), give(r, "09", "10"))
		}, map[string]string{"09": "a", "10": "NEW#a"}},
		"Update of the expiry": {func(r *repo.Repo[booking]) error {
			return expect.ErrOf(r.Update(t.Context(), bookingKey("a"), func(b *booking) error { b.ExpiresAt = 9999999999; return nil }))
		}, map[string]string{"09": "NEW#a until 9999999999", "10": "NEW#a until 9999999999"}},
		"Refresh": {func(r *repo.Repo[booking]) error {
			return expect.ErrOf(r.Refresh(t.Context(), newKey(booking{ID: "a"})))
		}, map[string]string{"09": "NEW#a", "10": "NEW#a"}},
		"Refresh of a claim": {func(r *repo.Repo[booking]) error {
			return expect.ErrOf(r.Refresh(t.Context(), slotKey("1", "09")))
		}, map[string]string{"09": "NEW#a", "10": "NEW#a"}},
		"GetByClaim": {func(r *repo.Repo[booking]) error {
			return expect.ErrOf(r.GetByClaim(t.Context(), slotKey("1", "09")))
		}, map[string]string{"09": "a", "10": "a"}},
		"Delete": {func(r *repo.Repo[booking]) error { return r.Delete(t.Context(), bookingKey("a")) }, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRooms(t)
			ctx := t.Context()
			first, moved := newRepo(t, r.table, before), newRepo(t, r.table, after)
			expect.OK(t, first.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}))
			expect.OK(t, r.Create(ctx, &booking{ID: "b", Room: "1", Slots: []string{"11"}}))
			expect.Err(t, expect.ErrOf(moved.Update(ctx, bookingKey("a"), func(b *booking) error { b.Slots = append(b.Slots, "11"); return nil })), table.ErrExists)
			expect.OK(t, r.Delete(ctx, bookingKey("b")))
			expect.OK(t, tt.do(moved))
			r.has(t, name, tt.want)
			// The releases before and after it go on.
			if name != "Delete" {
				expect.OK(t, give(first, "12"))
				expect.Value(moved.Refresh(ctx, newKey(booking{ID: "a"})))(t)
				newest := newRepo(t, r.table, last)
				expect.Value(newest.Refresh(ctx, bookingKey("a")))(t)
				r.has(t, "in the end", map[string]string{"12": "NEW#a"})
				expect.Value(newest.GetByClaim(ctx, slotKey("1", "12")))(t)
				expect.OK(t, newest.Delete(ctx, newKey(booking{ID: "a"})))
			}
			r.has(t, "after Delete", map[string]string{})
		})
	}
}

// A copy can own claims, for a release in which it is the main item. If the copy moves, the
// claims go to an item that stays.
func TestClaimsOfACopyThatMoves(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	byNote := func(b booking) keys.Key { return keys.Key{PK: keys.PK("NOTE#" + b.Note), SK: keys.Metadata} }
	before, after, last := bookingEntity, bookingEntity, bookingEntity
	before.Copies = []repo.Copy[booking]{{Key: byNote}}
	after.Key, after.Copies = byNote, []repo.Copy[booking]{{Key: bookingEntity.Key}}
	last.FormerCopies = []func(booking) keys.Key{byNote}
	for name, writer := range map[string]*repo.Repo[booking]{"copy": newRepo(t, r.table, before), "former copy": newRepo(t, r.table, last)} {
		moved := newRepo(t, r.table, after)
		created := booking{ID: "a", Room: "1", Slots: []string{"09"}, Note: "old"}
		expect.OK(t, moved.Create(ctx, &created))
		r.has(t, name+": owner", map[string]string{"09": "NOTE#old"})
		expect.Value(writer.Update(ctx, bookingKey("a"), func(b *booking) error { b.Note = "new"; return nil }))(t)
		r.has(t, name+": owner after the move", map[string]string{"09": "a"})
		expect.OK(t, writer.Delete(ctx, bookingKey("a")))
		r.has(t, name+": after Delete", map[string]string{})
		expect.Equal(t, name+": items left", itemsLeft(t, r.table), 0)
	}
}

// An entity whose main item was the one under the key of a former copy is deleted with its
// claims, which that owns, by either key.
func TestClaimsOfAFormerCopyAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	newKey := func(b booking) keys.Key { return keys.Key{PK: keys.PK("NEW#" + b.ID), SK: keys.Metadata} }
	before, last := bookingEntity, bookingEntity
	before.Copies = []repo.Copy[booking]{{Key: newKey}}
	last.Key, last.FormerCopies = newKey, []func(booking) keys.Key{bookingEntity.Key}
	first, newest := newRepo(t, r.table, before), newRepo(t, r.table, last)
	for name, remove := range map[string]func() error{
		"Delete": func() error { return newest.Delete(ctx, newKey(booking{ID: "a"})) },
		"DeleteAll": func() error {
			return expect.ErrOf(newest.DeleteAll(ctx, table.Query{PK: bookingKey("a").PK}, nil))
		},
	} {
		expect.OK(t, first.Create(ctx, &booking{ID: "a", Room: "1", Slots: []string{"09", "10"}}))
		expect.OK(t, remove())
		r.has(t, name, map[string]string{})
		expect.Equal(t, name+": items left", itemsLeft(t, r.table), 0)
	}
}

// Random changes of bookings keep claims and bookings equal.
func TestClaimsAreThoseOfTheirEntities(t *testing.T) {
	t.Parallel()
	r := newRooms(t)
	ctx := t.Context()
	ids := []string{"a", "b", "c", "d"}
	errs := make(chan error, len(ids))
	for _, id := range ids {
		go func() { errs <- r.churn(ctx, id) }()
	}
	for range ids {
		expect.OK(t, <-errs)
	}
	want := map[string]string{}
	for _, id := range ids {
		b, err := r.Consistent().Get(ctx, bookingKey(id))
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		expect.OK(t, err)
		for _, slot := range b.Slots {
			if owner, twice := want[slot]; twice {
				t.Errorf("%s is booked by %s and %s", slot, owner, id)
			}
			want[slot] = id
		}
	}
	r.has(t, "claims", want)
	if len(slices.Collect(maps.Keys(want))) == 0 {
		t.Error("nothing is booked")
	}
}

// churn books, moves and deletes for a while.
func (r rooms) churn(ctx context.Context, id string) error {
	for i := range 30 {
		slots := []string{fmt.Sprint((i * 7) % 5), fmt.Sprint((i*3 + int(id[0])) % 7)}
		var err error
		switch i % 6 {
		case 5:
			err = r.Delete(ctx, bookingKey(id))
		default:
			b := booking{ID: id, Room: "1", Slots: slots}
			if err = r.Create(ctx, &b); errors.Is(err, table.ErrExists) {
				_, err = r.Update(ctx, bookingKey(id), func(b *booking) error { b.Slots = slots; return nil })
			}
		}
		if err != nil && !errors.Is(err, table.ErrExists) && !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrConflict) {
			return fmt.Errorf("%s, step %d: %w", id, i, err)
		}
	}
	// Whatever happened before, it ends with a booking if one is free.
	b := booking{ID: id, Room: "1", Slots: []string{"last-" + id}}
	if err := r.Delete(ctx, bookingKey(id)); err != nil {
		return err
	}
	return r.Create(ctx, &b)
}
