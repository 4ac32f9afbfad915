package repo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Cart shows how many pieces are in it, and what they cost.
type Cart struct {
	ID       string `dynamodbav:"id"`
	Pieces   int64  `dynamodbav:"pieces"`
	Cents    int64  `dynamodbav:"cents"`
	Revision string `dynamodbav:"revision"`
}

// CartLine is an article in a cart.
type CartLine struct {
	Cart     string `dynamodbav:"cart"`
	Article  string `dynamodbav:"article"`
	Pieces   int64  `dynamodbav:"pieces"`
	Cents    int64  `dynamodbav:"cents"` // of one piece
	Revision string `dynamodbav:"revision"`
}

func cartKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("CART").PK(id), SK: keys.Metadata}
}

func openTable(ctx context.Context, spec schema.Table) (*tabletest.Engine, *table.Table) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec.Name = "Example-" + rand.Text()
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	return engine, tbl
}

func openCarts(ctx context.Context) (*tabletest.Engine, *table.Table, *repo.Repo[Cart], *repo.Repo[CartLine]) {
	engine, tbl := openTable(ctx, schema.Table{})
	carts, errCarts := repo.New(tbl, repo.Entity[Cart]{
		Type: "CART", Version: "revision", Counted: []string{"pieces", "cents"},
		Key: func(c Cart) keys.Key { return cartKey(c.ID) },
	})
	most, ofLine := int64(10), func(l CartLine) keys.Key { return cartKey(l.Cart) }
	lines, errLines := repo.New(tbl, repo.Entity[CartLine]{
		Type: "LINE", Version: "revision",
		Key: func(l CartLine) keys.Key {
			return keys.Key{PK: cartKey(l.Cart).PK, SK: keys.Prefix("LINE").SK(keys.Str(l.Article))}
		},
		Counters: []repo.Counter[CartLine]{
			{Name: "pieces", Owner: "CART", Attribute: "pieces", Key: ofLine, Max: &most, Amount: func(l CartLine) int64 { return l.Pieces }},
			{Name: "cents", Owner: "CART", Attribute: "cents", Key: ofLine, Amount: func(l CartLine) int64 { return l.Pieces * l.Cents }},
		},
	})
	if err := errors.Join(errCarts, errLines); err != nil {
		log.Fatal(err)
	}
	return engine, tbl, carts, lines
}

// A cart is stored with its lines in one transaction, and shows what is in it. It has ten pieces
// at most.
func ExampleCounter() {
	ctx := context.Background()
	engine, tbl, carts, lines := openCarts(ctx)
	defer engine.Close()

	show := func(what string, err error) {
		c, errRead := carts.Consistent().Get(ctx, cartKey("c-1"))
		if errRead != nil {
			log.Fatal(errRead)
		}
		if failed, ok := table.FailedOp(err, "LINE pieces"); ok && errors.Is(failed, table.ErrLimit) {
			what += ", which is too much"
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d pieces for %.2f €\n", what, c.Pieces, float64(c.Cents)/100)
	}
	cart, pens := Cart{ID: "c-1"}, CartLine{Cart: "c-1", Article: "pen", Pieces: 3, Cents: 150}
	ops := append(carts.CreateOps(&cart), lines.CreateOps(&pens)...)
	show("a new cart", tbl.Transact(ctx, ops...))

	ink := CartLine{Cart: "c-1", Article: "ink", Pieces: 1, Cents: 799}
	show("with ink", lines.Create(ctx, &ink))
	penKey := keys.Key{PK: cartKey("c-1").PK, SK: keys.Prefix("LINE").SK(keys.Str("pen"))}
	change := func(pieces int64) error {
		_, err := lines.Update(ctx, penKey, func(l *CartLine) error { l.Pieces = pieces; return nil })
		return err
	}
	show("ten pens", change(10))
	show("nine pens", change(9))
	show("no pens", lines.Delete(ctx, penKey))
	// Output:
	// a new cart: 3 pieces for 4.50 €
	// with ink: 4 pieces for 12.49 €
	// ten pens, which is too much: 4 pieces for 12.49 €
	// nine pens: 10 pieces for 21.49 €
	// no pens: 1 pieces for 7.99 €
}

// Movement brings pieces of an article into a store, or takes some.
type Movement struct {
	ID       string `dynamodbav:"id"`
	Article  string `dynamodbav:"article"`
	Pieces   int64  `dynamodbav:"pieces"`
	Revision string `dynamodbav:"revision"`
}

// The stock of an article is in an item of its own, which the first movement creates. It is never
// below 0.
func ExampleCounter_stock() {
	ctx := context.Background()
	engine, tbl := openTable(ctx, schema.Table{})
	defer engine.Close()

	stockKey := func(article string) keys.Key {
		return keys.Key{PK: keys.Prefix("ARTICLE").PK(article), SK: "STOCK"}
	}
	movements, err := repo.New(tbl, repo.Entity[Movement]{
		Type: "MOVEMENT", Version: "revision",
		Key: func(m Movement) keys.Key {
			return keys.Key{PK: keys.Prefix("ARTICLE").PK(m.Article), SK: keys.Prefix("MOVEMENT").SK(keys.Str(m.ID))}
		},
		Counters: []repo.Counter[Movement]{{
			Name: "stock", Owner: "STOCK", Alone: true, Attribute: "pieces", Min: new(int64(0)),
			Key:    func(m Movement) keys.Key { return stockKey(m.Article) },
			Amount: func(m Movement) int64 { return m.Pieces },
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for id, pieces := range []int64{5, -3, -3, -2} {
		err := movements.Create(ctx, &Movement{ID: fmt.Sprint(id), Article: "pen", Pieces: pieces})
		stock, errRead := table.Get[struct {
			Pieces int64 `dynamodbav:"pieces"`
		}](ctx, tbl.OfType("STOCK").Consistent(), stockKey("pen"))
		if errRead != nil {
			log.Fatal(errRead)
		}
		fmt.Printf("%+d: %d in stock, refused: %t\n", pieces, stock.Pieces, errors.Is(err, table.ErrLimit))
	}
	// Output:
	// +5: 5 in stock, refused: false
	// -3: 2 in stock, refused: false
	// -3: 2 in stock, refused: true
	// -2: 0 in stock, refused: false
}
