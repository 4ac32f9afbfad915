package store

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The prefixes of groups and their members.
const (
	GroupPrefix  keys.Prefix = "GROUP"
	MemberPrefix keys.Prefix = "MEMBER"
)

// The reasons why nobody joins or leaves.
var (
	ErrAlreadyMember = errors.New("is a member already")
	ErrNotMember     = errors.New("is not a member")
)

// Group is stored once, as GROUP#<id> / METADATA, with its number of members.
type Group struct {
	ID          string `dynamodbav:"groupId"`
	Name        string `dynamodbav:"name"`
	Description string `dynamodbav:"description,omitempty"`
	Members     int64  `dynamodbav:"memberCount"`
	Version     int64  `dynamodbav:"version"`
}

var groupEntity = repo.Entity[Group]{
	Type:    "GROUP",
	Key:     func(g Group) keys.Key { return GroupKey(g.ID) },
	Counted: []string{"memberCount"},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// GroupKey is the key of a group.
func GroupKey(id string) keys.Key { return keys.Key{PK: GroupPrefix.PK(id), SK: keys.Metadata} }

// Membership is stored twice, so that it can be read from both sides: as
// GROUP#<group> / MEMBER#<user> and as USER#<user> / GROUP#<group>. An inverted
// index (sk as partition key, pk as sort key) would give the second as well.
// But it would hold every item of the table, and it has no consistent reads. Seen:
// paritysuite/dynamodb-conformance, error-messages/indexReads.test.ts.
type Membership struct {
	GroupID string `dynamodbav:"groupId"`
	UserID  string `dynamodbav:"userId"`
	// GroupName and UserName are copied, as the names in a [Comment] are. They are
	// those of GroupVersion and UserVersion.
	GroupName    string    `dynamodbav:"groupName,omitempty"`
	GroupVersion int64     `dynamodbav:"groupVersion,omitempty"`
	UserName     string    `dynamodbav:"userName,omitempty"`
	UserVersion  int64     `dynamodbav:"userVersion,omitempty"`
	Role         Role      `dynamodbav:"role"`
	JoinedAt     time.Time `dynamodbav:"joinedAt"`
	Version      int64     `dynamodbav:"version"`
}

func (m *Membership) copyUser(u User) {
	if m.UserVersion <= u.Version {
		m.UserName, m.UserVersion = u.Name, u.Version
	}
}

func (m *Membership) copyGroup(g Group) {
	if m.GroupVersion <= g.Version {
		m.GroupName, m.GroupVersion = g.Name, g.Version
	}
}

var membershipEntity = repo.Entity[Membership]{
	Type:   "MEMBERSHIP",
	Key:    MemberKey,
	Copies: []repo.Copy[Membership]{{Name: "by user", Key: MemberOfKey}},
	Counters: []repo.Counter[Membership]{{
		Name: "members", Owner: "GROUP", Attribute: "memberCount",
		Key: func(m Membership) keys.Key { return GroupKey(m.GroupID) },
	}, {
		Name: "groups", Owner: "USER", Attribute: "groupCount",
		Key: func(m Membership) keys.Key { return UserKey(m.UserID) },
	}},
	// Nobody holds a membership across leaving and joining again, so a number does.
	Version: "version",
}

// MemberKey is the key of a membership on the side of the group.
func MemberKey(m Membership) keys.Key {
	return keys.Key{PK: GroupPrefix.PK(m.GroupID), SK: MemberPrefix.SK(keys.Str(m.UserID))}
}

// MemberOfKey is the key of a membership on the side of the user.
func MemberOfKey(m Membership) keys.Key {
	return keys.Key{PK: keys.User.PK(m.UserID), SK: GroupPrefix.SK(keys.Str(m.GroupID))}
}

// MembersQuery asks for the memberships of a group.
func MembersQuery(group string) table.Query {
	return table.Query{PK: GroupPrefix.PK(group), Range: MemberPrefix.All()}
}

// GroupsQuery asks for the memberships of a user.
func GroupsQuery(user string) table.Query {
	return table.Query{PK: keys.User.PK(user), Range: GroupPrefix.All()}
}

// OpenGroup stores a new group with its first member, who owns it, in one transaction.
// Errors: [ErrNoUser], and nothing is stored.
func (s *Store) OpenGroup(ctx context.Context, g Group, owner string, at time.Time) error {
	ops, err := s.GroupOps(ctx, &g, owner, at)
	if err != nil {
		return err
	}
	return refused(s.Table.Transact(ctx, ops...))
}

// GroupOps returns the ops of [Store.OpenGroup], for [Once].
func (s *Store) GroupOps(ctx context.Context, g *Group, owner string, at time.Time) ([]table.Op, error) {
	create := s.Groups.CreateOps(g) // which sets the group's version
	join, err := s.joinOps(ctx, *g, Membership{GroupID: g.ID, UserID: owner, Role: Owner, JoinedAt: at})
	return append(create, join...), err
}

// Group returns a group, or an error that matches [table.ErrNotFound].
func (s *Store) Group(ctx context.Context, id string) (Group, error) {
	return s.Groups.Consistent().Get(ctx, GroupKey(id))
}

// Join makes a user a member, with the names of both. The two items of the membership and
// both counts change in one transaction, which fails unless group and user exist. Errors:
// [ErrAlreadyMember], [ErrNoUser], and [table.ErrNotFound] if there is no group.
func (s *Store) Join(ctx context.Context, m Membership) error {
	g, err := s.Group(ctx, m.GroupID)
	if err != nil {
		return err
	}
	ops, err := s.joinOps(ctx, g, m)
	if err != nil {
		return err
	}
	err = refused(s.Table.Transact(ctx, ops...))
	if errors.Is(err, table.ErrExists) {
		return ErrAlreadyMember
	}
	return err
}

// joinOps creates a membership of a group.
func (s *Store) joinOps(ctx context.Context, g Group, m Membership) ([]table.Op, error) {
	u, err := s.User(ctx, m.UserID)
	if err != nil {
		return nil, err
	}
	m.copyGroup(g)
	m.copyUser(u)
	return s.Memberships.CreateOps(&m), nil
}

// Membership returns the membership of a user in a group, in one consistent read, or
// [ErrNotMember].
func (s *Store) Membership(ctx context.Context, group, user string) (Membership, error) {
	m, err := s.Memberships.Consistent().Get(ctx, MemberOfKey(Membership{GroupID: group, UserID: user}))
	return m, notMember(err)
}

func notMember(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return ErrNotMember
	}
	return err
}

// Leave ends a membership. Errors: [ErrNotMember], also
// if there is no group; [ErrLastOwner].
func (s *Store) Leave(ctx context.Context, group, user string) error {
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		if _, err := s.Group(ctx, group); err != nil {
			return notMember(err)
		}
		m, err := s.Membership(ctx, group, user)
		if err != nil {
			return err
		}
		ops, err := s.withoutOwner(ctx, m)
		if err != nil {
			return err
		}
		return notMember(refused(s.Table.Transact(ctx, append(ops, s.Memberships.DeleteOps(m)...)...)))
	})
}
