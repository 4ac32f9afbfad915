package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

const progressPrefix keys.Prefix = "MIGRATION"

// pageSize is how many entities are copied between two records of the progress.
const pageSize = 25

// Progress is how far a backfill has come. It is stored in the single table, as
// MIGRATION#<kind> / METADATA, after each page.
type Progress struct {
	Type    string `dynamodbav:"entityType"`
	Kind    string `dynamodbav:"kind"`
	Pages   int    `dynamodbav:"pages"`
	Copied  int    `dynamodbav:"copied"`
	Newer   int    `dynamodbav:"newer"`   // a dual write, or a page done twice, was first
	Deleted int    `dynamodbav:"deleted"` // found in the page and deleted meanwhile
	Token   string `dynamodbav:"token"`   // of the next page
	Done    bool   `dynamodbav:"done"`
}

// ProgressKey is the key of the progress of a kind.
func ProgressKey(kind string) keys.Key {
	return keys.Key{PK: progressPrefix.PK(kind), SK: keys.Metadata}
}

// Backfill copies everything in the old table that is not in the single table,
// or older there. It goes on from where an earlier one has stopped. After each
// page it calls report, whose error stops it.
//
// The tokens of pages live as long as those of the old table's codec: 72 hours
// by default. A backfill that goes on later begins anew, which does no harm.
func (r *Records[T]) Backfill(ctx context.Context, report func(Progress) error) (Progress, error) {
	p, err := r.progress(ctx)
	if err != nil {
		return p, err
	}
	for !p.Done {
		page, err := table.ScanPage[T](ctx, r.Old, r.scan(p.Token))
		if errors.Is(err, paginate.ErrInvalidCursor) && p.Token != "" {
			p.Token = ""
			continue
		}
		if err != nil {
			return p, err
		}
		for _, v := range page.Items {
			outcome, err := r.copy(ctx, v)
			if err != nil {
				return p, err
			}
			p.count(outcome)
		}
		p.Pages++
		p.Token, p.Done = page.Next, page.Next == ""
		if err := r.single.Do(ctx, table.Put(ProgressKey(r.Name), p)); err != nil {
			return p, err
		}
		if err := report(p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (r *Records[T]) scan(after string) table.Scan {
	return table.Scan{Limit: pageSize, After: after, Filter: notFence(), Consistent: true}
}

func (p *Progress) count(o outcome) {
	switch o {
	case copied:
		p.Copied++
	case newer:
		p.Newer++
	case marked:
		p.Deleted++
	}
}

// progress reads where to go on. Before all writers write twice, a backfill could
// pass by an entity that a writer then changes in the old table only.
func (r *Records[T]) progress(ctx context.Context) (Progress, error) {
	phase, err := r.least(ctx)
	if err != nil {
		return Progress{}, err
	}
	if phase < Dual {
		return Progress{}, fmt.Errorf("backfill of %s: %w: it is %v", r.Name, ErrPhase, phase)
	}
	p, err := table.Get[Progress](ctx, r.single.Consistent(), ProgressKey(r.Name))
	if errors.Is(err, table.ErrNotFound) {
		return Progress{Type: "MIGRATION", Kind: r.Name}, nil
	}
	return p, err
}
