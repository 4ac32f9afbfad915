package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// member is an entity with three items: under its id, in its team, and
// under its e-mail, which is unique by that.
type member struct {
	ID    string `dynamodbav:"id"`
	Team  string `dynamodbav:"team"`
	Email string `dynamodbav:"email"`
	By    string `dynamodbav:"by"`
	Score int64  `dynamodbav:"score"`
	// Version counts the writes and guards them. Members that are deleted and re-created
	// are guarded by their Revision. The workload counts their writes, from a random number
	// in each life, so a history tells the lives apart.
	Version  int64  `dynamodbav:"version"`
	Revision string `dynamodbav:"revision,omitempty"`
}

const (
	memberPrefix keys.Prefix = "MEMBER"
	teamPrefix   keys.Prefix = "TEAM"
	emailPrefix  keys.Prefix = "EMAIL"
	memberType               = "MEMBER"
	changeType               = "CHANGE"
)

func memberKey(id string) keys.Key { return keys.Key{PK: memberPrefix.PK(id), SK: keys.Profile} }
func emailKey(email string) keys.Key {
	return keys.Key{PK: emailPrefix.PK(email), SK: keys.Metadata}
}

func teamKey(m member) keys.Key {
	return keys.Key{PK: teamPrefix.PK(m.Team), SK: memberPrefix.SK(keys.Str(m.ID))}
}

var memberEntity = repo.Entity[member]{
	Type: memberType,
	Key:  func(m member) keys.Key { return memberKey(m.ID) },
	Copies: []repo.Copy[member]{
		{Name: "in team", Key: teamKey, Indexes: repo.Indexes[member]{listIndex: func(m member) keys.Key {
			return keys.Key{PK: teamPrefix.PK(m.Team), SK: keys.None.SK(keys.Int(m.Score, 6), keys.Str(m.ID))}
		}}},
		{Name: "by email", Key: func(m member) keys.Key { return emailKey(m.Email) }},
	},
	Version: "version",
}

// change is an entity of one item that is kept for each version of a member.
type change struct {
	ID string `dynamodbav:"id"`
	Of int64  `dynamodbav:"of"`
	By string `dynamodbav:"by"`
	// Release is the one that has written the version, in a round, and Nick the
	// nick that it has set.
	Release int    `dynamodbav:"release,omitempty"`
	Nick    string `dynamodbav:"nick,omitempty"`
}

var changeEntity = repo.Entity[change]{
	Type: changeType,
	Key: func(c change) keys.Key {
		return keys.Key{PK: memberPrefix.PK(c.ID), SK: keys.Prefix(changeType).SK(keys.Int(c.Of, 6))}
	},
}

// entities are the repositories of a session.
type entities struct {
	members *repo.Repo[member]
	changes *repo.Repo[change]
}

func newEntities(t *table.Table) (e entities, err error) {
	var failed error
	e.members, err = repo.New(t, memberEntity)
	e.changes, failed = repo.New(t, changeEntity)
	return e, errors.Join(err, failed)
}

// placed returns the items of a member as they are to be stored.
func placed(m member) state {
	s := state{}
	for i, key := range memberKeys(m) {
		d := doc{PK: key.PK, SK: key.SK, Type: memberType}
		if i == 1 {
			d.ListPK, d.ListSK = teamPrefix.PK(m.Team), keys.None.SK(keys.Int(m.Score, 6), keys.Str(m.ID))
		}
		s[key] = itemOf(m, d)
	}
	return s
}

// memberKeys are the keys of the items of a member.
func memberKeys(m member) []keys.Key {
	return []keys.Key{memberKey(m.ID), teamKey(m), emailKey(m.Email)}
}

// itemOf returns the item of an entity, with the attributes that the library adds.
func itemOf(entity any, with doc) table.Item {
	item := encode(entity)
	maps.Copy(item, encode(with))
	return item
}

const ownMembers = 5

// memberID returns one of the ids of the worker's own members.
func (w *worker) memberID(i int) string { return fmt.Sprintf("%d-%d", w.id, i) }

// anyMember draws a value for a member; e-mails and teams are few.
func (w *worker) anyMember() member {
	return member{
		ID:    w.memberID(w.r.IntN(ownMembers)),
		Team:  fmt.Sprintf("%d-%s", w.id, names[w.r.IntN(3)]),
		Email: fmt.Sprintf("%d@%d", w.r.IntN(ownMembers+2), w.id),
		By:    w.by, Score: w.r.Int64N(1000),
	}
}

// member returns the member with an id.
func (w *worker) member(id string) (member, bool) {
	item := w.model[memberKey(id)]
	if item == nil {
		return member{}, false
	}
	return decode[member](item), true
}

// free reports whether an e-mail is free for a member.
func (w *worker) free(m member) bool {
	item := w.model[emailKey(m.Email)]
	return item == nil || decode[member](item).ID == m.ID
}

// replaced says what a change of a member from old to m leaves behind.
func replaced(old, m member) state {
	s := removed(old)
	maps.Copy(s, placed(m))
	return s
}

// removed says what the removal of a member leaves behind.
func removed(m member) state {
	s := state{}
	for k := range placed(m) {
		s[k] = nil
	}
	return s
}

// untouched makes an operation expect a refusal.
func (w *worker) untouched(s operation, want ...error) operation {
	s.want = want
	w.unchanged(s)
	return s
}

func (w *worker) createMember(e entities) operation {
	m := w.anyMember()
	stored := m
	stored.Version = 1
	s := operation{
		name: "repo Create", after: placed(stored),
		run: func(ctx context.Context) error { return e.members.Create(ctx, new(m)) },
	}
	if w.r.IntN(3) == 0 {
		s.name, s.run = "Transact of repo CreateOps", func(ctx context.Context) error { return w.table.Transact(ctx, e.members.CreateOps(new(m))...) }
	}
	if _, there := w.member(m.ID); there || !w.free(m) {
		return w.untouched(s, table.ErrExists)
	}
	return s
}

func (w *worker) putMember(e entities) operation {
	m := w.anyMember()
	old, there := w.member(m.ID)
	m.Version = old.Version
	if stale := w.r.IntN(5) == 0; stale {
		m.Version++
	}
	stored := m
	stored.Version++
	s := operation{
		name: "repo Save", after: placed(stored),
		run: func(ctx context.Context) error { return e.members.Save(ctx, new(m)) },
	}
	if there {
		s.after = replaced(old, stored)
	}
	switch {
	case m.Version != old.Version:
		return w.untouched(s, table.ErrConflict)
	case !w.free(m):
		return w.untouched(s, table.ErrExists)
	}
	return s
}

// errGivenUp is the application's own refusal.
var errGivenUp = fmt.Errorf("the change was given up: %w", table.ErrConditionFailed)

func (w *worker) updateMember(e entities) operation {
	m := w.anyMember()
	old, there := w.member(m.ID)
	giveUp, with := w.r.IntN(8) == 0, w.r.IntN(2) == 0
	m.Version = old.Version + 1
	c := change{ID: m.ID, Of: m.Version, By: w.by}
	apply := func(v *member) error {
		if giveUp {
			return errGivenUp
		}
		v.Team, v.Email, v.By, v.Score = m.Team, m.Email, m.By, m.Score
		return nil
	}
	key := memberKey(m.ID)
	if there {
		key = memberKeys(old)[w.r.IntN(3)]
	}
	s := operation{name: "repo Update", after: replaced(old, m)}
	s.run = func(ctx context.Context) error {
		_, err := e.members.Update(ctx, key, apply)
		return err
	}
	if with {
		s.name = "repo UpdateWith"
		recorded := changeEntity.Key(c)
		s.after[recorded] = itemOf(c, doc{PK: recorded.PK, SK: recorded.SK, Type: changeType})
		s.run = func(ctx context.Context) error {
			_, err := e.members.UpdateWith(ctx, key, func(v *member) ([]table.Op, error) {
				return e.changes.PutOps(new(c)), apply(v)
			})
			return err
		}
	}
	switch {
	case !there:
		s.after = placed(m)
		return w.untouched(s, table.ErrNotFound)
	case giveUp:
		return w.untouched(s, errGivenUp)
	case !w.free(m):
		return w.untouched(s, table.ErrExists)
	}
	return s
}

func (w *worker) deleteMember(e entities) operation {
	id := w.memberID(w.r.IntN(ownMembers))
	m, there := w.member(id)
	s := operation{name: "repo Delete", after: state{memberKey(id): nil}}
	key := memberKey(id)
	if there {
		s.after = removed(m)
		key = memberKeys(m)[w.r.IntN(3)]
	}
	s.run = func(ctx context.Context) error { return e.members.Delete(ctx, key) }
	return s
}

// items checks, of all members, that what is stored under their keys is
// the same.
func (w *worker) items(ctx context.Context) error {
	for i := range ownMembers {
		m, there := w.member(w.memberID(i))
		if !there {
			continue
		}
		got, err := w.read(ctx, memberKeys(m))
		if err != nil {
			return err
		}
		w.check(report.Items, differ(got, placed(m)))
	}
	return nil
}

// team reads the members of a team: by themselves, and together with others.
func (w *worker) team(e entities) operation {
	team := w.anyMember().Team
	var want []member
	for i := range ownMembers {
		if m, there := w.member(w.memberID(i)); there && m.Team == team {
			want = append(want, m)
		}
	}
	slices.SortFunc(want, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
	})
	q := table.Query{Index: listIndex, PK: teamPrefix.PK(team)}
	name, read := "repo All", func(ctx context.Context) ([]member, error) {
		return table.Collect(e.members.All(ctx, q))
	}
	switch w.r.IntN(4) {
	case 0:
		name, read = "repo Collect", func(ctx context.Context) (have []member, err error) {
			err = repo.Collect(ctx, w.table, q, e.members.AppendTo(&have), repo.IgnoreOther())
			return have, err
		}
	case 1:
		name, read = "repo Stream", func(ctx context.Context) (have []member, err error) {
			for v, err := range repo.Stream(ctx, w.table, q, e.members, e.changes) {
				if err != nil {
					return nil, err
				}
				if m, ok := v.(member); ok {
					have = append(have, m)
				}
			}
			return have, nil
		}
	case 2:
		name, read = "repo Query", func(ctx context.Context) ([]member, error) {
			page, err := e.members.Query(ctx, q)
			return page.Items, err
		}
	}
	return reading(name, want, read, report.Truth)
}

// getMembers reads members by ids.
func (w *worker) getMembers(e entities) operation {
	var ks []keys.Key
	want := map[keys.Key]member{}
	for i := range ownMembers {
		m, there := w.member(w.memberID(i))
		ks = append(ks, memberKey(w.memberID(i)))
		if there {
			want[ks[i]] = m
		}
	}
	return reading("repo BatchGet", want, func(ctx context.Context) (map[keys.Key]member, error) {
		return e.members.BatchGet(ctx, ks)
	}, report.Truth)
}
