package repo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type counted struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Version int64  `dynamodbav:"version"`
}

type revised struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Version string `dynamodbav:"version"`
}

// A value that was read in part cannot be written: what was not read would be
// taken for empty and removed.
func TestPartsOfEntitiesCannotBeWritten(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, table.Schema{Indexes: []table.Index{
		{Name: "part", PK: "partPK", SK: "partSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "id", "version"}},
		{Name: "whole", PK: "wholePK", SK: "wholeSK"},
	}}, nil)
	t.Run("version", func(t *testing.T) {
		t.Parallel()
		testParts(t, tbl, counted{ID: "1", Email: "ann@example.com"}, func(v counted) (string, string) { return v.ID, v.Email },
			func(v counted) string { return fmt.Sprint(v.Version) }, "0")
	})
	t.Run("revision", func(t *testing.T) {
		t.Parallel()
		testParts(t, tbl, revised{ID: "2", Email: "bob@example.com"}, func(v revised) (string, string) { return v.ID, v.Email },
			func(v revised) string { return v.Version }, "")
	})
}

func testParts[T any](t *testing.T, tbl *table.Table, v T, fields func(T) (id, email string), version func(T) string, none string) {
	key := func(v T) keys.Key {
		id, _ := fields(v)
		return keys.Key{PK: keys.Prefix("M").PK(id), SK: "M"}
	}
	members, err := repo.New(tbl, repo.Entity[T]{
		Type: "M" + none, Key: key, Version: "version",
		Indexes: repo.Indexes[T]{"part": key, "whole": key},
		Copies: []repo.Copy[T]{{Name: "e-mail", Key: func(v T) keys.Key {
			_, email := fields(v)
			return keys.Key{PK: keys.Prefix("MAIL").PK(email), SK: "MAIL"}
		}}},
	})
	expect.OK(t, err)
	expect.OK(t, members.Create(t.Context(), &v))
	for name, q := range map[string]table.Query{
		"projection":    {PK: key(v).PK, Project: []string{"id", "version"}},
		"partial index": {PK: key(v).PK, Index: "part"},
	} {
		for how, read := range map[string]func(context.Context) (T, error){
			"Query": func(ctx context.Context) (part T, err error) {
				page, err := members.Query(ctx, q)
				return page.Items[0], err
			},
			"All": func(ctx context.Context) (part T, err error) {
				all, err := table.Collect(members.All(ctx, q))
				return all[0], err
			},
			"Collect": func(ctx context.Context) (part T, err error) {
				var all []T
				err = repo.Collect(ctx, tbl, q, members.AppendTo(&all))
				return all[0], err
			},
		} {
			part := expect.Value(read(t.Context()))(t)
			id, email := fields(part)
			if wantID, _ := fields(v); id != wantID || email != "" || version(part) != none {
				t.Errorf("%s of a %s: %+v", how, name, part)
			}
			for write, err := range map[string]error{
				"UpdateOps": tbl.Transact(t.Context(), members.UpdateOps(part, new(part))...),
				"DeleteOps": tbl.Transact(t.Context(), members.DeleteOps(part)...),
			} {
				if err == nil {
					t.Errorf("%s of a %s: %s succeeds", how, name, write)
				}
			}
			if err := members.Put(t.Context(), &part); !errors.Is(err, table.ErrStale) {
				t.Errorf("%s of a %s: Put: %v", how, name, err)
			}
		}
	}
	stored := expect.Value(members.Consistent().Get(t.Context(), key(v)))(t)
	expect.Equal(t, "stored", stored, v)
	page := expect.Value(members.Query(t.Context(), table.Query{PK: key(v).PK, Index: "whole"}))(t)
	if len(page.Items) != 1 || version(page.Items[0]) == none {
		t.Errorf("a whole index gives %+v", page.Items)
	}
}

// A map keeps its version attribute without a value, and gets none if the entity has
// no version.
func TestPartsOfMapsHaveNoVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, table.Schema{}, nil)
	for version, want := range map[string]map[string]any{"": {}, "rev": {"rev": nil}} {
		key := keys.Key{PK: "MAP", SK: keys.SK("MAP#" + version)}
		maps := newRepo(t, tbl, repo.Entity[map[string]any]{
			Type: "MAP" + version, Version: version, Key: func(map[string]any) keys.Key { return key },
		})
		expect.OK(t, maps.Create(t.Context(), &map[string]any{"id": "1", "text": "long"}))
		part := expect.Value(maps.Project("id").Get(t.Context(), key))(t)
		for _, name := range []string{"pk", "sk", "entityType", "id"} {
			delete(part, name)
		}
		expect.Equal(t, "other attributes of a part with version "+version, part, want)
	}
}

// A map or a struct without a field for it could hide a version of another type.
func TestVersionOfAnotherTypeInAMap(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, table.Schema{}, nil)
	key := keys.Key{PK: "MAP", SK: "MAP"}
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "rev", Key: func(map[string]any) keys.Key { return key }})
	expect.OK(t, tbl.Do(t.Context(), table.Put(key, map[string]any{"entityType": "MAP", "rev": 7})))
	_, err := maps.Update(t.Context(), key, func(m *map[string]any) error {
		(*m)["id"] = "1"
		return nil
	})
	expect.Err(t, err, table.ErrInvalid)
}
