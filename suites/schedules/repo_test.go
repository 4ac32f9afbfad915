package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// increment counts in N.
func increment(p *person) { p.N++ }

// rename adds to the name.
func rename(suffix string) func(*person) { return func(p *person) { p.Name += suffix } }

// moveTo gives a person another mail.
func moveTo(mail string) func(*person) { return func(p *person) { p.Mail = mail } }

// histories are the calls of operations that run concurrently. Person 1 with the
// mail a is stored, unless the name says that nobody is.
// One who is adopted has no version.
var histories = map[string]func(id string) [][]call{
	"nobody: Create, Create": func(id string) [][]call {
		return [][]call{
			{create(person{ID: id + "1", Mail: id + "a", Name: "ana"})},
			{create(person{ID: id + "1", Mail: id + "a", Name: "ben"})},
		}
	},
	"nobody: Create, Create and Delete": func(id string) [][]call {
		return [][]call{
			{create(person{ID: id + "1", Mail: id + "a", Name: "ana"})},
			{create(person{ID: id + "1", Mail: id + "a", Name: "ben"}), del(id + "1")},
		}
	},
	"nobody: Create, Create of the same mail": func(id string) [][]call {
		return [][]call{
			{create(person{ID: id + "1", Mail: id + "a", Name: "ana"})},
			{create(person{ID: id + "2", Mail: id + "a", Name: "ben"})},
		}
	},
	"Update, Update": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {update(id+"1", increment)}}
	},
	"Update, Update, Update": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {update(id+"1", increment)}, {update(id+"1", rename("+"))}}
	},
	"Put, Put": func(id string) [][]call {
		return [][]call{{get(id + "1"), put(increment)}, {get(id + "1"), put(rename("+"))}}
	},
	"Put, Update": func(id string) [][]call {
		return [][]call{{get(id + "1"), put(increment)}, {update(id+"1", rename("+"))}}
	},
	"Update, Delete": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {del(id + "1")}}
	},
	"Delete, Delete and Create": func(id string) [][]call {
		return [][]call{{del(id + "1")}, {del(id + "1"), create(person{ID: id + "1", Mail: id + "a", Name: "eva"})}}
	},
	"Update, Delete and Create": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {del(id + "1"), create(person{ID: id + "1", Mail: id + "a", Name: "eva"})}}
	},
	"Put, Delete and Create": func(id string) [][]call {
		return [][]call{{get(id + "1"), put(increment)}, {del(id + "1"), create(person{ID: id + "1", Mail: id + "a", Name: "eva"})}}
	},
	"DeleteOps, Delete and Create": func(id string) [][]call {
		return [][]call{{get(id + "1"), delRead()}, {del(id + "1"), create(person{ID: id + "1", Mail: id + "a", Name: "eva"})}}
	},
	"adopted: Update, Delete": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {del(id + "1")}}
	},
	"adopted: Update, Update": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {update(id+"1", increment)}}
	},
	"adopted: Update, Delete and Create": func(id string) [][]call {
		return [][]call{{update(id+"1", increment)}, {del(id + "1"), create(person{ID: id + "1", Mail: id + "a", Name: "eva"})}}
	},
	"Update that moves, Update": func(id string) [][]call {
		return [][]call{{update(id+"1", moveTo(id+"b"))}, {update(id+"1", increment)}}
	},
	"Update that moves, Delete": func(id string) [][]call {
		return [][]call{{update(id+"1", moveTo(id+"b"))}, {del(id + "1")}}
	},
	"Update that moves, Create of that mail": func(id string) [][]call {
		return [][]call{{update(id+"1", moveTo(id+"b"))}, {create(person{ID: id + "2", Mail: id + "b", Name: "ben"})}}
	},
	"Update that moves the main key, Create under that key": func(id string) [][]call {
		return [][]call{{update(id+"1", func(p *person) { p.ID = id + "2" })}, {create(person{ID: id + "2", Mail: id + "b", Name: "ben"})}}
	},
	"Put that moves, Create of the mail left": func(id string) [][]call {
		return [][]call{{get(id + "1"), put(moveTo(id + "b"))}, {create(person{ID: id + "2", Mail: id + "a", Name: "ben"})}}
	},
}

func TestRepo(t *testing.T) {
	t.Parallel()
	for guard := range guards() {
		for name := range histories {
			for attempts, suffix := range map[int]string{0: "", 1: ", one attempt"} {
				t.Run(guard+suffix+"/"+name, func(t *testing.T) {
					t.Parallel()
					h := guarded(guard, name)
					h.options.MaxAttempts = attempts
					h.explore(t)
				})
			}
		}
	}
}

// guarded returns a history on an entity with a guard.
func guarded(guard, name string) history {
	h := history{entity: guards()[guard], actors: histories[name], adopted: strings.HasPrefix(name, "adopted")}
	if !strings.HasPrefix(name, "nobody") {
		h.first = []person{{ID: "1", Mail: "a", Name: "ana"}}
	}
	return h
}

// TestKnownSchedules replays schedules that have violated an invariant once.
func TestKnownSchedules(t *testing.T) {
	t.Parallel()
	for schedule, history := range map[string]string{
		// The create of A is refused, and executed when B has deleted its entity.
		"B A~ A B B a1": "nobody: Create, Create and Delete",
		"A~ B A B B a1": "nobody: Create, Create and Delete",
	} {
		t.Run(schedule, func(t *testing.T) {
			t.Parallel()
			h := guarded("copies", history)
			h.replay = schedule
			h.explore(t)
		})
	}
}

// TestForeignCopy has a program without this library delete a copy, and another
// person take its key, while the entity moves the copy away: what the other person
// has there stays.
func TestForeignCopy(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
		h := guarded("copies", "")
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			a, err := h.open(client, r)
			if err != nil {
				return err
			}
			_, err = a.repo.Update(ctx, mainKey(r.ID+"1"), func(p *person) error { p.Mail = r.ID + "b"; return nil })
			return err
		})
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			a, err := h.open(client, r)
			if err != nil {
				return err
			}
			if err := a.tbl.Transact(ctx, table.Delete(mailKey(r.ID+"a"))); err != nil {
				return err
			}
			return a.repo.Create(ctx, &person{ID: r.ID + "2", Mail: r.ID + "a", Name: "ben"})
		})
		a, err := h.open(r.Client, r)
		if err != nil {
			return err
		}
		r.Check(func(ctx context.Context, errs []error) error {
			if errs[1] != nil {
				return nil
			}
			p, err := a.repo.Consistent().Get(ctx, mailKey(r.ID+"a"))
			if err != nil || p.ID != r.ID+"2" {
				return fmt.Errorf("the copy of the other person is %v: %w", p, err)
			}
			return nil
		})
		return a.repo.Create(ctx, &person{ID: r.ID + "1", Mail: r.ID + "a", Name: "ana"})
	}})
}

// wanderer is an entity whose main key moves with its place.
type wanderer struct {
	ID       string `dynamodbav:"id"`
	Place    string `dynamodbav:"place"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision"`
}

// TestMoving has an entity found by a copy while its main key moves: it is never taken for
// one that does not exist, nor for one whose copies have been left behind.
func TestMoving(t *testing.T) {
	t.Parallel()
	open := func(client *dynamodb.Client, r *tabletest.Run) (*repo.Repo[wanderer], error) {
		tbl, err := table.New(client, r.Schema, nil)
		if err != nil {
			return nil, err
		}
		return repo.New(tbl, repo.Entity[wanderer]{
			Type: "WANDERER", Version: "revision",
			Key:    func(w wanderer) keys.Key { return keys.Key{PK: keys.PK("PLACE#" + w.Place), SK: keys.SK("W#" + w.ID)} },
			Copies: []repo.Copy[wanderer]{{Key: func(w wanderer) keys.Key { return orderKey(w.ID) }}},
		})
	}
	for name, other := range map[string]func(context.Context, *repo.Repo[wanderer], keys.Key) error{
		"Update": func(ctx context.Context, w *repo.Repo[wanderer], key keys.Key) error {
			_, err := w.Update(ctx, key, func(w *wanderer) error { w.N++; return nil })
			return err
		},
		"Refresh": func(ctx context.Context, w *repo.Repo[wanderer], key keys.Key) error {
			_, err := w.Refresh(ctx, key)
			return err
		},
		"RefreshOps": func(ctx context.Context, w *repo.Repo[wanderer], key keys.Key) error {
			item, err := table.Get[table.Item](ctx, w.View().Consistent(), key)
			if err != nil {
				return err
			}
			_, err = w.RefreshOps(ctx, item)
			return err
		},
		"Delete": func(ctx context.Context, w *repo.Repo[wanderer], key keys.Key) error { return w.Delete(ctx, key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{Schema: spec, Limit: *limit, Setup: func(ctx context.Context, r *tabletest.Run) error {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					w, err := open(client, r)
					if err != nil {
						return err
					}
					return other(ctx, w, orderKey(r.ID))
				})
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					w, err := open(client, r)
					for _, place := range []string{"b", "c"} {
						if err == nil {
							_, err = w.Update(ctx, orderKey(r.ID), func(w *wanderer) error { w.Place = r.ID + place; return nil })
						}
					}
					if errors.Is(err, table.ErrNotFound) && !errors.Is(err, repo.ErrOrphan) && name == "Delete" {
						return nil
					}
					return err
				})
				w, err := open(r.Client, r)
				if err != nil {
					return err
				}
				r.Check(func(ctx context.Context, errs []error) error {
					for _, err := range errs {
						if errors.Is(err, repo.ErrOrphan) || errors.Is(err, table.ErrExists) {
							return err
						}
					}
					found, err := w.Consistent().Get(ctx, orderKey(r.ID))
					if name == "Delete" && errors.Is(err, table.ErrNotFound) {
						return nil
					}
					if err != nil {
						return err
					}
					main, err := w.Consistent().Get(ctx, keys.Key{PK: keys.PK("PLACE#" + found.Place), SK: keys.SK("W#" + found.ID)})
					if err != nil || main != found {
						return fmt.Errorf("the main item of %+v is %+v: %w", found, main, err)
					}
					return nil
				})
				return w.Create(ctx, &wanderer{ID: r.ID, Place: r.ID + "a"})
			}})
		})
	}
}
