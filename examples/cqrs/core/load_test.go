package core

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/measured"
	"github.com/singletable/singletable/stream/streamtest"
)

// load.json has what each pattern consumes, with the writes of the stream's consumer.
func TestLoadIsMeasured(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	router := check.Must(s.Router())(t)
	acme := s.as(Caller{Tenant: "ACME", User: "4f8b2c1e-7a90-4d3b-9c55-0e6a1d2f3b47", IP: "192.0.2.7", Source: "api"})
	asked := func(key string) Tenant {
		c := acme.caller
		c.RequestID = key
		return s.as(c)
	}
	product := func(code string, version int64) Change {
		return Change{Ref: NewRef("PRODUCT", code), Name: "Desk lamp, black", Attributes: map[string]any{"price": 40 + version}, Version: version}
	}
	order := map[string]any{"product": "LAMP-07"}
	for i := range 25 {
		check.Must(acme.Publish(t.Context(), product(fmt.Sprintf("LAMP-%02d", i), 0)))(t)
		check.Must(acme.PlaceOrder(t.Context(), "Two lamps", order))(t)
	}
	const seen = "LAMP-07"
	for version := range int64(20) {
		check.Must(acme.Publish(t.Context(), product(seen, version+1)))(t)
	}
	s.settle(t)
	// follow gives the consumer the change of a history that a command makes.
	follow := func(ctx context.Context, c Change, old Record) error {
		_, ops := acme.publishOps(c, old)
		event := check.Must(streamtest.Transact(t.Context(), s.client, s.table, ops...))(t)
		return measured.Handle(ctx, router, event)
	}
	full := func(n int, err error) error {
		if err == nil && n != 20 {
			err = fmt.Errorf("%d items", n)
		}
		return err
	}
	measured.Load(t, "../load.json", measured.Patterns{
		"change a product": func(ctx context.Context) error {
			err := check.Err(asked("a1b2c3d4-e5f6").Publish(ctx, product("LAMP-08", 1)))
			old := check.Must(acme.Version(t.Context(), NewRef("PRODUCT", "LAMP-09"), 1))(t)
			return errors.Join(err, follow(ctx, product("LAMP-09", 1), old.Record))
		},
		"place an order": func(ctx context.Context) error {
			err := check.Err(asked("b7d1e2f3-1c2d").PlaceOrder(ctx, "Two lamps", order))
			c := Change{Ref: NewRef("ORDER", "2024", "ORD-900000"), Name: "Two lamps", Attributes: order}
			return errors.Join(err, follow(ctx, c, Record{}))
		},
		"a record": func(ctx context.Context) error { return check.Err(acme.Get(ctx, NewRef("PRODUCT", seen))) },
		"20 products": func(ctx context.Context) error {
			p, err := acme.List(ctx, "PRODUCT", 20, "")
			return full(len(p.Items), err)
		},
		"20 orders of a year": func(ctx context.Context) error {
			p, err := acme.Below(ctx, NewRef("ORDER", "2024"), 20, "")
			return full(len(p.Items), err)
		},
		"20 versions of a record": func(ctx context.Context) error {
			p, err := acme.Versions(ctx, NewRef("PRODUCT", seen), 20, "")
			return full(len(p.Items), err)
		},
		"records by code": func(ctx context.Context) error {
			return check.Err(acme.ByCode(ctx, "", seen, 20, ""))
		},
		"20 of the catalogue": func(ctx context.Context) error {
			p, err := acme.Catalogue(ctx, 20, "")
			return full(len(p.Items), err)
		},
	})
}
