package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
var histories = map[string][][]call{
	"nobody: Create, Create": {
		{create(person{ID: "1", Mail: "a", Name: "ana"})},
		{create(person{ID: "1", Mail: "a", Name: "ben"})},
	},
	"nobody: Create, Create and Delete": {
		{create(person{ID: "1", Mail: "a", Name: "ana"})},
		{create(person{ID: "1", Mail: "a", Name: "ben"}), del("1")},
	},
	"nobody: Create, Create of the same mail": {
		{create(person{ID: "1", Mail: "a", Name: "ana"})},
		{create(person{ID: "2", Mail: "a", Name: "ben"})},
	},
	"Update, Update":                                        {{update("1", increment)}, {update("1", increment)}},
	"Update, Update, Update":                                {{update("1", increment)}, {update("1", increment)}, {update("1", rename("+"))}},
	"Save, Save":                                            {{get("1"), put(increment)}, {get("1"), put(rename("+"))}},
	"Save, Update":                                          {{get("1"), put(increment)}, {update("1", rename("+"))}},
	"Update, Delete":                                        {{update("1", increment)}, {del("1")}},
	"Delete, Delete and Create":                             {{del("1")}, {del("1"), create(person{ID: "1", Mail: "a", Name: "eva"})}},
	"Update, Delete and Create":                             {{update("1", increment)}, {del("1"), create(person{ID: "1", Mail: "a", Name: "eva"})}},
	"Save, Delete and Create":                               {{get("1"), put(increment)}, {del("1"), create(person{ID: "1", Mail: "a", Name: "eva"})}},
	"DeleteOps, Delete and Create":                          {{get("1"), delRead()}, {del("1"), create(person{ID: "1", Mail: "a", Name: "eva"})}},
	"adopted: Update, Delete":                               {{update("1", increment)}, {del("1")}},
	"adopted: Update, Update":                               {{update("1", increment)}, {update("1", increment)}},
	"adopted: Update, Delete and Create":                    {{update("1", increment)}, {del("1"), create(person{ID: "1", Mail: "a", Name: "eva"})}},
	"Update that moves, Update":                             {{update("1", moveTo("b"))}, {update("1", increment)}},
	"Update that moves, Delete":                             {{update("1", moveTo("b"))}, {del("1")}},
	"Update that moves, Create of that mail":                {{update("1", moveTo("b"))}, {create(person{ID: "2", Mail: "b", Name: "ben"})}},
	"Update that moves the main key, Create under that key": {{update("1", func(p *person) { p.ID = "2" })}, {create(person{ID: "2", Mail: "b", Name: "ben"})}},
	"Save that moves, Create of the mail left":              {{get("1"), put(moveTo("b"))}, {create(person{ID: "2", Mail: "a", Name: "ben"})}},
}

func TestRepo(t *testing.T) {
	t.Parallel()
	for _, guard := range guards {
		for name := range histories {
			for attempts, suffix := range map[int]string{0: "", 1: ", one attempt"} {
				t.Run(guard+suffix+"/"+name, func(t *testing.T) {
					t.Parallel()
					h := historyOf(guard, name)
					h.options.MaxAttempts = attempts
					h.explore(t)
				})
			}
		}
	}
}

// losses are the histories in which a version lets a write of a former person change or delete
// the one who is re-created. DeleteOps of a counted one expect the copy to have all attributes
// of the former person.
var losses = map[string][]string{
	"version": {"Update, Delete and Create", "Save, Delete and Create", "DeleteOps, Delete and Create"},
	"counted": {"Update, Delete and Create", "Save, Delete and Create"},
}

// rareLosses are those that few schedules show, as of a deletion that is repeated after a lost
// response.
var rareLosses = map[string][]string{
	"version": {"adopted: Update, Delete and Create"},
	"counted": {"Delete, Delete and Create"},
}

// historyOf returns a history on the entity with one kind of guard.
func historyOf(guard, name string) *history {
	return &history{
		guard: guard, actors: histories[name],
		loses: slices.Contains(losses[guard], name), rarely: slices.Contains(rareLosses[guard], name),
		nobody: strings.HasPrefix(name, "nobody"), adopted: strings.HasPrefix(name, "adopted"),
	}
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
			h := historyOf("copies", history)
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
	explore(t, tabletest.Case{Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
		h := historyOf("copies", "")
		h.act(r, func(ctx context.Context, a *actor) error {
			_, err := update("1", moveTo("b")).run(ctx, a)
			return err
		})
		h.act(r, func(ctx context.Context, a *actor) error {
			if err := a.tbl.Transact(ctx, table.Delete(mailKey(r.ID+"a"))); err != nil {
				return err
			}
			return a.repo.Create(ctx, &person{ID: "2", Mail: "a", Name: "ben"})
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
			if err != nil || p.ID != "2" {
				return fmt.Errorf("the copy of the other person is %v: %w", p, err)
			}
			return nil
		})
		return a.repo.Create(ctx, &person{ID: "1", Mail: "a", Name: "ana"})
	}})
}

// wanderer is an entity whose main key moves with its place.
type wanderer struct {
	ID       string `dynamodbav:"id"`
	Place    string `dynamodbav:"place"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision"`
}

func placeKey(w wanderer) keys.Key {
	return keys.Key{PK: keys.PK("PLACE#" + w.Place), SK: keys.SK("W#" + w.ID)}
}

var wandererEntity = repo.Entity[wanderer]{
	Type: "WANDERER", Version: "revision", Key: placeKey,
	Copies: []repo.Copy[wanderer]{{Key: func(w wanderer) keys.Key { return orderKey(w.ID) }}},
}

// TestMoving has an entity found by a copy while its main key moves: it is never taken for
// one that does not exist, nor for one whose copies have been left behind.
func TestMoving(t *testing.T) {
	t.Parallel()
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
			explore(t, tabletest.Case{Setup: func(ctx context.Context, r *tabletest.Run) error {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					w, err := open(client, r, wandererEntity)
					if err != nil {
						return err
					}
					return other(ctx, w, orderKey(r.ID))
				})
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					w, err := open(client, r, wandererEntity)
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
				w, err := open(r.Client, r, wandererEntity)
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
					main, err := w.Consistent().Get(ctx, placeKey(found))
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
