package store

import (
	"context"
	"errors"

	"github.com/singletable/singletable/table"
)

// Role is what a member may do.
type Role string

// The roles of members. An owner changes the group and the roles, and deletes the group.
const (
	Owner  Role = "owner"
	Member Role = "member"
)

// The reasons why a group or a role does not change.
var (
	ErrNotOwner  = errors.New("is not an owner of the group")
	ErrLastOwner = errors.New("is the only owner of the group")
)

// SetRole gives a member a role, in the name of an owner. Errors: [ErrNotOwner] if by is
// not one, [ErrNotMember], and [ErrLastOwner]: the only owner stays one.
func (s *Store) SetRole(ctx context.Context, group, by, user string, role Role) error {
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		_, err := s.Memberships.UpdateWith(ctx, MemberKey(Membership{GroupID: group, UserID: user}), func(m *Membership) (ops []table.Op, err error) {
			switch {
			case by != user: // who stays an owner
				ops = []table.Op{isOwner(group, by).WithName(opOwner)}
			case m.Role != Owner:
				return nil, ErrNotOwner
			case role != Owner:
				ops, err = s.withoutOwner(ctx, *m)
			}
			m.Role = role
			return ops, err
		})
		return notMember(refused(err))
	})
}

// withoutOwner returns what has to be true when a member goes, or loses the role: that a
// group with an owner keeps one. The check is on the membership of another owner. So of two
// owners that go at the same time, the second one finds that the first has gone.
func (s *Store) withoutOwner(ctx context.Context, m Membership) ([]table.Op, error) {
	if m.Role != Owner {
		return nil, nil
	}
	for other, err := range s.Memberships.Consistent().All(ctx, MembersQuery(m.GroupID)) {
		if err != nil {
			return nil, err
		}
		if other.Role == Owner && other.UserID != m.UserID {
			return []table.Op{isOwner(m.GroupID, other.UserID).WithName(opAnother)}, nil
		}
	}
	return nil, ErrLastOwner
}

func isOwner(group, user string) table.Op {
	owner := table.If("role = ?", Owner)
	return table.Check(MemberKey(Membership{GroupID: group, UserID: user}), owner)
}

// ChangeGroup changes name or description of a group, in the name of an owner. The
// consumer of [Store.Router] brings the name into the memberships. Errors: [ErrNotOwner],
// and [table.ErrNotFound] if there is no group.
func (s *Store) ChangeGroup(ctx context.Context, id, by string, change func(*Group)) (Group, error) {
	g, err := s.Groups.UpdateWith(ctx, GroupKey(id), func(g *Group) ([]table.Op, error) {
		change(g)
		return []table.Op{isOwner(id, by).WithName(opOwner)}, nil
	})
	return g, refused(err)
}

// DeleteGroup removes a group, in the name of an owner. The consumer of
// [Store.Router] removes the memberships. Nobody can join once the group is gone. Errors:
// [ErrNotOwner], and [table.ErrNotFound] if there is no group.
func (s *Store) DeleteGroup(ctx context.Context, id, by string) error {
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		g, err := s.Groups.Consistent().Get(ctx, GroupKey(id))
		if err != nil {
			return err
		}
		return refused(s.Table.Transact(ctx, append(s.Groups.DeleteOps(g),
			isOwner(id, by).WithName(opOwner))...))
	})
}
