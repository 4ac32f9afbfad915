package repo_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// releasedItems are items that 0.1.0-rc.1 has stored of the entities that package released
// describes. Its own program has written the file, on the local engine: in the folder suites,
// go test ./releases -run TestGoldenItems -args -update builds it and runs it again.
func releasedItems(t *testing.T) (all []table.Item) {
	t.Helper()
	var texts []json.RawMessage
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/items-0.1.0-rc.1.json"))(t), &texts))
	for _, text := range texts {
		all = append(all, item.RawJSON(text).Attributes(nil))
	}
	return all
}

// releasedTable returns a table that has those of the items that a predicate admits.
func releasedTable(t *testing.T, spec string, has func(table.Item) bool) *table.Table {
	t.Helper()
	var s schema.Table
	expect.OK(t, json.Unmarshal([]byte(spec), &s))
	tbl := tabletest.New(t, s, nil)
	for _, it := range releasedItems(t) {
		if has(it) {
			expect.Value(tabletest.Client(t).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(tbl.Schema().Name), Item: it}))(t)
		}
	}
	return tbl
}

func textOf(it table.Item, attribute string) string { return item.Text(it[attribute]) }

func ofType(types ...string) func(table.Item) bool {
	return func(it table.Item) bool {
		return slices.Contains(types, strings.TrimSuffix(textOf(it, "entityType"), " claim"))
	}
}

// storedLines returns what a table holds, a line an item. A revision that 0.1.0-rc.1 has not
// written, and that all items of an entity share, is "next".
func storedLines(t *testing.T, tbl *table.Table) string {
	t.Helper()
	before, after := map[string]string{}, map[string]string{}
	for _, it := range releasedItems(t) {
		before[textOf(it, "id")] = textOf(it, "revision")
	}
	out := expect.Value(tabletest.Client(t).Scan(t.Context(), &dynamodb.ScanInput{TableName: new(tbl.Schema().Name), ConsistentRead: new(true)}))(t)
	var items []table.Item
	for _, it := range out.Items {
		id, revision := textOf(it, "id"), textOf(it, "revision")
		if after[id] == "" && revision != before[id] {
			after[id] = revision
		}
		for _, name := range []string{"revision", "entityShapeAt"} {
			if text := textOf(it, name); text != "" && text == after[id] {
				it[name] = &types.AttributeValueMemberS{Value: "next"}
			}
		}
		items = append(items, it)
	}
	return itemLines(items)
}

func itemLines(items []table.Item) string {
	lines := make([]string, len(items))
	for i, it := range items {
		lines[i] = string(item.JSON(it))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// storedAs returns the items of an entity as they are to be stored, with the present shape.
func storedAs(t *testing.T, of string, v released.Boxed) (items []table.Item) {
	t.Helper()
	stored := expect.Value(attributevalue.MarshalMap(v))(t)
	switch of {
	case released.Grown, released.Shaped:
		stored["entityShape"], stored["entityShapeFrom"], stored["entityShapeAt"] = number(1), number(0), stored["revision"]
	case released.Sealed:
		stored["entityShape"] = number(1)
	}
	add := func(from table.Item, typ string, key keys.Key, more map[string]string) {
		it := maps.Clone(from)
		maps.Copy(more, map[string]string{"entityType": typ, "pk": string(key.PK), "sk": string(key.SK)})
		for name, text := range more {
			it[name] = &types.AttributeValueMemberS{Value: text}
		}
		items = append(items, it)
	}
	if of == released.Plain || of == released.Tally || of == released.Grown {
		add(stored, of, released.Key(of, v.ID), map[string]string{})
		return items
	}
	owner := released.Key(of, v.ID)
	add(stored, of, owner, map[string]string{"gsi1pk": "LIST#" + of, "gsi1sk": v.ID})
	add(stored, of, released.EmailKey(of, v.Email), map[string]string{"gsi2pk": "EMAILS#" + of, "gsi2sk": v.ID})
	for _, alias := range v.Aliases {
		add(table.Item{"expiresAt": stored["expiresAt"]}, of+" claim", released.AliasKey(of, alias),
			map[string]string{"ownerPK": string(owner.PK), "ownerSK": string(owner.SK)})
	}
	return items
}

// releasedWrites are the writes of an entity under a key, by which it changes as change does.
func releasedWrites[T any](tbl *table.Table, r *repo.Repo[T]) map[string]func(ctx context.Context, key keys.Key, change func(*T)) error {
	changed := func(write func(ctx context.Context, old T, v *T) error) func(context.Context, keys.Key, func(*T)) error {
		return func(ctx context.Context, key keys.Key, change func(*T)) error {
			old, err := r.Get(ctx, key)
			if err != nil {
				return err
			}
			v := old
			change(&v)
			return write(ctx, old, &v)
		}
	}
	two := repo.Patch{Set: map[string]any{"n": 2}}
	return map[string]func(context.Context, keys.Key, func(*T)) error{
		"Update": func(ctx context.Context, key keys.Key, change func(*T)) error {
			return expect.ErrOf(r.Update(ctx, key, func(v *T) error { change(v); return nil }))
		},
		"Save":        changed(func(ctx context.Context, _ T, v *T) error { return r.Save(ctx, v) }),
		"TransactPut": changed(func(ctx context.Context, _ T, v *T) error { return r.TransactPut(ctx, v) }),
		"UpdateOps":   changed(func(ctx context.Context, old T, v *T) error { return tbl.Transact(ctx, r.UpdateOps(old, v)...) }),
		"Patch":       func(ctx context.Context, key keys.Key, _ func(*T)) error { return expect.ErrOf(r.Patch(ctx, key, two)) },
		"PatchOps": func(ctx context.Context, key keys.Key, _ func(*T)) error {
			return tbl.Transact(ctx, r.PatchOps(key, two)...)
		},
		"Upsert":    changed(func(ctx context.Context, old T, _ *T) error { return expect.ErrOf(r.Upsert(ctx, old, two)) }),
		"Refresh":   func(ctx context.Context, key keys.Key, _ func(*T)) error { return expect.ErrOf(r.Refresh(ctx, key)) },
		"Delete":    func(ctx context.Context, key keys.Key, _ func(*T)) error { return r.Delete(ctx, key) },
		"DeleteOps": changed(func(ctx context.Context, old T, _ *T) error { return tbl.Transact(ctx, r.DeleteOps(old)...) }),
	}
}

// This release reads what 0.1.0-rc.1 has stored, and each of its writes leaves what it would
// have left of its own.
func TestItemsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	all := []string{released.Plain, released.Tally, released.Grown, released.Counted, released.Revised, released.Shaped, released.Sealed}
	versioned := all[1:]
	everything := func(b *released.Boxed) {
		b.N, b.Email, b.Aliases, b.Expires = 2, "new-"+b.Email, []string{b.ID + "1", b.ID + "3"}, 1<<33
	}
	fields := func(b *released.Boxed) { b.N, b.Aliases, b.Expires = 2, []string{b.ID + "1", b.ID + "3"}, 1<<33 }
	n := func(b *released.Boxed) { b.N = 2 }
	nothing := func(*released.Boxed) {}
	same := func(b released.Boxed) released.Boxed { return b }
	ofDoc := func(d released.Doc) released.Boxed { return released.Boxed{Doc: d} }
	docOf := func(b released.Boxed) released.Doc { return b.Doc }
	for write, tt := range map[string]struct {
		of     []string
		change func(*released.Boxed)
	}{
		"Update":      {versioned, everything},
		"Save":        {all, everything},
		"TransactPut": {all, everything},
		"UpdateOps":   {all, fields}, // which change no key
		"Patch":       {all[:2], n},
		"PatchOps":    {all[:2], n},
		"Upsert":      {all[:2], n},
		"Refresh":     {all, nothing},
		"Delete":      {all, nothing},
		"DeleteOps":   {all, nothing},
	} {
		t.Run(write, func(t *testing.T) {
			t.Parallel()
			of := ofType(tt.of...)
			tbl := releasedTable(t, released.Schema, func(it table.Item) bool { return of(it) && textOf(it, "id") != "expired" })
			var want []table.Item
			for _, of := range tt.of {
				for _, it := range releasedItems(t) {
					id := textOf(it, "id")
					switch main := textOf(it, "pk") == string(released.Key(of, id).PK); {
					case !main || id == "expired":
					case of == released.Grown || of == released.Shaped || of == released.Sealed:
						want = append(want, rewrite(t, tbl, released.Upgraded(of), it, same, same, write, tt.change)...)
					default:
						want = append(want, rewrite(t, tbl, released.Docs(of), it, ofDoc, docOf, write, tt.change)...)
					}
				}
			}
			expect.Equal(t, "items", storedLines(t, tbl), itemLines(want))
		})
	}
}

// rewrite reads the entity of a main item as this release describes it, under each of its
// keys, writes it, and returns the items that are to be stored then.
func rewrite[T any](
	t *testing.T, tbl *table.Table, e repo.Entity[T], main table.Item, from func(T) released.Boxed, to func(released.Boxed) T, write string, change func(*released.Boxed),
) []table.Item {
	t.Helper()
	r := newRepo(t, tbl, e)
	var want released.Boxed
	expect.OK(t, main.Decode(&want))
	upgraded := e.Upgrades != nil
	same := main["entityShapeAt"] != nil && textOf(main, "entityShapeAt") == want.Revision || e.Type == released.Sealed && main["entityShape"] != nil
	if upgraded {
		want.Mailbox = released.Mailbox(want.Email)
	}
	key := released.Key(e.Type, want.ID)
	got := expect.Value(r.Get(t.Context(), key))(t)
	expect.Equal(t, "value", from(got), want)
	if e.Claims != nil {
		got = expect.Value(r.Get(t.Context(), released.EmailKey(e.Type, want.Email)))(t)
		expect.Equal(t, "copy", from(got), want)
		got = expect.Value(r.GetByClaim(t.Context(), released.AliasKey(e.Type, want.Aliases[0])))(t)
		expect.Equal(t, "claimed", from(got), want)
	}
	expect.OK(t, releasedWrites(tbl, r)[write](t.Context(), key, func(v *T) {
		b := from(*v)
		change(&b)
		if upgraded {
			b.Mailbox = released.Mailbox(b.Email)
		}
		*v = to(b)
	}))
	switch {
	case write == "Delete" || write == "DeleteOps":
		return nil
	case write == "Refresh" && (same || !upgraded):
		return storedAs(t, e.Type, want)
	case write != "Refresh":
		change(&want)
	}
	if upgraded {
		want.Mailbox = released.Mailbox(want.Email)
	}
	switch e.Version {
	case "version":
		want.Version++
	case "revision":
		want.Revision = "next"
	}
	return storedAs(t, e.Type, want)
}

// Items under keys that this program's description does not have any more, or that are
// expired, are what they were to 0.1.0-rc.1.
func TestFormerItemsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	formerCopies := released.Docs(released.Revised)
	formerCopies.Copies, formerCopies.FormerCopies = nil, []func(released.Doc) keys.Key{func(d released.Doc) keys.Key {
		return released.EmailKey(released.Revised, d.Email)
	}}
	formerKey := released.Docs(released.Revised)
	formerKey.Key = func(d released.Doc) keys.Key { return released.Key("MOVED", d.ID) }
	key, byEmail := released.Key(released.Revised, "revised"), released.EmailKey(released.Revised, "revised@x")
	double := func(v *released.Doc) { v.N = 2 }
	for name, tt := range map[string]struct {
		entity repo.Entity[released.Doc]
		key    keys.Key
		writes []string
		err    error
		// left is how many items are left: a main item, a copy, and two claims are stored.
		left int
	}{
		"former copies, refreshed":       {formerCopies, byEmail, []string{"Refresh"}, nil, 3},
		"former copies, deleted":         {formerCopies, key, []string{"Delete"}, nil, 0},
		"former copies, by ops":          {formerCopies, key, []string{"DeleteOps"}, table.ErrStale, 4},
		"former main key":                {formerKey, key, []string{"Update", "Delete", "Refresh"}, repo.ErrOrphan, 4},
		"former main key, by its values": {formerKey, key, []string{"Save", "UpdateOps", "DeleteOps"}, table.ErrStale, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := releasedTable(t, released.Schema, ofType(released.Revised))
			r := newRepo(t, tbl, tt.entity)
			for _, write := range tt.writes {
				expect.Equal(t, "id", expect.Value(r.Get(t.Context(), key))(t).ID, "revised")
				err := releasedWrites(tbl, r)[write](t.Context(), tt.key, double)
				if tt.err == nil {
					expect.OK(t, err)
				} else {
					expect.Err(t, err, tt.err)
				}
			}
			expect.Equal(t, "items", itemsLeft(t, tbl), tt.left)
		})
	}
}

// 0.1.0-rc.1 has given a product a copy, which is without its vector.
func TestVectorsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	e := released.Products()
	e.FormerCopies = []func(released.Product) keys.Key{func(p released.Product) keys.Key { return released.EmailKey("PRODUCT", p.Email) }}
	tbl := releasedTable(t, released.VectorSchema, ofType("PRODUCT"))
	r := newRepo(t, tbl, e)
	key, byEmail := released.Key("PRODUCT", "p"), released.EmailKey("PRODUCT", "p@x")
	expect.Err(t, expect.ErrOf(r.Get(t.Context(), byEmail)), repo.ErrOrphan)
	for i, write := range []string{"Update", "Save", "UpdateOps"} {
		expect.OK(t, releasedWrites(tbl, r)[write](t.Context(), key, func(p *released.Product) { p.N++ }))
		got := expect.Value(r.Get(t.Context(), key))(t)
		got.Revision = ""
		want := released.Product{Doc: released.Doc{ID: "p", Email: "p@x", N: i + 1}, Embedding: []float32{1, 0.5}}
		expect.Equal(t, write, got, want)
	}
	expect.Equal(t, "items, before", itemsLeft(t, tbl), 2)
	expect.OK(t, expect.ErrOf(r.Refresh(t.Context(), byEmail)))
	expect.Equal(t, "items, refreshed", itemsLeft(t, tbl), 1)
	expect.OK(t, r.Delete(t.Context(), key))
	expect.Equal(t, "items", itemsLeft(t, tbl), 0)
}

// What has expired is missing, and each write that makes an entity replaces it.
func TestExpiredItemsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	key := released.Key(released.Plain, "expired")
	for name, write := range map[string]func(ctx context.Context, r *repo.Repo[released.Doc], v *released.Doc) error{
		"Create": func(ctx context.Context, r *repo.Repo[released.Doc], v *released.Doc) error { return r.Create(ctx, v) },
		"Save":   func(ctx context.Context, r *repo.Repo[released.Doc], v *released.Doc) error { return r.Save(ctx, v) },
		"Upsert": func(ctx context.Context, r *repo.Repo[released.Doc], v *released.Doc) error {
			return expect.ErrOf(r.Upsert(ctx, *v, repo.Patch{Add: map[string]any{"n": 1}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := releasedTable(t, released.Schema, func(it table.Item) bool { return textOf(it, "id") == "expired" })
			r := newRepo(t, tbl, released.Docs(released.Plain))
			expect.Err(t, expect.ErrOf(r.Get(t.Context(), key)), table.ErrNotFound)
			want := released.Doc{ID: "expired", N: 5}
			expect.OK(t, write(t.Context(), r, &want))
			if name == "Upsert" {
				want.N++
			}
			expect.Equal(t, "value", expect.Value(r.Get(t.Context(), key))(t), want)
		})
	}
}
