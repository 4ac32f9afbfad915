package repo_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Doc is an entity of ten fields with a revision.
type Doc struct {
	ID       string   `dynamodbav:"docId"`
	Title    string   `dynamodbav:"title"`
	Body     string   `dynamodbav:"body"`
	Author   string   `dynamodbav:"author"`
	Language string   `dynamodbav:"language"`
	Tags     []string `dynamodbav:"tags"`
	Pages    int      `dynamodbav:"pages"`
	Draft    bool     `dynamodbav:"draft"`
	Place    struct {
		Shelf string `dynamodbav:"shelf"`
		Row   int    `dynamodbav:"row"`
	} `dynamodbav:"place"`
	Revision string `dynamodbav:"revision"`
}

var docKey = keys.Key{PK: keys.Prefix("DOC").PK("d-1"), SK: keys.Metadata}

var docEntity = repo.Entity[Doc]{
	Type:    "DOC",
	Key:     func(d Doc) keys.Key { return keys.Key{PK: keys.Prefix("DOC").PK(d.ID), SK: keys.Metadata} },
	Version: "revision",
}

// titled is docEntity with a copy under the title and an index.
func titled() repo.Entity[Doc] {
	e := docEntity
	e.Indexes = repo.Indexes[Doc]{"GSI2": func(d Doc) keys.Key { return keys.Key{PK: keys.Prefix("AUTHOR").PK(d.Author)} }}
	e.Copies = []repo.Copy[Doc]{{Name: "by title", Key: func(d Doc) keys.Key {
		return keys.Key{PK: keys.Prefix("TITLE").PK(d.Title), SK: keys.Metadata}
	}}}
	return e
}

// countedDoc is docEntity with two numbers in an item of the author, which counting creates.
func countedDoc() repo.Entity[Doc] {
	e, author := docEntity, func(d Doc) keys.Key { return keys.Key{PK: keys.Prefix("AUTHOR").PK(d.Author), SK: "COUNTS"} }
	e.Counters = []repo.Counter[Doc]{
		{Name: "docs", Owner: "COUNTS", Alone: true, Attribute: "docs", Key: author, Min: new(int64(0))},
		{Name: "pages", Owner: "COUNTS", Alone: true, Attribute: "pages", Key: author, Amount: func(d Doc) int64 { return int64(d.Pages) }, Max: new(int64(1000))},
	}
	return e
}

// TestRequests compares what is sent with testdata. The requests of an update of
// one field name that field, the revision and the type, and nothing else. Run it
// with -update to take over a change that is wanted.
func TestRequests(t *testing.T) {
	t.Parallel()
	pages := func(ctx context.Context, r *repo.Repo[Doc]) error {
		_, err := r.Update(ctx, docKey, func(d *Doc) error { d.Pages++; return nil })
		return err
	}
	for name, tt := range map[string]struct {
		entity repo.Entity[Doc]
		call   func(context.Context, *repo.Repo[Doc]) error
	}{
		"update":         {docEntity, pages},
		"updatewithcopy": {titled(), pages},
		"updatemovescopy": {titled(), func(ctx context.Context, r *repo.Repo[Doc]) error {
			_, err := r.Update(ctx, docKey, func(d *Doc) error { d.Title = "moved"; return nil })
			return err
		}},
		"updatemember": {docEntity, func(ctx context.Context, r *repo.Repo[Doc]) error {
			_, err := r.Update(ctx, docKey, func(d *Doc) error { d.Place.Row = 7; return nil })
			return err
		}},
		"upsert": {docEntity, func(ctx context.Context, r *repo.Repo[Doc]) error {
			_, err := r.Upsert(ctx, Doc{ID: "d-1"}, repo.Patch{Add: map[string]any{"pages": 1}})
			return err
		}},
		"updateops": {docEntity, func(ctx context.Context, r *repo.Repo[Doc]) error {
			d, err := r.Get(ctx, docKey)
			if err != nil {
				return err
			}
			return r.View().Do(ctx, r.UpdateOps(d, &d)[0])
		}},
		"getprojected": {docEntity, func(ctx context.Context, r *repo.Repo[Doc]) error {
			type titles struct{ Title string }
			_, err := table.Get[titles](ctx, r.View().Project("title", "pages"), docKey)
			return err
		}},
		"updatenothing": {docEntity, func(ctx context.Context, r *repo.Repo[Doc]) error {
			_, err := r.Update(ctx, docKey, func(*Doc) error { return nil })
			return err
		}},
		"updatecounted":  {countedDoc(), pages},
		"deletecounted":  {countedDoc(), func(ctx context.Context, r *repo.Repo[Doc]) error { return r.Delete(ctx, docKey) }},
		"deletewithcopy": {titled(), func(ctx context.Context, r *repo.Repo[Doc]) error { return r.Delete(ctx, docKey) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, &table.Options{Now: func() time.Time { return start }})
			r := newRepo(t, tbl, tt.entity)
			d := Doc{ID: "d-1", Title: "first", Author: "ana", Tags: []string{"a"}}
			expect.OK(t, r.Create(t.Context(), &d))
			// Of a later release.
			expect.OK(t, tbl.Do(t.Context(), table.Patch(docKey, table.Item{
				"isbn": &types.AttributeValueMemberS{Value: "1"},
				"place": &types.AttributeValueMemberM{Value: table.Item{
					"shelf": &types.AttributeValueMemberS{}, "row": &types.AttributeValueMemberN{Value: "0"},
					"floor": &types.AttributeValueMemberN{Value: "3"},
				}},
			})))
			skip := len(faults.Requests())
			expect.OK(t, tt.call(t.Context(), r))
			got := tabletest.Transcript(faults.Requests()[skip:], strings.NewReplacer(tbl.Schema().Name, "AppCore", d.Revision, "READ"))
			got = drawn.ReplaceAllString(got, `"NEXT"`)
			expect.Golden(t, name+".json", got)
		})
	}
}

// drawn matches a revision in a request.
var drawn = regexp.MustCompile(`"[A-Z2-7]{26}"`)
