package repo_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Entities of every kind of version.
type (
	counted struct {
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email"`
		Text    string `dynamodbav:"text"`
		Version int64  `dynamodbav:"version,omitempty"`
	}
	small struct {
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email"`
		Text    string `dynamodbav:"text"`
		Version int8   `dynamodbav:"version,omitempty"`
	}
	unsigned struct {
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email"`
		Text    string `dynamodbav:"text"`
		Version uint16 `dynamodbav:"version,omitempty"`
	}
	revised struct {
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email"`
		Text    string `dynamodbav:"text"`
		Version string `dynamodbav:"version,omitempty"`
	}
	mapped map[string]any
)

// TestPartsCannotBeWritten reads parts of an entity in every way, and gives them to every
// write: what was not read would be taken for empty and removed. The entity has a version,
// or none yet.
func TestPartsCannotBeWritten(t *testing.T) {
	t.Parallel()
	testParts(t, "counted", func(id, email string) counted { return counted{ID: id, Email: email, Text: "long"} }, func(v counted) (string, string) { return v.ID, v.Email })
	testParts(t, "small", func(id, email string) small { return small{ID: id, Email: email, Text: "long"} }, func(v small) (string, string) { return v.ID, v.Email })
	testParts(t, "unsigned", func(id, email string) unsigned { return unsigned{ID: id, Email: email, Text: "long"} }, func(v unsigned) (string, string) { return v.ID, v.Email })
	testParts(t, "revised", func(id, email string) revised { return revised{ID: id, Email: email, Text: "long"} }, func(v revised) (string, string) { return v.ID, v.Email })
	testParts(t, "mapped", func(id, email string) mapped { return mapped{"id": id, "email": email, "text": "long"} }, func(v mapped) (string, string) {
		id, _ := v["id"].(string)
		email, _ := v["email"].(string)
		return id, email
	})
}

var partSchema = table.Schema{Indexes: []table.Index{
	{Name: "part", PK: "partPK", SK: "partSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "id", "email", "version"}},
	{Name: "keys", PK: "keysPK", SK: "keysSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "id", "email"}},
}}

func testParts[T any](t *testing.T, typ string, value func(id, email string) T, fields func(T) (id, email string)) {
	key := func(v T) keys.Key {
		id, _ := fields(v)
		return keys.Key{PK: keys.Prefix("M").PK(id), SK: "M"}
	}
	byEmail := func(v T) keys.Key {
		_, email := fields(v)
		return keys.Key{PK: keys.Prefix("MAIL").PK(email), SK: "MAIL"}
	}
	for name, upgrades := range map[string][]repo.Upgrade{"": nil, ", upgraded": {repo.Default("text", "none")}} {
		for _, adopted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s%s, adopted %v", typ, name, adopted), func(t *testing.T) {
				t.Parallel()
				tbl := tabletest.New(t, partSchema, nil)
				e := repo.Entity[T]{
					Type: typ, Key: key, Version: "version", VersionFromOne: typ == "small" || typ == "unsigned", Upgrades: upgrades,
					Indexes: repo.Indexes[T]{"part": key, "keys": key}, Copies: []repo.Copy[T]{{Name: "e-mail", Key: byEmail}},
				}
				all := newRepo(t, tbl, e)
				v := value("1", "ann@example.com")
				expect.OK(t, all.Create(t.Context(), &v))
				for _, k := range []keys.Key{key(v), byEmail(v)} {
					if adopted {
						expect.OK(t, tbl.Do(t.Context(), table.Patch(k, nil, "version")))
					}
				}
				before := expect.Value(table.BatchGet[map[string]any](t.Context(), tbl, []keys.Key{key(v), byEmail(v)}))(t)
				read := 0
				for how, part := range partsOf(t, tbl, all, key(v), len(upgrades) == 0) {
					for i, part := range part {
						read++
						for write, err := range writesOf(t, tbl, all, part, v) {
							expect.Err(t, err, table.ErrStale)
							expect.NotErr(t, err, table.ErrInvalid)
							expect.Equal(t, fmt.Sprintf("after %s of %s %d", write, how, i),
								expect.Value(table.BatchGet[map[string]any](t.Context(), tbl, []keys.Key{key(v), byEmail(v)}))(t), before)
						}
					}
				}
				if read < 12 {
					t.Errorf("%d parts were read", read)
				}
			})
		}
	}
}

// partsOf reads a part of an entity in every way there is.
func partsOf[T any](t *testing.T, tbl *table.Table, all *repo.Repo[T], key keys.Key, partialIndexes bool) map[string][]T {
	ctx := t.Context()
	names := []string{"id", "email", "version"}
	read := map[string][]T{}
	add := func(how string, vs ...T) {
		if len(vs) == 0 {
			t.Errorf("%s gives nothing", how)
		}
		read[how] = append(read[how], vs...)
	}
	projected, view := all.Project(names...), all.View().Project(names...)
	add("Get", expect.Value(projected.Get(ctx, key))(t))
	add("GetMany", slices.Collect(maps.Values(expect.Value(projected.GetMany(ctx, []keys.Key{key}))(t)))...)
	add("Get of a view", expect.Value(table.Get[T](ctx, view, key))(t))
	add("BatchGet of a view", slices.Collect(maps.Values(expect.Value(table.BatchGet[T](ctx, view, []keys.Key{key}))(t)))...)
	add("TransactGet of a view", slices.Collect(maps.Values(expect.Value(table.TransactGet[T](ctx, view, []keys.Key{key}))(t)))...)
	add("ScanPage of a view", expect.Value(table.ScanPage[T](ctx, all.View(), table.Scan{Project: names, Filter: expression.Name("sk").Equal(expression.Value("M"))}))(t).Items...)
	queries := map[string]table.Query{"projection": {PK: key.PK, Project: names}}
	if partialIndexes {
		queries["partial index"] = table.Query{Index: "part", PK: key.PK}
		queries["partial index without the version"] = table.Query{Index: "keys", PK: key.PK}
	}
	for name, q := range queries {
		add("Query, "+name, expect.Value(all.Query(ctx, q))(t).Items...)
		add("All, "+name, expect.Value(table.Collect(all.All(ctx, q)))(t)...)
		add("QueryPage of a view, "+name, expect.Value(table.QueryPage[T](ctx, all.View(), q))(t).Items...)
		for how, on := range map[string]*table.Table{"": tbl, " of its view": all.View()} {
			var vs []T
			expect.OK(t, repo.Collect(ctx, on, q, all.AppendTo(&vs)))
			add("Collect"+how+", "+name, vs...)
			for v, err := range repo.Stream(ctx, on, q, all) {
				expect.OK(t, err)
				add("Stream"+how+", "+name, v.(T))
			}
		}
		if q.Index != "" {
			reader := expect.Value(shard.New[T](all.View(), shard.Index{Index: q.Index, Prefix: "M", Suffixes: []string{"#1"}}, nil))(t)
			add("shards, "+name, expect.Value(reader.Latest(ctx, 1))(t)...)
		}
	}
	whole := table.Query{PK: key.PK}
	for how, on := range map[string]*table.Table{"a projected table": tbl.Project(names...), "a projected view": view} {
		var vs []T
		expect.OK(t, repo.Collect(ctx, on, whole, all.AppendTo(&vs)))
		add("Collect of "+how, vs...)
		for v, err := range repo.Stream(ctx, on, whole, all) {
			expect.OK(t, err)
			add("Stream of "+how, v.(T))
		}
	}
	return read
}

// writesOf gives a part to every write. whole is the whole value.
func writesOf[T any](t *testing.T, tbl *table.Table, all *repo.Repo[T], part, whole T) map[string]error {
	ctx, v := t.Context(), func() *T { return new(part) }
	run := func(ops []table.Op) error { return tbl.Transact(ctx, ops...) }
	return map[string]error{
		"Create":            all.Create(ctx, v()),
		"TransactCreate":    all.TransactCreate(ctx, v()),
		"Put":               all.Put(ctx, v()),
		"TransactPut":       all.TransactPut(ctx, v()),
		"CreateOps":         run(all.CreateOps(v())),
		"PutOps":            run(all.PutOps(v())),
		"UpdateOps":         run(all.UpdateOps(whole, v())),
		"UpdateOps, former": run(all.UpdateOps(part, new(whole))),
		"DeleteOps":         run(all.DeleteOps(part)),
	}
}

// A value whose version the caller sets counts as whole, as one that an If-Match names.
func TestAVersionThatIsSetMakesAPartWhole(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, partSchema, nil)
	all := newRepo(t, tbl, repo.Entity[revised]{Type: "revised", Version: "version", Key: func(v revised) keys.Key { return keys.Key{PK: keys.Prefix("M").PK(v.ID), SK: "M"} }})
	v := revised{ID: "1", Text: "long"}
	expect.OK(t, all.Create(t.Context(), &v))
	part := expect.Value(all.Project("id").Get(t.Context(), keys.Key{PK: "M#1", SK: "M"}))(t)
	part.Version = v.Version
	expect.OK(t, all.Put(t.Context(), &part))
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
