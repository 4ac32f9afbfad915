package readmodel_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table/tabletest"
)

// suite is what must hold in every database. open returns an empty one.
func suite(t *testing.T, open func(testing.TB) *sql.DB) {
	for name, test := range map[string]func(*testing.T, func(testing.TB) *sql.DB){
		"it follows the stream, once for each change": followsTheStream,
		"versions come in any order":                  anyOrder,
		"a rebuild runs while versions come":          rebuild,
		"a rebuild that fails is continued":           rebuildAfterAFailure,
		"of two rebuilds the first to end counts":     rebuilds,
		"text from outside is only text":              hostile,
		"a search is blind to the case of ASCII":      searchCase,
		"processes begin at the same time":            together,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// built returns a read model whose first projection has the versions.
func built(t *testing.T, db *sql.DB, versions ...core.History) *readmodel.Model {
	t.Helper()
	m := check.Must(readmodel.Open(t.Context(), db, paginate.Insecure()))(t)
	check.OK(t, m.Rebuild(t.Context(), "v1", sequence(versions)))
	return m
}

func sequence(versions []core.History) iter.Seq2[core.History, error] {
	return func(yield func(core.History, error) bool) {
		for _, h := range versions {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func version(tenant, code string, n int64) core.History {
	return core.History{Seq: n, Record: core.Record{
		ID: "PRODUCT#" + tenant + "#" + code, TenantCode: tenant, Type: "PRODUCT", Code: code, Version: n,
		Name: fmt.Sprintf("%s %d", code, n), Attributes: map[string]any{"price": float64(n)},
		UpdatedBy: "ana", UpdatedAt: time.Date(2024, 6, 1, 12, 0, 0, int(n), time.UTC),
	}}
}

// dump returns everything that the views show.
func dump(t *testing.T, db *sql.DB) (all []string) {
	t.Helper()
	for _, view := range []string{"records", "versions"} {
		rows := check.Must(db.QueryContext(t.Context(), `SELECT record_key, id, name, version, attributes, updated_at FROM `+view+` ORDER BY record_key, version`))(t)
		for rows.Next() {
			var key, id, name, attributes, at string
			var n int64
			check.OK(t, rows.Scan(&key, &id, &name, &n, &attributes, &at))
			all = append(all, fmt.Sprint(view, " ", key, " ", id, " ", name, " ", n, " ", attributes, " ", at))
		}
		check.OK(t, rows.Err(), rows.Close())
	}
	return all
}

func followsTheStream(t *testing.T, open func(testing.TB) *sql.DB) {
	db := open(t)
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, core.Schema("any"), nil)
	service := check.Must(core.New(tbl, nil))(t)
	m := built(t, db)
	router := check.Must(stream.New(tbl, nil, service.OnVersion(m.Apply), stream.IgnoreOther()))(t)
	reader := func(name string) stream.Reader {
		return program.Reader(name, router, client, nil)
	}
	acme, globex := service.As(core.Caller{Tenant: "ACME", User: "ana"}), service.As(core.Caller{Tenant: "GLOBEX", User: "bob"})
	counts := func(tenant string, want ...readmodel.Count) func() (bool, error) {
		return func() (bool, error) {
			got, err := m.Counts(t.Context(), tenant)
			return fmt.Sprint(got) == fmt.Sprint(want), err
		}
	}
	check.OK(t, program.WithReader(t.Context(), reader("once").Run, func(ctx context.Context) error {
		for n := range int64(3) {
			c := core.Change{Ref: core.NewRef("PRODUCT", "LAMP"), Name: "Desk lamp", Attributes: map[string]any{"price": 40 + n}, Version: n}
			if _, err := acme.Publish(ctx, c); err != nil {
				return err
			}
		}
		_, placed := globex.PlaceOrder(ctx, "Bob's lamp", map[string]any{"product": "LAMP"})
		_, user := acme.Publish(ctx, core.Change{Ref: core.NewRef("USER", "ana"), Name: "Ana"})
		return errors.Join(placed, user,
			program.Until(ctx, counts("ACME", readmodel.Count{"PRODUCT", 1, 3}, readmodel.Count{"USER", 1, 1})),
			program.Until(ctx, counts("GLOBEX", readmodel.Count{"ORDER", 1, 1})))
	}))
	found := check.Must(m.Search(t.Context(), "ACME", "LAMP", 10, ""))(t).Items
	check.Equal(t, "found", len(found), 1)
	now := check.Must(acme.Version(t.Context(), core.NewRef("PRODUCT", "LAMP"), 3))(t)
	check.Equal(t, "record", found[0], readmodel.Record{
		ID: now.ID, Type: "PRODUCT", Code: "LAMP", Name: "Desk lamp", Version: 3, Attributes: map[string]any{"price": 42.0},
		UpdatedAt: now.UpdatedAt.Format("2006-01-02T15:04:05.000000000Z"), UpdatedBy: "ana",
	})

	// Another consumer gets everything again, and the last change behind it.
	before := dump(t, db)
	check.OK(t, program.WithReader(t.Context(), reader("again").Run, func(ctx context.Context) error {
		if _, err := globex.PlaceOrder(ctx, "Bob's last lamp", nil); err != nil {
			return err
		}
		return program.Until(ctx, counts("GLOBEX", readmodel.Count{"ORDER", 2, 2}))
	}))
	check.Equal(t, "rows", len(dump(t, db)), len(before)+2)
	after := dump(t, db)

	// A projection of the history alone is the same.
	check.OK(t, m.Rebuild(t.Context(), "v2", service.Replay(t.Context())))
	check.Equal(t, "rebuilt", dump(t, db), after)
}

func anyOrder(t *testing.T, open func(testing.TB) *sql.DB) {
	db := open(t)
	m := built(t, db)
	for i, order := range [][]int64{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}} {
		tenant := fmt.Sprint("T-", i)
		newest := int64(0)
		for _, n := range order {
			for range 2 {
				check.OK(t, m.Apply(t.Context(), version(tenant, "LAMP", n)))
				newest = max(newest, n)
				got := check.Must(m.Search(t.Context(), tenant, "", 10, ""))(t).Items
				check.Equal(t, "version", got[0].Version, newest)
				check.Equal(t, "name", got[0].Name, fmt.Sprint("LAMP ", newest))
			}
		}
		check.Equal(t, "counts", check.Must(m.Counts(t.Context(), tenant))(t), []readmodel.Count{{"PRODUCT", 1, 3}})
	}
	check.Together(8, func(i int) {
		for n := range int64(10) {
			if err := m.Apply(t.Context(), version("MANY", "LAMP", (n*7+int64(i))%10+1)); err != nil {
				t.Error(err)
			}
		}
	})
	check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "MANY"))(t), []readmodel.Count{{"PRODUCT", 1, 10}})
	check.Equal(t, "version", check.Must(m.Search(t.Context(), "MANY", "", 10, ""))(t).Items[0].Version, int64(10))
}

func rebuild(t *testing.T, open func(testing.TB) *sql.DB) {
	db := open(t)
	m := check.Must(readmodel.Open(t.Context(), db, paginate.Insecure()))(t)
	check.Is(t, check.Err(m.Search(t.Context(), "ACME", "", 1, "")), readmodel.ErrNotBuilt)
	check.OK(t, m.Apply(t.Context(), version("ACME", "BEFORE", 1))) // into nothing; it is in the history
	history := []core.History{version("ACME", "BEFORE", 1), version("ACME", "LAMP", 1), version("ACME", "LAMP", 2)}
	check.OK(t, m.Rebuild(t.Context(), "v1", func(yield func(core.History, error) bool) {
		check.OK(t, m.Apply(t.Context(), version("ACME", "DESK", 1))) // comes while history is read, which does not have it
		check.OK(t, m.Apply(t.Context(), version("ACME", "LAMP", 3)))
		sequence(history)(yield)
	}))
	check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 3, 5}})
	check.Equal(t, "found", check.Must(m.Search(t.Context(), "ACME", "lamp", 10, ""))(t).Items[0].Version, int64(3))

	// The views show the former projection until the next one is whole.
	check.OK(t, m.Rebuild(t.Context(), "v2", func(yield func(core.History, error) bool) {
		check.OK(t, m.Apply(t.Context(), version("ACME", "CHAIR", 1)))
		check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 4, 6}})
		sequence(history)(yield)
	}))
	check.Equal(t, "active", check.Must(m.Active(t.Context()))(t), "v2")
	check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 3, 4}})
	if _, err := db.ExecContext(t.Context(), `SELECT 1 FROM records_v1`); err == nil {
		t.Error("the former projection is still there")
	}
	check.Is(t, m.Rebuild(t.Context(), "v2", sequence(nil)), readmodel.ErrActive, "again")
	for _, name := range []string{"", "V3", "3", "v3; DROP TABLE records_v2", strings.Repeat("v", 32)} {
		check.Is(t, m.Rebuild(t.Context(), name, sequence(nil)), readmodel.ErrName, name)
	}
}

func rebuildAfterAFailure(t *testing.T, open func(testing.TB) *sql.DB) {
	m := built(t, open(t), version("ACME", "LAMP", 1))
	broken := errors.New("broken")
	var history []core.History
	for i := range 600 {
		history = append(history, version("ACME", fmt.Sprint("P-", i), 1))
	}
	check.Is(t, m.Rebuild(t.Context(), "v2", func(yield func(core.History, error) bool) {
		sequence(history)(yield)
		yield(core.History{}, broken)
	}), broken)
	check.Equal(t, "active", check.Must(m.Active(t.Context()))(t), "v1")
	check.OK(t, m.Apply(t.Context(), version("ACME", "LAMP", 2)))
	check.OK(t, m.Rebuild(t.Context(), "v2", sequence(history)))
	check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 601, 601}})
}

func rebuilds(t *testing.T, open func(testing.TB) *sql.DB) {
	m := built(t, open(t))
	history := []core.History{version("ACME", "LAMP", 1)}
	for name, late := range map[string][]core.History{"v2": history, "v3": nil} { // with a row to write, and without one
		other := name + "_other"
		check.Is(t, m.Rebuild(t.Context(), name, func(yield func(core.History, error) bool) {
			check.OK(t, m.Rebuild(t.Context(), other, sequence(history)))
			sequence(late)(yield)
		}), readmodel.ErrReplaced, name)
		check.Equal(t, "active", check.Must(m.Active(t.Context()))(t), other)
		check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 1, 1}})
	}
}

// A record that the database refuses would block the stream for all tenants.
func hostile(t *testing.T, open func(testing.TB) *sql.DB) {
	m := built(t, open(t))
	tenants := []string{"ACME", "ACME\x00", "ACME\uFFFD", "acme", "ACME%", "A_ME", "%", "", "' OR 1=1 --", strings.Repeat("\x00A", 1000)}
	names := []string{"50% off", "50 off", `a\b`, "a_b", "axb", "'; DROP TABLE records; --", "\x00", strings.Repeat("long ", 20_000)}
	for _, tenant := range tenants {
		for i, name := range names {
			h := version(tenant, fmt.Sprint(strings.Repeat("x", 900), "\x00#", i), 1)
			h.Name, h.Attributes, h.UpdatedBy = name, map[string]any{"note": name + "\xff", "none": nil}, "\x00"
			check.OK(t, m.Apply(t.Context(), h))
		}
	}
	for _, tenant := range tenants {
		check.Equal(t, "counts of "+tenant, check.Must(m.Counts(t.Context(), tenant))(t), []readmodel.Count{{"PRODUCT", int64(len(names)), int64(len(names))}})
		for text, want := range map[string]int{"50%": 1, `\`: 1, "a_": 1, "DROP table": 1, "": len(names), "\x00": 1, "' OR 1=1": 0} {
			found := check.Must(m.Search(t.Context(), tenant, text, 100, ""))(t).Items
			check.Equal(t, fmt.Sprintf("found by %q of %.20q", text, tenant), len(found), want)
		}
		whole := check.Must(m.Search(t.Context(), tenant, "", len(names), ""))(t)
		check.Equal(t, "a last page", whole.Next, "")
		var pages []readmodel.Record
		for page, after := whole, ""; after != "" || len(pages) == 0; after = page.Next {
			page = check.Must(m.Search(t.Context(), tenant, "", 3, after))(t)
			pages = append(pages, page.Items...)
		}
		check.Equal(t, "pages", pages, whole.Items)
	}
	check.Equal(t, "of nobody", len(check.Must(m.Search(t.Context(), "NOBODY", "", 100, ""))(t).Items), 0)
}

// Databases differ in what they take for the lower case of other letters, so these are
// found as they are written.
func searchCase(t *testing.T, open func(testing.TB) *sql.DB) {
	var history []core.History
	for i, name := range []string{"Übertopf", "ÉCLAIR", "éclair"} {
		h := version("ACME", fmt.Sprint("P-", i), 1)
		h.Name = name
		history = append(history, h)
	}
	m := built(t, open(t), history...)
	for text, want := range map[string]int{
		"Übertopf": 1, "ÜBERTOPF": 1, "übertopf": 0, "TOPF": 1, "ÉCLAIR": 1, "Éclair": 1, "éCLAIR": 1, "clair": 2,
	} {
		found := check.Must(m.Search(t.Context(), "ACME", text, 10, ""))(t).Items
		check.Equal(t, "found by "+text, len(found), want)
	}
}

func together(t *testing.T, open func(testing.TB) *sql.DB) {
	db := open(t)
	history := []core.History{version("ACME", "LAMP", 1), version("ACME", "LAMP", 2)}
	check.Together(4, func(int) {
		m, err := readmodel.Open(t.Context(), db, paginate.Insecure())
		if err == nil {
			err = m.Rebuild(t.Context(), "v1", sequence(history))
		}
		if err != nil && !errors.Is(err, readmodel.ErrActive) { // another one was faster
			t.Error(err)
		}
	})
	m := check.Must(readmodel.Open(t.Context(), db, paginate.Insecure()))(t)
	check.Equal(t, "counts", check.Must(m.Counts(t.Context(), "ACME"))(t), []readmodel.Count{{"PRODUCT", 1, 2}})
}
