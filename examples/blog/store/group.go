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

// Group is stored once, as GROUP#<id> / METADATA.
type Group struct {
	ID          string `dynamodbav:"groupId"`
	Name        string `dynamodbav:"name"`
	Description string `dynamodbav:"description,omitempty"`
	Version     int64  `dynamodbav:"version"`
}

var groupEntity = repo.Entity[Group]{
	Type: "GROUP",
	Key:  func(g Group) keys.Key { return GroupKey(g.ID) },
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

// Group returns a group with its count of members, or an error that matches
// [table.ErrNotFound].
func (s *Store) Group(ctx context.Context, id string) (g Group, members int64, err error) {
	if g, err = s.Groups.Consistent().Get(ctx, GroupKey(id)); err == nil {
		members, err = s.MemberCount(ctx, id)
	}
	return g, members, err
}

// Join makes a user a member, with the names of both. The two items of the
// membership and the two counts change in one transaction, on the condition
// that group and user exist. So the counts are right under concurrent joins and
// leaves. Errors: [ErrAlreadyMember], [ErrNoUser], and [table.ErrNotFound] if there is no
// group.
func (s *Store) Join(ctx context.Context, m Membership) error {
	g, err := s.Groups.Consistent().Get(ctx, GroupKey(m.GroupID))
	if err != nil {
		return err
	}
	ops, err := s.joinOps(ctx, g, m)
	if err != nil {
		return err
	}
	err = refused(s.Table.Transact(ctx, append(ops, groupExists(g.ID))...))
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
	ops := append(s.Memberships.CreateOps(&m), countOps(m, 1)...)
	return append(ops, table.Check(UserKey(m.UserID), exists()).WithName(opUser)), nil
}

func groupExists(id string) table.Op { return table.Check(GroupKey(id), exists()).WithName(opGroup) }

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

// Leave ends a membership, in one transaction with the counts. Errors: [ErrNotMember], also
// if there is no group; [ErrLastOwner].
func (s *Store) Leave(ctx context.Context, group, user string) error {
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		if _, err := s.Groups.Consistent().Get(ctx, GroupKey(group)); err != nil {
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
		ops = append(append(ops, s.Memberships.DeleteOps(m)...), countOps(m, -1)...)
		return notMember(refused(s.Table.Transact(ctx, append(ops, groupExists(group))...)))
	})
}

// countOps changes both counts.
func countOps(m Membership, by int) []table.Op {
	return []table.Op{count(GroupPrefix.PK(m.GroupID), memberCount, by), count(keys.User.PK(m.UserID), groupCount, by)}
}

// MemberCount returns how many members a group has.
func (s *Store) MemberCount(ctx context.Context, group string) (int64, error) {
	c, err := s.counts(ctx, GroupPrefix.PK(group))
	return c.Members, err
}

// GroupCount returns how many groups a user is in.
func (s *Store) GroupCount(ctx context.Context, user string) (int64, error) {
	c, err := s.counts(ctx, keys.User.PK(user))
	return c.Groups, err
}
