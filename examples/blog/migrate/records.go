// Package migrate moves entities from tables of their own into the single table while the
// application reads and writes them, through [Records]. go run . -walk migrates three tables
// while writers write.
//
//   - [Old]: the old table is the truth, and writers write it. Deploy the code.
//   - [Dual]: the old table is the truth. Writers write it, and then a copy. Run the backfill,
//     and verify.
//   - [Switching]: the single table is the truth. Writers write it, after catching the entity
//     up. Verify until clean.
//   - [New]: the single table is the truth. Drop the old table when no process uses this package
//     any more.
//
// # Before you start
//
//   - Ids are never used again. The author and times of a post, which are parts of keys, do not
//     change.
//   - All writers go through [Records] before the phase [Dual].
//   - Lists are read from the old tables until [New].
//   - You can give up until [Switching], not after it.
//   - The phase is in four fence items of each old table, which take part in every write to it. A
//     busy table wants more.
//
// # What holds
//
// Nobody stops, and nothing is late. Each write to an old table checks its fence in the same
// transaction. A writer whose phase has passed writes again in the next one.
//
// Nothing goes back. Every write counts the version up, and copies never replace a version as
// new. A deletion first leaves a mark in the single table, for 30 days, which copies check.
//
// A crash between the old table and the copy leaves the single table behind, until the backfill, a
// verification or the next write catches up. A verification completes a deletion that is half
// done. The backfill stores its cursor and counts after each page; a page that is done again has
// no effect.
//
// Every entity is compared with all of its items. A missing item is copied and reported. A
// difference, or an item that is not an entity, is an error: the migration stops there.
//
// Counts come last: [Records] know no counters. The blog's other programs write once no process
// uses this package; then a backfill counts what was copied.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Phase is how far the migration of an entity has come. It only grows.
type Phase int

// The phases, in order.
const (
	Old       Phase = iota + 1 // the old table has everything
	Dual                       // each write to the old table is copied to the single one
	Switching                  // the old table is frozen; an entity is caught up when it is asked for
	New                        // the old table is not looked at any more
)

func (p Phase) String() string { return [...]string{"unknown", "old", "dual", "switching", "new"}[p] }

// The failures, in addition to those of package table.
var (
	// ErrNotCopied must not be repeated: the copy is made later.
	ErrNotCopied = errors.New("written to the old table and not copied yet")
	ErrDeleted   = fmt.Errorf("the id was deleted before, and ids are not used again: %w", table.ErrNotFound)
	ErrPhase     = errors.New("the migration is not in the phase for this")
	ErrDifferent = errors.New("two items with the same version of an entity differ")
)

// Records are the entities of one kind during a migration. They are safe for concurrent use.
type Records[T any] struct {
	Name   string           // what progress is stored under
	Old    *table.Table     // the table that the entities come from
	OldKey func(T) keys.Key // their key there, whose last part is the id
	// Entity is how they are stored in the single table. Its version attribute
	// counts in the old table too; where it is missing, the version is 0. Its Counters
	// are left out.
	Entity   repo.Entity[T]
	Version  func(*T) *int64 // points to the field of the version
	Segments int             // see [backfill.Job]; 4 by default

	single   *table.Table
	entities *repo.Repo[T]
	places   []*repo.Repo[T] // one for each item of an entity, which has the version of its writer
}

// NewRecords returns records with the exported fields of r.
func NewRecords[T any](single *table.Table, r Records[T]) (_ *Records[T], err error) {
	r.single, r.places, r.Segments, r.Entity.Counters = single, nil, cmp.Or(r.Segments, 4), nil
	r.entities, err = repo.New(single.Consistent(), r.Entity)
	for _, c := range append([]repo.Copy[T]{{Key: r.Entity.Key, Indexes: r.Entity.Indexes}}, r.Entity.Copies...) {
		place, wrong := repo.New(single, repo.Entity[T]{Type: r.Entity.Type, Key: c.Key, Indexes: c.Indexes})
		r.places, err = append(r.places, place), errors.Join(err, wrong)
	}
	return &r, err
}

// id names an entity among those of its kind.
func (r *Records[T]) id(v T) string {
	key := r.OldKey(v)
	return cmp.Or(string(key.SK), string(key.PK))
}

// fences says which fence an id belongs to: an item of the old table with the phase of its
// ids. There are several, so that the check of a fence is not a hot spot.
var fences = shard.Index{Prefix: "FENCE", Shards: 4}

// The attribute of a fence, and the op that checks it.
const phaseAttribute, opFence = "phase", "fence"

func (r *Records[T]) fence(shard int) keys.Key {
	key := keys.Key{PK: fences.Prefix.PK(strconv.Itoa(shard))}
	if !r.Old.Schema().SimpleKey {
		key.SK = fences.Prefix.SK()
	}
	return key
}

// holds is the check that an entity is still in a phase.
func (r *Records[T]) holds(v T, p Phase) table.Op {
	is := table.If(phaseAttribute+" = ?", p)
	return table.Check(r.fence(fences.Shard(r.id(v))), is).WithName(opFence)
}

// read returns the least phase of some fences.
func (r *Records[T]) read(ctx context.Context, shards ...int) (Phase, error) {
	least := New
	for _, i := range shards {
		stored, err := table.Get[struct {
			Phase Phase `dynamodbav:"phase"`
		}](ctx, r.Old.Consistent(), r.fence(i))
		if err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		least = min(least, stored.Phase)
	}
	return least, nil
}

// Phase returns the phase that all entities of the kind have reached.
func (r *Records[T]) Phase(ctx context.Context) (Phase, error) { return r.read(ctx, 0, 1, 2, 3) }

// Advance moves every fence on to a phase, except for those that are there or further.
// A missing one is made: advance to [Old] before the first writer goes through the records.
func (r *Records[T]) Advance(ctx context.Context, p Phase) error {
	behind := table.If("attribute_not_exists("+phaseAttribute+") OR "+phaseAttribute+" < ?", p)
	for i := range fences.Shards {
		err := r.Old.Do(ctx, table.Update(r.fence(i), expression.Set(expression.Name(phaseAttribute), expression.Value(p))).If(behind))
		if err != nil && !errors.Is(err, table.ErrConditionFailed) {
			return err
		}
	}
	return nil
}

func (r *Records[T]) old(ctx context.Context, at T) (T, error) {
	return table.Get[T](ctx, r.Old.Consistent(), r.OldKey(at))
}

// phase returns the phase of an entity, which is caught up first in the phase [Switching].
func (r *Records[T]) phase(ctx context.Context, at T) (Phase, error) {
	phase, err := r.read(ctx, fences.Shard(r.id(at)))
	if err == nil && phase == Switching {
		_, err = r.catchUp(ctx, at)
	}
	return phase, err
}

// Get reads an entity. The value at has the fields that its keys are made of.
func (r *Records[T]) Get(ctx context.Context, at T) (T, error) {
	switch phase, err := r.phase(ctx, at); {
	case err != nil:
		return at, err
	case phase <= Dual:
		return r.old(ctx, at)
	}
	return r.entities.Get(ctx, r.Entity.Key(at))
}

// Create stores a new entity.
func (r *Records[T]) Create(ctx context.Context, v T) error {
	*r.Version(&v) = 1
	return r.inPhase(ctx, v, func(ctx context.Context, phase Phase) error {
		if phase <= Dual {
			return r.putOld(ctx, v, table.Create(r.OldKey(v), v), phase)
		}
		err := r.single.Transact(ctx, append(r.entities.CreateOps(&v), r.notMarked(v))...)
		if failed(err, opMark) {
			return ErrDeleted
		}
		return err
	})
}

// Update changes an entity and returns it. Other writers cause change to be called again.
func (r *Records[T]) Update(ctx context.Context, at T, change func(*T) error) (v T, err error) {
	err = r.inPhase(ctx, at, func(ctx context.Context, phase Phase) error {
		if phase > Dual {
			v, err = r.entities.Update(ctx, r.Entity.Key(at), change)
			return err
		}
		if v, err = r.old(ctx, at); err != nil {
			return err
		}
		before := *r.Version(&v)
		if err := change(&v); err != nil {
			return err
		}
		*r.Version(&v) = before + 1
		// A version of 0 would match a missing item as well.
		put := table.Put(r.OldKey(at), v).IfVersion(r.Entity.Version, before).
			If(expression.Name(r.Old.Schema().PK).AttributeExists())
		return r.putOld(ctx, v, put, phase)
	})
	return v, err
}

// putOld writes to the old table, and copies what was written, unless it was deleted since.
func (r *Records[T]) putOld(ctx context.Context, v T, put table.Op, phase Phase) error {
	//mutants:guard blog: a write to the old table is of its phase | TestScheduleMigration | , r.holds(v, phase) =>
	err := r.Old.Transact(ctx, put, r.holds(v, phase))
	if err != nil || phase == Old {
		return err
	}
	if _, err = r.catchUp(ctx, v); err != nil && !errors.Is(err, ErrDeleted) {
		return fmt.Errorf("%w: %v", ErrNotCopied, err) //nolint:errorlint // nobody is to repeat it for its reason
	}
	return err
}

// Delete removes an entity. A missing entity is no error.
func (r *Records[T]) Delete(ctx context.Context, at T) error {
	err := r.inPhase(ctx, at, func(ctx context.Context, phase Phase) error {
		if phase > Old {
			// The mark comes first: from now on no copy can bring it back.
			if err := r.deleteCopy(ctx, at); err != nil || phase > Dual {
				return err
			}
		}
		return r.Old.Transact(ctx, table.Delete(r.OldKey(at)), r.holds(at, phase))
	})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// inPhase runs a write in the phase of the entity, again if phase or entity have changed.
func (r *Records[T]) inPhase(ctx context.Context, at T, write func(context.Context, Phase) error) error {
	return r.single.Retry(ctx, func(ctx context.Context) error {
		phase, err := r.phase(ctx, at)
		if err == nil {
			err = write(ctx, phase)
		}
		if failed(err, opFence) {
			return table.ErrConflict
		}
		return err
	})
}

// OldSchemas are the former tables: the ids as keys, without types, mostly without versions.
func OldSchemas(name string) (users, posts, comments schema.Table) {
	return schema.Table{Name: name + "-Users", PK: "userId", SimpleKey: true},
		schema.Table{Name: name + "-Posts", PK: "postId", SimpleKey: true},
		schema.Table{Name: name + "-Comments", PK: "postId", SK: "commentId"}
}

// Blog is the blog while it is being migrated.
type Blog struct {
	Users    *Records[store.User]
	Posts    *Records[store.Post]
	Comments *Records[store.Comment]
}

// NewBlog returns the records of a blog on their way into the single table.
func NewBlog(single, users, posts, comments *table.Table) (*Blog, error) {
	var b Blog
	var errs [3]error
	b.Users, errs[0] = NewRecords(single, Records[store.User]{
		Name: "users", Old: users, Entity: store.UserEntity,
		OldKey:  func(u store.User) keys.Key { return keys.Key{PK: keys.None.PK(u.ID)} },
		Version: func(u *store.User) *int64 { return &u.Version },
	})
	b.Posts, errs[1] = NewRecords(single, Records[store.Post]{
		Name: "posts", Old: posts, Entity: store.PostEntity,
		OldKey:  func(p store.Post) keys.Key { return keys.Key{PK: keys.None.PK(p.ID)} },
		Version: func(p *store.Post) *int64 { return &p.Version },
	})
	b.Comments, errs[2] = NewRecords(single, Records[store.Comment]{
		Name: "comments", Old: comments, Entity: store.CommentEntity,
		OldKey: func(c store.Comment) keys.Key {
			return keys.Key{PK: keys.None.PK(c.PostID), SK: keys.None.SK(keys.Str(c.ID))}
		},
		Version: func(c *store.Comment) *int64 { return &c.Version },
	})
	return &b, errors.Join(errs[:]...)
}

// Run carries the whole blog into the single table. See [Records.Run].
func (b *Blog) Run(ctx context.Context, to Reporter) error {
	for _, run := range []func(context.Context, Reporter) error{b.Users.Run, b.Posts.Run, b.Comments.Run} {
		if err := run(ctx, to); err != nil {
			return err
		}
	}
	return nil
}
