package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// visit is an entity that another program writes, too. N counts the visits, Label is unique.
type visit struct {
	ID      string `dynamodbav:"id"`
	N       int64  `dynamodbav:"n"`
	Label   string `dynamodbav:"label,omitempty"`
	Updated int64  `dynamodbav:"updated,omitempty"`
}

func visitKey(id string) keys.Key { return keys.Key{PK: keys.PK("VISIT#" + id), SK: keys.Metadata} }

func labelKey(label string) keys.Key {
	if label == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.PK("_unique#" + label), SK: "_unique#"}
}

var visitEntity = repo.Entity[visit]{
	Type: "VISIT", Key: func(v visit) keys.Key { return visitKey(v.ID) },
	Shared: &repo.Shared[visit]{
		Unique: func(v visit) []keys.Key { return []keys.Key{labelKey(v.Label)} }, UniqueType: "_Unique",
	},
}

// visiting is a write of a visit: how much it adds to N if it succeeds.
type visiting struct {
	adds int64
	do   func(ctx context.Context, tbl *table.Table, visits *repo.Repo[visit], run string) error
}

// theirs is a write without a condition, as those of the other program.
func theirs(u expression.UpdateBuilder) func(context.Context, *table.Table, *repo.Repo[visit], string) error {
	return func(ctx context.Context, tbl *table.Table, _ *repo.Repo[visit], run string) error {
		return tbl.Do(ctx, table.Update(visitKey(run), u))
	}
}

func labels(id, label string) func(context.Context, *table.Table, *repo.Repo[visit], string) error {
	return func(ctx context.Context, _ *table.Table, visits *repo.Repo[visit], run string) error {
		_, err := visits.Update(ctx, visitKey(run+id), func(v *visit) error { v.Label = run + label; return nil })
		return err
	}
}

var visitings = map[string]visiting{
	"Update": {1, func(ctx context.Context, _ *table.Table, visits *repo.Repo[visit], run string) error {
		_, err := visits.Update(ctx, visitKey(run), func(v *visit) error { v.N++; return nil })
		return err
	}},
	"UpdateWith": {1, func(ctx context.Context, _ *table.Table, visits *repo.Repo[visit], run string) error {
		_, err := visits.UpdateWith(ctx, visitKey(run), func(v *visit) ([]table.Op, error) {
			v.N++
			return []table.Op{table.Put(visitKey(run+"log"), map[string]int64{"n": v.N})}, nil
		})
		return err
	}},
	"theirs":       {10, theirs(expression.Add(expression.Name("n"), expression.Value(10)))},
	"their colour": {0, theirs(expression.Set(expression.Name("colour"), expression.Value("red")))},
	"a label":      {0, labels("", "a")},
	"the label":    {0, labels("other", "a")},
	"another":      {0, labels("", "b")},
}

// TestShared runs each two of the writes, with and without a time: no visit is lost, and a label
// has one owner, which has the item that keeps it.
func TestShared(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(visitings))
	for i, one := range names {
		for j, other := range names[i:] {
			entity := visitEntity
			if (i+j)%2 == 0 {
				entity.Version = "updated"
			}
			t.Run(one+", "+other, func(t *testing.T) {
				t.Parallel()
				exploreShared(t, entity, one, other)
			})
		}
	}
}

func exploreShared(t *testing.T, e repo.Entity[visit], writes ...string) {
	t.Helper()
	explore(t, tabletest.Case{Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
		visits, err := open(r.Client, r, e)
		if err != nil {
			return err
		}
		err = errors.Join(visits.Create(ctx, &visit{ID: r.ID}), visits.Create(ctx, &visit{ID: r.ID + "other"}))
		for _, name := range writes {
			r.Go(func(ctx context.Context, client *dynamodb.Client) error {
				tbl, err := openTable(client, r, table.Options{})
				if err != nil {
					return err
				}
				visits, err := repo.New(tbl, e)
				if err != nil {
					return err
				}
				return visitings[name].do(ctx, tbl, visits, r.ID)
			})
		}
		r.Check(func(ctx context.Context, errs []error) error {
			var least, most int64
			for i, name := range writes {
				if adds := visitings[name].adds; errs[i] == nil {
					least, most = least+adds, most+adds
				} else if !semantic(errs[i]) {
					most += adds
				}
			}
			v, err := visits.Consistent().Get(ctx, visitKey(r.ID))
			if err != nil {
				return err
			}
			if v.N < least || v.N > most {
				return fmt.Errorf("%d visits, want %d to %d", v.N, least, most)
			}
			other, err := visits.Consistent().Get(ctx, visitKey(r.ID+"other"))
			if err != nil {
				return err
			}
			return checkLabels(ctx, visits.View().OfType(""), r.ID, v.Label, other.Label)
		})
		return err
	}})
}

func checkLabels(ctx context.Context, tbl *table.Table, run string, has ...string) error {
	for _, label := range []string{run + "a", run + "b"} {
		owners := 0
		for _, of := range has {
			if of == label {
				owners++
			}
		}
		_, err := table.Get[table.Item](ctx, tbl.Consistent(), labelKey(label))
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if kept := err == nil; owners > 1 || kept != (owners == 1) {
			return fmt.Errorf("label %s has %d owners, and an item: %v", label, owners, kept)
		}
	}
	return nil
}
