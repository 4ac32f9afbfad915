// Command rc1 is the program of 0.1.0-rc.1. The tests build it from the source of that release,
// into which they copy it with packages released and program. It reads calls from standard
// input and prints responses, as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	calls, responses := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var spec schema.Table
	if err := calls.Decode(&spec); err != nil {
		return err
	}
	engine, err := tabletest.Start(ctx, nil) // AWS_ENDPOINT_URL_DYNAMODB names it
	if err != nil {
		return err
	}
	t, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		return err
	}
	if len(spec.Vectors) > 0 {
		return addProduct(ctx, t)
	}
	p, err := newProgram(t)
	if err != nil {
		return err
	}
	for {
		var c program.Call
		if err := calls.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := responses.Encode(p.Do(ctx, c)); err != nil {
			return err
		}
	}
}

type repository[T any] struct{ *repo.Repo[T] }

func (r repository[T]) Save(ctx context.Context, v *T) error { return r.Put(ctx, v) }

func (r repository[T]) Count(ctx context.Context, v T) (T, error) {
	return r.Upsert(ctx, v, expression.Add(expression.Name("n"), expression.Value(1)))
}

func newRepo[T any](t *table.Table) func(repo.Entity[T]) (program.Repo[T], error) {
	return func(e repo.Entity[T]) (program.Repo[T], error) {
		r, err := repo.New(t, e)
		return repository[T]{r}, err
	}
}

// addProduct creates a product with a copy, or adds 1 to the one that there is.
func addProduct(ctx context.Context, t *table.Table) error {
	products := released.Products()
	products.Copies = []repo.Copy[released.Product]{{Name: "by email", Key: func(p released.Product) keys.Key { return released.EmailKey("PRODUCT", p.Email) }}}
	r, err := repo.New(t, products)
	if err != nil {
		return err
	}
	p := released.Product{Doc: released.Doc{ID: "p", Email: "p@x"}, Embedding: []float32{1, 0.5}}
	if err := r.Create(ctx, &p); !errors.Is(err, table.ErrExists) {
		return err
	}
	_, err = r.Update(ctx, released.Key("PRODUCT", "p"), func(p *released.Product) error { p.N++; return nil })
	return err
}

func newProgram(t *table.Table) (*program.Program, error) {
	docs := newRepo[released.Doc](t)
	p, err := program.New(t, docs, newRepo[program.Value](t))
	if err != nil {
		return nil, err
	}
	fromOne := released.Docs(released.Counted)
	fromOne.VersionFromOne = true
	r, err := docs(fromOne)
	if err != nil {
		return nil, err
	}
	p.Add(released.Counted+" from one", released.Counted, r)
	store, err := idempotency.New(t, nil)
	p.Once = func(ctx context.Context, key, payload string, plan func(context.Context) (idempotency.Plan[program.Value], error)) (idempotency.Result[program.Value], error) {
		return idempotency.Do(ctx, store, idempotency.Request{Scope: "s", Key: key, Payload: map[string]any{"email": payload}}, plan)
	}
	return p, err
}
