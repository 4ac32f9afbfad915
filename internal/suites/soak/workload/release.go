package workload

import (
	"context"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// nicked is a member as the next release knows it: with a nick, listed by it in an
// index, and stored under it, which makes it unique. Both releases write the same
// members at the same time.
type nicked struct {
	member
	Nick string `dynamodbav:"nick,omitempty"`
}

const nickPrefix keys.Prefix = "NICK"

// nickKey is the key of the copy, and the one in the index. It is zero without a
// nick.
func nickKey(nick string) keys.Key {
	if nick == "" {
		return keys.Key{}
	}
	return keys.Key{PK: nickPrefix.PK(nick), SK: keys.Metadata}
}

var nickedEntity = repo.Entity[nicked]{
	Type:    memberType,
	Key:     func(n nicked) keys.Key { return memberKey(n.ID) },
	Indexes: repo.Indexes[nicked]{shardIndex: func(n nicked) keys.Key { return nickKey(n.Nick) }},
	Copies: append(
		placementsOf(memberEntity.Copies, func(n nicked) member { return n.member }),
		repo.Copy[nicked]{Name: "by nick", Key: func(n nicked) keys.Key { return nickKey(n.Nick) }}),
	Version: memberEntity.Version, VersionFromOne: true,
}

// placementsOf returns the copies that a new release takes over from an old one.
func placementsOf[New, Old any](copies []repo.Copy[Old], old func(New) Old) []repo.Copy[New] {
	taken := make([]repo.Copy[New], len(copies))
	for i, c := range copies {
		taken[i] = repo.Copy[New]{Name: c.Name, Key: func(v New) keys.Key { return c.Key(old(v)) }}
		for index, key := range c.Indexes {
			taken[i].Indexes = repo.Indexes[New]{index: func(v New) keys.Key { return key(old(v)) }}
		}
	}
	return taken
}

// placedWithNick returns the items of a member that both releases keep up to date,
// as they are to be stored.
func placedWithNick(n nicked) state {
	s := placed(n.member)
	if n.Nick == "" {
		return s
	}
	stored := encode(n)
	for _, item := range s {
		item["nick"] = stored["nick"]
	}
	index := nickKey(n.Nick)
	keys := encode(doc{ShardPK: index.PK, ShardSK: index.SK})
	for _, name := range []string{spec.Indexes[1].PK, spec.Indexes[1].SK} {
		s[memberKey(n.ID)][name] = keys[name]
	}
	return s
}

// release reads and writes members as one release of the program does.
type release interface {
	// number is 1 or 2.
	number() int
	get(ctx context.Context, key keys.Key) (nicked, error)
	put(ctx context.Context, n nicked) error
	updateOps(old, n nicked) []table.Op
	// createOps returns the version that they store, too.
	createOps(n nicked) (ops []table.Op, version int64)
	updateWith(ctx context.Context, key keys.Key, change func(*nicked) ([]table.Op, error)) (nicked, error)
	delete(ctx context.Context, key keys.Key) error
}

// releaseOf is a release whose members are of a type.
type releaseOf[T any] struct {
	n    int
	repo *repo.Repo[T]
	// to makes a T, which leaves out what it does not have, and from a nicked of it.
	to   func(nicked) T
	from func(T) nicked
}

// newReleases returns both releases. Those of lives do not count versions from 1,
// since their members are deleted and re-created.
func newReleases(t *table.Table, lives bool) (all [2]release, err error) {
	old, next := memberEntity, nickedEntity
	old.VersionFromOne, next.VersionFromOne = !lives, !lives
	first, err := repo.New(t, old)
	if err != nil {
		return all, err
	}
	second, err := repo.New(t, next)
	return [2]release{
		releaseOf[member]{1, first, func(n nicked) member { return n.member }, func(m member) nicked { return nicked{member: m} }},
		releaseOf[nicked]{2, second, func(n nicked) nicked { return n }, func(n nicked) nicked { return n }},
	}, err
}

func (r releaseOf[T]) number() int { return r.n }

func (r releaseOf[T]) get(ctx context.Context, key keys.Key) (nicked, error) {
	v, err := r.repo.Get(ctx, key)
	return r.from(v), err
}

func (r releaseOf[T]) put(ctx context.Context, n nicked) error { return r.repo.Put(ctx, new(r.to(n))) }

func (r releaseOf[T]) updateOps(old, n nicked) []table.Op {
	return r.repo.UpdateOps(r.to(old), new(r.to(n)))
}

func (r releaseOf[T]) createOps(n nicked) (ops []table.Op, version int64) {
	v := r.to(n)
	ops = r.repo.CreateOps(&v)
	return ops, r.from(v).Version
}

func (r releaseOf[T]) updateWith(ctx context.Context, key keys.Key, change func(*nicked) ([]table.Op, error)) (nicked, error) {
	v, err := r.repo.UpdateWith(ctx, key, func(v *T) ([]table.Op, error) {
		n := r.from(*v)
		ops, err := change(&n)
		*v = r.to(n)
		return ops, err
	})
	return r.from(v), err
}

func (r releaseOf[T]) delete(ctx context.Context, key keys.Key) error { return r.repo.Delete(ctx, key) }
