package store

import (
	"context"
	"errors"
	"slices"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Router returns the consumer of the table's stream. It keeps the names in comments and
// memberships up to date. It removes the comments and views of a post that is gone, the
// memberships of a group that is gone, and the objects that no content names any more.
//
// Every comment ends with the author's last name, in whatever order and however often
// the changes come. A comment that is committed before the name is found by the refresh
// of the name, which reads consistently. For a comment that is committed after it, the
// comment's own change reads the name. And no write replaces a later version by an
// earlier one. The same holds for memberships, and the names of their user and group.
//
// It is an error if the store has no Objects.
func (s *Store) Router() (*stream.Router, error) {
	if s.Objects == nil {
		return nil, errors.New("a consumer deletes objects, and the store has none")
	}
	return stream.New(s.Table, nil,
		stream.On(s.Users, func(ctx context.Context, c stream.Change[User]) error {
			// What was written keeps the name of a deleted user.
			if c.New == nil || c.Kind == stream.Modify && !slices.Contains(c.Changed, "name") && !slices.Contains(c.Changed, "avatar") {
				return nil
			}
			return errors.Join(s.RefreshComments(ctx, c.New.ID), s.RefreshMemberships(ctx, c.New.ID))
		}),
		stream.On(s.Comments, func(ctx context.Context, c stream.Change[Comment]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return s.refreshAuthor(ctx, *c.New)
		}),
		stream.On(s.Groups, func(ctx context.Context, c stream.Change[Group]) error {
			switch {
			case c.New == nil:
				_, err := s.Memberships.DeleteAll(ctx, MembersQuery(c.Old.ID), nil)
				return err
			case c.Kind == stream.Modify && !slices.Contains(c.Changed, "name"):
				return nil
			}
			return s.refreshGroup(ctx, c.New.ID)
		}),
		stream.On(s.Memberships, func(ctx context.Context, c stream.Change[Membership]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return s.refreshMembership(ctx, *c.New)
		}),
		stream.On(s.Posts, func(ctx context.Context, c stream.Change[Post]) error {
			if c.New != nil {
				return nil
			}
			_, err := s.Comments.DeleteAll(ctx, CommentsQuery(c.Old.ID), nil)
			return errors.Join(err, s.deleteCounter(ctx, ViewsOf(c.Old.ID)))
		}),
		stream.On(s.Contents, s.deleteObject),
		stream.IgnoreOther(),
	)
}

// RefreshComments copies the name and the avatar of a user into all comments of that
// user that do not have them. It can be called again after an error, and then only
// reads the comments that are up to date.
func (s *Store) RefreshComments(ctx context.Context, user string) error {
	// The present user, not that of the change: a second rename may be there already,
	// and its own change then writes nothing.
	author, err := s.Users.Consistent().Get(ctx, UserKey(user))
	if err != nil {
		return unlessDeleted(err)
	}
	return refreshAll(ctx, s.Comments, CommentsByAuthorQuery(user), func(c *Comment) { c.copyFrom(author) })
}

// refreshAuthor copies the present name and avatar into one comment.
func (s *Store) refreshAuthor(ctx context.Context, c Comment) error {
	author, err := s.Users.Consistent().Get(ctx, UserKey(c.AuthorID))
	if err != nil {
		return unlessDeleted(err)
	}
	return refresh(ctx, s.Comments, c, func(c *Comment) { c.copyFrom(author) })
}

// RefreshMemberships copies the name of a user into all memberships of that user.
func (s *Store) RefreshMemberships(ctx context.Context, user string) error {
	u, err := s.Users.Consistent().Get(ctx, UserKey(user))
	if err != nil {
		return unlessDeleted(err)
	}
	return refreshAll(ctx, s.Memberships, GroupsQuery(user), func(m *Membership) { m.copyUser(u) })
}

// refreshGroup copies the name of a group into all its memberships.
func (s *Store) refreshGroup(ctx context.Context, group string) error {
	g, err := s.Groups.Consistent().Get(ctx, GroupKey(group))
	if err != nil {
		return unlessDeleted(err)
	}
	return refreshAll(ctx, s.Memberships, MembersQuery(group), func(m *Membership) { m.copyGroup(g) })
}

// refreshMembership copies the present names of user and group into one membership.
func (s *Store) refreshMembership(ctx context.Context, m Membership) error {
	u, err := s.Users.Consistent().Get(ctx, UserKey(m.UserID))
	if err != nil {
		return unlessDeleted(err)
	}
	g, err := s.Groups.Consistent().Get(ctx, GroupKey(m.GroupID))
	if err != nil {
		return unlessDeleted(err)
	}
	return refresh(ctx, s.Memberships, m, func(m *Membership) { m.copyUser(u); m.copyGroup(g) })
}

// copied is an entity that holds copies of names.
type copied interface {
	comparable
	key() keys.Key
}

func (c Comment) key() keys.Key    { return CommentKey(c) }
func (m Membership) key() keys.Key { return MemberKey(m) }

// refreshAll brings the names into all entities of a query.
func refreshAll[T copied](ctx context.Context, r *repo.Repo[T], q table.Query, change func(*T)) error {
	for v, err := range r.Consistent().All(ctx, q) {
		if err != nil {
			return err
		}
		if err := refresh(ctx, r, v, change); err != nil {
			return err
		}
	}
	return nil
}

func refresh[T copied](ctx context.Context, r *repo.Repo[T], v T, change func(*T)) error {
	fresh := v
	if change(&fresh); fresh == v {
		return nil
	}
	_, err := r.Update(ctx, v.key(), func(v *T) error {
		change(v)
		return nil
	})
	return unlessDeleted(err)
}

func unlessDeleted(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}
