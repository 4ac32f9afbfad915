package similar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/guide/similar"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/embedding"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePage -update

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, "../../../docs/vectors.md", "."); n != 2 {
		t.Errorf("%d quotations, want 2", n)
	}
}

// model is a model that counts its calls, and does something in each before it responds.
type model struct {
	mu    sync.Mutex
	texts []string
	do    func(text string) error
}

func (m *model) embed(_ context.Context, text string) ([]float32, error) {
	m.mu.Lock()
	m.texts = append(m.texts, text)
	m.mu.Unlock()
	if m.do != nil {
		if err := m.do(text); err != nil {
			return nil, err
		}
	}
	return vectorOf(text), nil
}

func vectorOf(text string) []float32 { return embedding.Of(text, similar.Dimensions) }

// catalogue is a catalogue with its model, on a table of the test's own.
type catalogue struct {
	*similar.Catalogue
	*model
	t     *testing.T
	table *table.Table
}

func open(t *testing.T) catalogue {
	t.Helper()
	return on(t, tabletest.New(t, similar.Schema, nil))
}

func on(t *testing.T, tbl *table.Table) catalogue {
	t.Helper()
	m := &model{}
	return catalogue{check.Must(similar.New(tbl, m.embed))(t), m, t, tbl}
}

func product(tenant, id, name string) similar.Product {
	return similar.Product{Tenant: tenant, ID: id, Category: "home", Name: name, Price: 100}
}

// write runs ops and returns their event of the stream.
func (c catalogue) write(ops ...table.Op) json.RawMessage {
	c.t.Helper()
	return check.Must(streamtest.Transact(c.t.Context(), tabletest.Client(c.t), c.table, ops...))(c.t)
}

// add stores products, and has the stream give them their vectors.
func (c catalogue) add(products ...similar.Product) {
	c.t.Helper()
	for _, p := range products {
		c.deliver(c.write(c.Products.CreateOps(&p)...))
	}
}

func (c catalogue) deliver(event json.RawMessage) {
	c.t.Helper()
	check.Deliver(c.t, check.Must(c.Embedder())(c.t), event)
}

func (c catalogue) get(tenant, id string) similar.Product {
	c.t.Helper()
	return check.Must(c.Products.Consistent().Get(c.t.Context(), similar.Key(tenant, id)))(c.t)
}

func (c catalogue) change(id string, change func(*similar.Product)) {
	c.t.Helper()
	check.Must(c.Products.Update(c.t.Context(), similar.Key("acme", id), func(p *similar.Product) error { change(p); return nil }))(c.t)
}

// fits fails the test unless the product's vector is that of the text.
func (c catalogue) fits(p similar.Product, name string) {
	c.t.Helper()
	check.Equal(c.t, "name", p.Name, name)
	check.Equal(c.t, "vector of "+name, p.Embedding, vectorOf(name+"\n"+p.Description))
}

func ids(products []similar.Product) string {
	var all []string
	for _, p := range products {
		all = append(all, p.ID)
	}
	return strings.Join(all, " ")
}

func TestProductsLikeThisOneOfThisTenant(t *testing.T) {
	t.Parallel()
	c := open(t)
	other := product("acme", "spade", "Spade for desks")
	other.Category = "garden"
	c.add(product("acme", "lamp", "Desk lamp"), product("acme", "floor", "Floor lamp"), product("acme", "desk", "Desk, oak"), other,
		product("acme2", "lamp", "Desk lamp"), product("acme2", "floor", "Floor lamp, brass"))
	check.OK(t, c.Products.Create(t.Context(), new(product("acme", "new", "Desk lamp, black")))) // without a vector yet
	check.Equal(t, "like the lamp", ids(check.Must(c.Similar(t.Context(), "acme", "lamp"))(t)), "floor desk")
	check.Equal(t, "of another tenant", ids(check.Must(c.Similar(t.Context(), "acme2", "lamp"))(t)), "floor")
	check.Equal(t, "like one without a vector", ids(check.Must(c.Similar(t.Context(), "acme", "new"))(t)), "")
	check.Is(t, check.Err(c.Similar(t.Context(), "acme", "gone")), table.ErrNotFound)

	found := check.Must(c.Find(t.Context(), "acme2", "brass lamps"))(t)
	check.Equal(t, "found", len(found), 2)
	check.Equal(t, "the nearest", found[0].Item.ID, "floor")
	if found[0].Score >= found[1].Score {
		t.Errorf("scores %v and %v: the nearest has the least", found[0].Score, found[1].Score)
	}
	check.Is(t, check.Err(c.Find(t.Context(), "", "lamps")), table.ErrInvalid, "of no tenant")

	// What a search returns is whole.
	p := found[0].Item
	check.Equal(t, "vector", len(p.Embedding), similar.Dimensions)
	p.Price++
	check.OK(t, c.Products.Save(t.Context(), &p))
}

func TestAChangedTextGetsAnotherVector(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.add(product("acme", "lamp", "Desk lamp"))
	old := c.get("acme", "lamp")
	c.fits(old, "Desk lamp")
	renamed := old
	renamed.Name = "Floor lamp"
	event := c.write(c.Products.UpdateOps(old, &renamed)...)
	for range 2 { // delivered twice
		c.deliver(event)
	}
	c.fits(c.get("acme", "lamp"), "Floor lamp")
	priced := c.get("acme", "lamp")
	after := priced
	after.Price = 120
	c.deliver(c.write(c.Products.UpdateOps(priced, &after)...))
	check.Equal(t, "the model was called for", c.texts, []string{"Desk lamp\n", "Floor lamp\n"})
}

// While the model works, the product changes, or is deleted.
func TestAChangeInBetween(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(catalogue)
		want   similar.Product
		calls  int
	}{
		"of the price": {
			func(c catalogue) { c.change("lamp", func(p *similar.Product) { p.Price = 120 }) },
			similar.Product{Name: "Desk lamp", Price: 120},
			1,
		},
		"of the text": {
			func(c catalogue) { c.change("lamp", func(p *similar.Product) { p.Name = "Floor lamp" }) },
			similar.Product{Name: "Floor lamp", Price: 100},
			2,
		},
		"a deletion": {
			func(c catalogue) { check.OK(c.t, c.Products.Delete(c.t.Context(), similar.Key("acme", "lamp"))) },
			similar.Product{},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			first := sync.OnceFunc(func() { tc.change(c) })
			c.do = func(string) error { first(); return nil }
			c.add(product("acme", "lamp", "Desk lamp"))
			check.Equal(t, "calls of the model", len(c.texts), tc.calls)
			if tc.want.Name == "" {
				check.Is(t, check.Err(c.Products.Get(t.Context(), similar.Key("acme", "lamp"))), table.ErrNotFound)
				return
			}
			p := c.get("acme", "lamp")
			c.fits(p, tc.want.Name)
			check.Equal(t, "price", p.Price, tc.want.Price)
		})
	}
}

// Two renames, each with the handler of its change, in every order of their requests and
// with a fault at each. A handler that fails runs again. The product ends with the vector of
// its text.
func TestScheduleVectors(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: similar.Schema, Limit: *check.Limit,
		Setup: func(ctx context.Context, r *tabletest.Run) error {
			key := similar.Key(r.ID, "lamp")
			for _, name := range []string{"Floor lamp", "Lantern"} {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					c, err := similar.New(r.Table(client), new(model).embed)
					if err != nil {
						return err
					}
					if _, err := c.Products.Update(ctx, key, func(p *similar.Product) error { p.Name = name; return nil }); err != nil {
						return err
					}
					return c.Embed(ctx, key)
				})
			}
			c, err := similar.New(r.Table(r.Client), new(model).embed)
			if err != nil {
				return err
			}
			r.Check(func(ctx context.Context, errs []error) error {
				if errors.Join(errs...) != nil {
					if err := c.Embed(ctx, key); err != nil {
						return err
					}
				}
				p, err := c.Products.Consistent().Get(ctx, key)
				if err == nil && !slices.Equal(p.Embedding, vectorOf(p.Name+"\n")) {
					err = fmt.Errorf("%s has another vector", p.Name)
				}
				return err
			})
			return c.Products.Create(ctx, new(product(r.ID, "lamp", "Desk lamp")))
		},
	})
}

func wait(context.Context) error { return nil }

func TestProductsThatAreThereGetVectorsLater(t *testing.T) {
	t.Parallel()
	c := open(t)
	for i := range 5 {
		check.OK(t, c.Products.Create(t.Context(), new(product("acme", fmt.Sprint("p-", i), fmt.Sprint("Lamp ", i)))))
	}
	check.OK(t, c.table.Do(t.Context(), table.Put(similar.Key("acme", "no product"), map[string]any{"entityType": "ORDER"})))
	changed := sync.OnceFunc(func() { c.change("p-2", func(p *similar.Product) { p.Price = 120 }) })
	c.do = func(text string) error {
		if text == "Lamp 2\n" {
			changed() // while the model works
		}
		return nil
	}
	waited := 0
	limit := func(context.Context) error { waited++; return nil }
	job := c.EmbedAll("embeddings", limit)
	job.Segments = 1
	report := check.Must(job.Run(t.Context()))(t)
	check.Equal(t, "changed", report.Changed, int64(5))
	for i := range 5 {
		c.fits(c.get("acme", fmt.Sprint("p-", i)), fmt.Sprint("Lamp ", i))
	}
	check.Equal(t, "price", c.get("acme", "p-2").Price, int64(120))
	check.Equal(t, "the limiter was asked", waited, len(c.texts))

	calls := len(c.texts)
	check.Must(c.EmbedAll("again", wait).Run(t.Context()))(t)
	check.Equal(t, "calls of the second run", len(c.texts)-calls, 0)
}

// What the model refuses is set aside. An error that passes is for the job to try again.
func TestTheModelFails(t *testing.T) {
	t.Parallel()
	c := open(t)
	check.OK(t, c.Products.Create(t.Context(), new(product("acme", "a", "busy"))))
	check.OK(t, c.Products.Create(t.Context(), new(product("acme", "b", "refused"))))
	busy := 2
	c.do = func(text string) error {
		switch {
		case text == "refused\n":
			return errors.New("the text is too long")
		case busy > 0:
			busy--
			return fmt.Errorf("%w: too many requests", table.ErrThrottled)
		}
		return nil
	}
	report := check.Must(c.EmbedAll("embeddings", wait).Run(t.Context()))(t)
	check.Equal(t, "changed, set aside", []int64{report.Changed, report.SetAside}, []int64{1, 1})
	for aside, err := range backfill.SetAside(t.Context(), c.table, "embeddings") {
		check.OK(t, err)
		check.Equal(t, "set aside", aside.Key, similar.Key("acme", "b"))
	}
	c.fits(c.get("acme", "a"), "busy")
}

// next is the product of the next release, with the vector of another model.
type next struct {
	similar.Product
	Embedding2 []float32 `dynamodbav:"embedding2,omitempty"`
}

// Another model needs another attribute and another index. The first index is searched until
// all products have both vectors.
func TestAnotherModel(t *testing.T) {
	t.Parallel()
	const dimensions = 32
	another := func(text string) []float32 { return embedding.Of(text, dimensions) }
	second := similar.Schema.Vectors[0]
	second.Name, second.Attribute, second.Dimensions = "similar2", "embedding2", dimensions
	spec := similar.Schema
	spec.Vectors = []schema.VectorIndex{spec.Vectors[0], second}
	tbl := tabletest.New(t, spec, nil)
	spec = similar.Schema
	spec.Name = tbl.Schema().Name
	c := on(t, check.Must(table.New(tabletest.Client(t), spec, nil))(t)) // the former release
	c.add(product("acme", "lamp", "Desk lamp"), product("acme", "floor", "Floor lamp"), product("acme", "spade", "Garden tools"))
	products := check.Must(repo.New(tbl, repo.Entity[next]{
		Type: "PRODUCT", Version: "revision", Key: func(p next) keys.Key { return similar.Key(p.Tenant, p.ID) },
	}))(t)
	find := func(index string, near []float32) (names []string) {
		t.Helper()
		matches, _, err := products.Search(t.Context(), table.Search{Index: index, Partition: "acme", Near: near, Top: 2})
		check.OK(t, err)
		for _, m := range matches {
			names = append(names, m.Item.Name)
		}
		return names
	}
	check.Equal(t, "before the job", find("similar2", another("floor lamps")), nil)
	job := backfill.Job{Name: "similar2", Table: tbl, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		old, main, err := products.Decode(item)
		if errors.Is(err, table.ErrWrongType) || err == nil && (!main || len(old.Embedding2) > 0) {
			return nil, nil
		}
		p := old
		p.Embedding2 = another(p.Name)
		return products.UpdateOps(old, &p), err
	}}
	check.Must(job.Run(t.Context()))(t)
	check.Equal(t, "by the second model", find("similar2", another("floor lamps")), []string{"Floor lamp", "Desk lamp"})
	check.Equal(t, "by the first one", find("similar", vectorOf("floor lamps")), []string{"Floor lamp", "Desk lamp"})

	// The former release does not know the attribute, and leaves it as it is.
	c.change("floor", func(p *similar.Product) { p.Price = 120 })
	check.Equal(t, "after a change by the former release", find("similar2", another("floor lamps")), []string{"Floor lamp", "Desk lamp"})
}

// The size that docs/vectors.md names: a vector counts in each write of its item.
func TestTheSizeOfAVector(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	vector := make([]float32, 1536)
	for i := range vector {
		vector[i] = float32(draw.NormFloat64() / math.Sqrt(float64(len(vector)))) // the length is about 1
	}
	item := table.Item{"embedding": check.Must(attributevalue.Marshal(vector))(t)}
	if kb := item.Size() / 1024; kb != 10 {
		t.Errorf("%d KB", kb)
	}
}
