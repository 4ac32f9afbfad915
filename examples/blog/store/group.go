package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The prefixes of groups and their members, and the sort key of the counts.
const (
	GroupPrefix  keys.Prefix = "GROUP"
	MemberPrefix keys.Prefix = "MEMBER"
	countsSK     keys.SK     = "COUNTS"
)

// The reasons why nobody joins or leaves.
var (
	ErrAlreadyMember = errors.New("is a member already")
	ErrNotMember     = errors.New("is not a member")
)

// Group is stored once, as GROUP#<id> / METADATA.
type Group struct {
	ID      string `dynamodbav:"groupId"`
	Name    string `dynamodbav:"name"`
	Version int64  `dynamodbav:"version"`
}

var groupEntity = repo.Entity[Group]{
	Type:    "GROUP",
	Key:     func(g Group) keys.Key { return GroupKey(g.ID) },
	Version: "version",
	// Ids are not used again.
	VersionFromOne: true,
}

// GroupKey is the key of a group.
func GroupKey(id string) keys.Key { return keys.Key{PK: GroupPrefix.PK(id), SK: keys.Metadata} }

// Membership is stored twice, so that it can be read from both sides: as
// GROUP#<group> / MEMBER#<user> and as USER#<user> / GROUP#<group>. An inverted
// index (sk as partition key, pk as sort key) would give the second as well, but
// for every item of the table, and it has no consistent reads.
type Membership struct {
	GroupID string `dynamodbav:"groupId"`
	UserID  string `dynamodbav:"userId"`
	Role    string `dynamodbav:"role"`
	Version int64  `dynamodbav:"version"`
}

var membershipEntity = repo.Entity[Membership]{
	Type:    "MEMBERSHIP",
	Key:     MemberKey,
	Copies:  []repo.Copy[Membership]{{Name: "by user", Key: MemberOfKey}},
	Version: "version",
	// Nobody holds a membership across leaving and joining again.
	VersionFromOne: true,
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

// The counts are items of their own, so that counting does not meet the versions
// of the group and of the user.
func groupCounts(id string) keys.Key { return keys.Key{PK: GroupPrefix.PK(id), SK: countsSK} }
func userCounts(id string) keys.Key  { return keys.Key{PK: keys.User.PK(id), SK: countsSK} }

// Join makes a user a member. The two items of the membership and the two counts
// change in one transaction, on the condition that group and user exist, so the
// counts are right whoever else joins or leaves at the moment.
func (s *Store) Join(ctx context.Context, m Membership) error {
	ops := append(s.Memberships.CreateOps(&m), countOps(m, 1)...)
	ops = append(ops,
		table.Check(GroupKey(m.GroupID), exists()).WithName("group"),
		table.Check(UserKey(m.UserID), exists()).WithName("user"))
	err := s.Table.Transact(ctx, ops...)
	switch {
	case failed(err, "group"):
		return fmt.Errorf("group: %w", table.ErrNotFound)
	case failed(err, "user"):
		return fmt.Errorf("user: %w", table.ErrNotFound)
	case errors.Is(err, table.ErrExists):
		return ErrAlreadyMember
	}
	return err
}

// Leave ends a membership, in one transaction with the counts.
func (s *Store) Leave(ctx context.Context, group, user string) error {
	m, err := s.Memberships.Consistent().Get(ctx, MemberKey(Membership{GroupID: group, UserID: user}))
	if err == nil {
		err = s.Table.Transact(ctx, append(s.Memberships.DeleteOps(m), countOps(m, -1)...)...)
	}
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrStale) {
		return ErrNotMember // or no longer
	}
	return err
}

// countOps changes both counts.
func countOps(m Membership, by int) []table.Op {
	add := func(attribute string) expression.UpdateBuilder {
		return expression.Add(expression.Name(attribute), expression.Value(by)).
			Set(expression.Name("entityType"), expression.Value("COUNTS"))
	}
	return []table.Op{
		table.Update(groupCounts(m.GroupID), add("members")).WithName("members"),
		table.Update(userCounts(m.UserID), add("groups")).WithName("groups"),
	}
}

// MemberCount returns how many members a group has.
func (s *Store) MemberCount(ctx context.Context, group string) (int64, error) {
	return s.number(ctx, groupCounts(group), "members")
}

// GroupCount returns how many groups a user is in.
func (s *Store) GroupCount(ctx context.Context, user string) (int64, error) {
	return s.number(ctx, userCounts(user), "groups")
}
