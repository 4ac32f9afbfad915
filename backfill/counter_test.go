package backfill_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type counting struct {
	ID       string `dynamodbav:"id"`
	Members  int64  `dynamodbav:"members"`
	Revision string `dynamodbav:"revision"`
}

type counted struct {
	ID       string `dynamodbav:"id"`
	Room     string `dynamodbav:"room"`
	Revision string `dynamodbav:"revision"`
}

func roomKey(id string) keys.Key   { return keys.Key{PK: keys.PK("ROOM#" + id), SK: keys.Metadata} }
func memberKey(id string) keys.Key { return keys.Key{PK: keys.PK("MEMBER#" + id), SK: keys.Metadata} }

// A backfill counts the items of a release without counters, while both releases write.
func TestBackfillCounts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tbl := tabletest.New(t, schema.Table{}, nil)
	rooms := expect.Value(repo.New(tbl, repo.Entity[counting]{
		Type: "ROOM", Version: "revision", Counted: []string{"members"},
		Key: func(r counting) keys.Key { return roomKey(r.ID) },
	}))(t)
	entity := repo.Entity[counted]{Type: "MEMBER", Version: "revision", Key: func(m counted) keys.Key { return memberKey(m.ID) }}
	former := expect.Value(repo.New(tbl, entity))(t)
	entity.Counters = []repo.Counter[counted]{{
		Name: "members", Owner: "ROOM", Attribute: "members", Max: new(int64(5)), // which a backfill does not know
		Key: func(m counted) keys.Key { return roomKey(m.Room) },
	}}
	members := expect.Value(repo.New(tbl, entity))(t)
	for i := range 3 {
		expect.OK(t, rooms.Create(ctx, &counting{ID: fmt.Sprint(i)}))
	}
	for i := range 60 { // there is no room 3
		expect.OK(t, former.Create(ctx, &counted{ID: fmt.Sprint(i), Room: fmt.Sprint(i % 4)}))
	}
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for i := range 60 {
				id := fmt.Sprint((i*7 + g*13) % 60)
				switch (i + g) % 4 {
				case 0:
					_ = members.Delete(ctx, memberKey(id))
				case 1:
					_, _ = former.Update(ctx, memberKey(id), func(m *counted) error { m.Room = fmt.Sprint(g); return nil })
				case 2:
					_, _ = members.Update(ctx, memberKey(id), func(m *counted) error { m.Room = fmt.Sprint(g); return nil })
				default:
					_ = former.Create(ctx, &counted{ID: fmt.Sprint("new", i, g), Room: fmt.Sprint(g)})
				}
			}
		})
	}
	job := backfill.Job{Name: "counters", Table: tbl, Entities: []backfill.Entity{members}}
	expect.Value(job.Run(ctx))(t)
	wg.Wait()
	job.Name = "again"
	expect.Value(job.Run(ctx))(t)
	if report := expect.Value(job.DryRun(ctx))(t); !report.Complete() {
		t.Errorf("%+v", report)
	}
	want := map[string]int64{}
	for scan := (table.Scan{}); ; {
		page := expect.Value(table.ScanPage[map[string]any](ctx, tbl, scan))(t)
		for _, m := range page.Items {
			if m["entityType"] == "MEMBER" {
				want[fmt.Sprint(m["room"])]++
			}
		}
		if scan.After = page.Next; page.Next == "" {
			break
		}
	}
	for i := range 3 {
		id := fmt.Sprint(i)
		if r := expect.Value(rooms.Get(ctx, roomKey(id)))(t); r.Members != want[id] {
			t.Errorf("room %s: %d, want %d", id, r.Members, want[id])
		}
	}
	if _, err := rooms.Get(ctx, roomKey("3")); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

// TestOwnersThatCannotCount: the report says what is to be repaired.
func TestOwnersThatCannotCount(t *testing.T) {
	t.Parallel()
	tbl, ctx := tabletest.New(t, schema.Table{}, nil), t.Context()
	members := expect.Value(repo.New(tbl, repo.Entity[counted]{
		Type: "MEMBER", Version: "revision", Key: func(m counted) keys.Key { return memberKey(m.ID) },
		Counters: []repo.Counter[counted]{{
			Name: "members", Owner: "ROOM", Attribute: "members", Key: func(m counted) keys.Key { return roomKey(m.Room) },
		}},
	}))(t)
	expect.OK(t, tbl.Do(ctx, table.Put(roomKey("1"), map[string]any{"entityType": "ROOM", "members": nil})))
	expect.OK(t, tbl.Do(ctx, table.Put(memberKey("1"), map[string]any{"entityType": "MEMBER", "id": "1", "room": "1", "revision": "R"})))
	job := backfill.Job{Name: "counters", Table: tbl, Entities: []backfill.Entity{members}}
	report := expect.Value(job.Run(ctx))(t)
	expect.Equal(t, "set aside", report.SetAside, 1)
	for aside, err := range backfill.SetAside(ctx, tbl, "counters") {
		expect.OK(t, err)
		if !strings.Contains(fmt.Sprint(aside), `"members"`) {
			t.Errorf("%+v", aside)
		}
	}
}
