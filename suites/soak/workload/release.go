package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// nicked is a member as the next release knows it: with a nick, listed by it in an
// index, and stored under it, which makes it unique. All releases write the same
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
	Version: memberEntity.Version,
}

// boxed is a member as the release after that knows it: with the mailbox of its e-mail,
// which a compatible upgrade derives. The releases before change e-mails without it.
type boxed struct {
	nicked
	Mailbox string `dynamodbav:"mailbox"`
}

func mailbox(email string) string {
	box, _, _ := strings.Cut(email, "@")
	return box
}

var boxedEntity = repo.Entity[boxed]{
	Type:    memberType,
	Key:     func(b boxed) keys.Key { return memberKey(b.ID) },
	Indexes: repo.Indexes[boxed]{shardIndex: func(b boxed) keys.Key { return nickKey(b.Nick) }},
	Copies:  placementsOf(nickedEntity.Copies, func(b boxed) nicked { return b.nicked }),
	Version: memberEntity.Version,
	Upgrades: []repo.Upgrade{{Compatible: true, Writes: []string{"mailbox"}, Change: func(item table.Item) error {
		item["mailbox"] = encode(boxed{Mailbox: mailbox(decode[member](item).Email)})["mailbox"]
		return nil
	}}},
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

// placedWithNick returns the items of a member that all releases keep up to date, as they
// are to be stored. What the last release derives, and notes of that, is as in main.
func placedWithNick(in schema.Table, n nicked, main table.Item) state {
	s := placed(n.member)
	for _, name := range []string{"mailbox", in.Shape, in.ShapeFrom(), in.ShapeAt()} {
		for _, item := range s {
			if value, has := main[name]; has {
				item[name] = value
			}
		}
	}
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
	// number is 1 for the first release.
	number() int
	get(ctx context.Context, key keys.Key) (nicked, error)
	put(ctx context.Context, n nicked) error
	updateOps(old, n nicked) []table.Op
	createOps(n nicked) []table.Op
	updateWith(ctx context.Context, key keys.Key, change func(*nicked) ([]table.Op, error)) (nicked, error)
	delete(ctx context.Context, key keys.Key) error
}

// releaseOf is a release whose members are of a type.
type releaseOf[T any] struct {
	n    int
	repo *repo.Repo[T]
	// to makes a T, which leaves out what it does not have, and from a nicked of it, if
	// what it derives is right.
	to   func(nicked) T
	from func(T) (nicked, error)
}

// newReleases returns all releases. Those of lives have a revision, since their members are
// deleted and re-created.
func newReleases(t *table.Table, lives bool) (all [3]release, err error) {
	first, next, last := memberEntity, nickedEntity, boxedEntity
	if lives {
		first.Version, next.Version, last.Version = "revision", "revision", "revision"
	}
	members, err := repo.New(t, first)
	if err != nil {
		return all, err
	}
	withNick, err := repo.New(t, next)
	if err != nil {
		return all, err
	}
	withBox, err := repo.New(t, last)
	return [3]release{
		releaseOf[member]{1, members, func(n nicked) member { return n.member }, func(m member) (nicked, error) { return nicked{member: m}, nil }},
		releaseOf[nicked]{2, withNick, func(n nicked) nicked { return n }, func(n nicked) (nicked, error) { return n, nil }},
		releaseOf[boxed]{3, withBox, func(n nicked) boxed { return boxed{n, mailbox(n.Email)} }, func(b boxed) (nicked, error) {
			if b.Mailbox != mailbox(b.Email) {
				return b.nicked, fmt.Errorf("%s: mailbox %q was derived, of %q", b.ID, b.Mailbox, b.Email)
			}
			return b.nicked, nil
		}},
	}, err
}

func (r releaseOf[T]) number() int { return r.n }

func (r releaseOf[T]) get(ctx context.Context, key keys.Key) (nicked, error) {
	v, err := r.repo.Get(ctx, key)
	if err != nil {
		return nicked{}, err
	}
	return r.from(v)
}

func (r releaseOf[T]) put(ctx context.Context, n nicked) error { return r.repo.Save(ctx, new(r.to(n))) }

func (r releaseOf[T]) updateOps(old, n nicked) []table.Op {
	return r.repo.UpdateOps(r.to(old), new(r.to(n)))
}

func (r releaseOf[T]) createOps(n nicked) []table.Op { return r.repo.CreateOps(new(r.to(n))) }

func (r releaseOf[T]) updateWith(ctx context.Context, key keys.Key, change func(*nicked) ([]table.Op, error)) (nicked, error) {
	v, err := r.repo.UpdateWith(ctx, key, func(v *T) ([]table.Op, error) {
		n, err := r.from(*v)
		if err != nil {
			return nil, err
		}
		ops, err := change(&n)
		*v = r.to(n)
		return ops, err
	})
	if err != nil {
		return nicked{}, err
	}
	return r.from(v)
}

func (r releaseOf[T]) delete(ctx context.Context, key keys.Key) error { return r.repo.Delete(ctx, key) }
