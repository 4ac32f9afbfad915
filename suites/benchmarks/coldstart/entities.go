package coldstart

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// entityCount is how many entity types more are measured.
const entityCount = 10

// file is a file of program library that uses entity types. Its time makes it another
// one for each build, which is not cached then.
const file = `package main // built at %d

import (
	"context"
	"errors"
	"os"
	"time"

	"` + module + `/keys"
	"` + module + `/repo"
	"` + module + `/table"
)

func init() {
	if len(os.Args) < 100 { // always
		return
	}
	for _, use := range []func(context.Context, *table.Table) error{%s} {
		if err := use(context.Background(), nil); err != nil {
			panic(err)
		}
	}
}
`

// entity is Go code with one more entity type, and a repository that it is written and
// read by.
const entity = `
type entity%[1]d struct {
	Owner, ID, Field%[1]d, Revision string
	Total                           int64
	At                              time.Time
}

func (e entity%[1]d) key() keys.Key {
	return keys.Key{PK: keys.User.PK(e.Owner), SK: keys.Tx.SK(keys.Time(e.At), keys.Str(e.ID))}
}

func use%[1]d(ctx context.Context, t *table.Table) error {
	r, err := repo.New(t, repo.Entity[entity%[1]d]{Type: "Entity%[1]d", Key: entity%[1]d.key, Version: "Revision"})
	if err != nil {
		return err
	}
	var e entity%[1]d
	err = errors.Join(err, r.Create(ctx, &e), r.Save(ctx, &e), r.Delete(ctx, e.key()))
	_, failed := r.Get(ctx, e.key())
	err = errors.Join(err, failed)
	_, failed = r.Query(ctx, table.Query{PK: e.key().PK})
	err = errors.Join(err, failed)
	_, failed = r.Update(ctx, e.key(), func(e *entity%[1]d) error { return nil })
	return errors.Join(err, failed)
}
`

// entities measures what each further entity type of a program costs.
func entities(ctx context.Context, dir string) error {
	one, took, err := withEntities(ctx, dir, 1)
	if err != nil {
		return err
	}
	more, tookMore, err := withEntities(ctx, dir, 1+entityCount)
	if err != nil {
		return err
	}
	fmt.Printf("\nEach further entity type: %d KB of the stripped binary, %.2f s of its build\n",
		(more-one)>>10/entityCount, (tookMore-took).Seconds()/entityCount)
	return nil
}

// withEntities builds program library with n more entity types, and returns the
// binary's size and how long the build took.
func withEntities(ctx context.Context, dir string, n int) (bytes int64, took time.Duration, err error) {
	var code, uses strings.Builder
	for i := range n {
		fmt.Fprintf(&code, entity, i)
		fmt.Fprintf(&uses, "use%d, ", i)
	}
	with, err := overlay(ctx, dir, "library", "entities.go", fmt.Appendf(nil, file+"%s", time.Now().UnixNano(), &uses, &code))
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	bytes, err = compile(ctx, filepath.Join(dir, "entities"), "library", with)
	return bytes, time.Since(begun), err
}
