package similar

import (
	"context"
	"errors"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Embedder returns the consumer of the table's stream that gives a product a vector when it
// is new, and another one when its text has changed.
func (c *Catalogue) Embedder() (*stream.Router, error) {
	return stream.New(c.table, nil,
		stream.On(c.Products, func(ctx context.Context, change stream.Change[Product]) error {
			if p := change.New; p == nil || p.Embedded == hash(p.text()) {
				return nil // it is deleted, or its text is as it was
			}
			return c.Embed(ctx, change.Key)
		}),
		stream.IgnoreOther())
}

// Embed gives a product the vector of its present text, which a later change than the one
// that is handled may have written.
func (c *Catalogue) Embed(ctx context.Context, key keys.Key) error {
	made := map[string][]float32{} // by text: after a new price in between, the vector is still right
	_, err := c.Products.Update(ctx, key, func(p *Product) error {
		text := p.text()
		if p.Embedded == hash(text) {
			return nil // an earlier delivery has done it
		}
		if made[text] == nil {
			vector, err := c.model(ctx, text)
			if err != nil {
				return err
			}
			made[text] = vector
		}
		p.Embedding, p.Embedded = made[text], hash(text)
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		return nil // it was deleted in between
	}
	return err
}

// EmbedAll returns the job that gives a vector to the products that have none, or one of
// another text. wait is called before each call of the model: the Wait of a rate.Limiter.
func (c *Catalogue) EmbedAll(name string, wait func(context.Context) error) backfill.Job {
	return backfill.Job{
		Name: name, Table: c.table, Source: c.table,
		Map: func(ctx context.Context, item table.Item) ([]table.Op, error) {
			old, main, err := c.Products.Decode(item)
			if errors.Is(err, table.ErrWrongType) {
				return nil, nil // another entity
			}
			text := old.text()
			if err != nil || !main || old.Embedded == hash(text) {
				return nil, err
			}
			if err := wait(ctx); err != nil {
				return nil, err
			}
			p := old
			if p.Embedding, err = c.model(ctx, text); err != nil {
				return nil, err
			}
			p.Embedded = hash(text)
			return c.Products.UpdateOps(old, &p), nil
		},
	}
}
