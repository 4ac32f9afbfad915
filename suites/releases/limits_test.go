package releases_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
)

// 0.1.0-rc.1 begins integer versions at random, and this release with 1.
func TestFirstVersions(t *testing.T) {
	t.Parallel()
	s := newSide(t)
	old := ok(t, s.old, program.Call{Verb: "create", Of: released.Counted, New: doc("1", "")})
	expect.Equal(t, "far from 1", old.Version > 1<<20, true)
	now := ok(t, s.new, program.Call{Verb: "create", Of: released.Counted, New: doc("2", "")})
	expect.Equal(t, "version", now.Version, 1)
}

// A value that was read before its entity was deleted and created again is stale, if the
// entity has a revision, or if 0.1.0-rc.1 has created it again. With an integer version that
// this release has begun, the stale value is taken for the present one.
func TestStaleValuesOfFormerEntities(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		of      string
		creator func(side) caller
		class   string
	}{
		"a revision":                       {released.Revised, func(s side) caller { return s.new }, "stale"},
		"a version of 0.1.0-rc.1":          {released.Counted, func(s side) caller { return s.old }, "stale"},
		"a version of this release":        {released.Counted, func(s side) caller { return s.new }, ""},
		"a version, without further items": {released.Tally, func(s side) caller { return s.new }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, write := range []int{0, 1, 2} {
				for _, stale := range []string{"old", "new"} {
					s := newSide(t)
					writer := map[string]caller{"old": s.old, "new": s.new}[stale]
					v := doc("1", "one@x")
					if tt.of == released.Tally {
						v = doc("1", "")
					}
					ok(t, tt.creator(s), program.Call{Verb: "create", Of: tt.of, New: v})
					was := ok(t, writer, program.Call{Verb: "get", Of: tt.of, ID: "1"})
					ok(t, s.new, program.Call{Verb: "delete", Of: tt.of, ID: "1"})
					ok(t, tt.creator(s), program.Call{Verb: "create", Of: tt.of, New: v})
					fails(t, writer, tt.class, writesOf(tt.of, was)[write])
				}
			}
		})
	}
}

// UpdateOps and DeleteOps of 0.1.0-rc.1 know a copy by the version alone. With versions that
// this release has begun, they take the copy of another entity that has the same one. Its
// Put, Update and Delete, and all writes of this release, do not.
func TestCopiesOfEqualVersions(t *testing.T) {
	t.Parallel()
	for _, write := range []int{0, 1, 2} {
		for _, name := range []string{"0.1.0-rc.1", "this release"} {
			s := newSide(t)
			writer, class := caller(s.new), "stale"
			if write == 0 {
				class = "exists"
			}
			if name == "0.1.0-rc.1" {
				writer = s.old
				if write > 0 {
					class = ""
				}
			}
			create := func(v program.Value) { ok(t, s.new, program.Call{Verb: "create", Of: released.Counted, New: v}) }
			create(doc("1", "one@x"))
			was := ok(t, writer, program.Call{Verb: "get", Of: released.Counted, ID: "1"})
			ok(t, s.new, program.Call{Verb: "delete", Of: released.Counted, ID: "1"})
			create(doc("1", "other@x"))
			create(doc("2", "one@x"))
			fails(t, writer, class, writesOf(released.Counted, was)[write])
			if class != "" {
				consistent(t, s.table)
			}
		}
	}
}

// Put of 0.1.0-rc.1 replaces an entity without a version. Save of this release keeps what the
// program does not know.
func TestUnknownAttributesWithoutAVersion(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"0.1.0-rc.1": false, "this release": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSide(t)
			writer := map[bool]caller{false: s.old, true: s.new}[keeps]
			ok(t, writer, program.Call{Verb: "save", Of: released.Plain, New: doc("1", "")})
			key := released.Key(released.Plain, "1")
			expect.OK(t, s.table.Do(t.Context(), table.Patch(key, table.Item{"note": &types.AttributeValueMemberS{Value: "another program's"}})))
			ok(t, writer, program.Call{Verb: "save", Of: released.Plain, New: doc("1", "")})
			_, kept := stored(t, s.table)[0]["note"].(*types.AttributeValueMemberS)
			expect.Equal(t, "kept", kept, keeps)
		})
	}
}

// A product of 0.1.0-rc.1 has a copy without its vector. This release does not write it. The
// next update of 0.1.0-rc.1 does, and keeps what this release has written.
func TestCopiesOfVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl := newTable(t, released.VectorSchema)
	products := expect.Value(repo.New(tbl, released.Products()))(t)
	has := func(n, copied int) {
		t.Helper()
		for key, want := range map[keys.Key]int{released.Key("PRODUCT", "p"): n, released.EmailKey("PRODUCT", "p@x"): copied} {
			got := expect.Value(table.Get[released.Doc](t.Context(), tbl.Consistent(), key))(t)
			expect.Equal(t, "n", got.N, want)
		}
	}
	t.Run("created", func(t *testing.T) { start(t, tbl.Schema()) })
	expect.Value(products.Update(t.Context(), released.Key("PRODUCT", "p"), func(p *released.Product) error { p.N++; return nil }))(t)
	has(1, 0)
	expect.Err(t, expect.ErrOf(products.Get(t.Context(), released.EmailKey("PRODUCT", "p@x"))), repo.ErrOrphan)
	t.Run("updated", func(t *testing.T) { start(t, tbl.Schema()) })
	has(2, 2)
	expect.Equal(t, "vector", expect.Value(products.Get(t.Context(), released.Key("PRODUCT", "p")))(t).Embedding, []float32{1, 0.5})
}

// Once the main item and a copy have changed places, 0.1.0-rc.1 leaves the claims behind that
// it made before. This release takes them as the entity's, and its Refresh of a claimed key, as
// in a backfill, mends what 0.1.0-rc.1 has left.
func TestClaimsOfMovedMainItems(t *testing.T) {
	t.Parallel()
	const moved = released.Moving + " moved"
	// What each leaves: of the entity two items and two claims, and claims that are not its own.
	for verb, tt := range map[string]struct{ own, left int }{"update": {4, 1}, "delete": {0, 2}} {
		for _, name := range []string{"0.1.0-rc.1", "this release"} {
			t.Run(verb+" by "+name, func(t *testing.T) {
				t.Parallel()
				s := newSide(t)
				writer, left := caller(s.new), 0
				if name == "0.1.0-rc.1" {
					writer, left = s.old, tt.left
				}
				ok(t, s.old, program.Call{Verb: "create", Of: released.Moving, New: doc("1", "", "i", "ii")})
				ok(t, writer, program.Call{Verb: verb, Of: moved, ID: "1", New: doc("1", "", "i", "iii")})
				expect.Equal(t, "items", len(stored(t, s.table)), tt.own+left)
				r := expect.Value(repo.New(s.table, released.Moved()))(t)
				for _, alias := range []string{"i", "ii"} {
					if _, err := r.Refresh(t.Context(), released.AliasKey(released.Moving, alias)); err != nil {
						expect.Err(t, err, table.ErrNotFound)
					}
				}
				expect.Equal(t, "items, refreshed", len(stored(t, s.table)), tt.own)
			})
		}
	}
}
