package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Two renames, or a rename and a new comment, each with the handler of its change. A
// handler that fails runs again. Every comment ends with the author's last name, and
// both items of it are equal.
func TestScheduleNames(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(id string) change{
		// The name that the comment has already.
		"two renames":              func(id string) change { return rename(id, "Ana") },
		"a rename and a comment":   func(id string) change { return addComment(id, "c2") },
		"a rename and a late name": func(id string) change { return addLate(id, "c2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{
				Schema: Schema("Blog"), Limit: *check.Limit,
				Setup: func(ctx context.Context, r *tabletest.Run) error {
					return setUpNames(ctx, r, rename(r.ID, "Anna"), second(r.ID))
				},
			})
		})
	}
}

// change is a write and the handler of its change.
type change struct {
	write, handle func(context.Context, *Store) error
}

func rename(user, name string) change {
	return change{
		write:  func(ctx context.Context, s *Store) error { _, err := s.Rename(ctx, user, name); return err },
		handle: func(ctx context.Context, s *Store) error { return s.RefreshComments(ctx, user) },
	}
}

func commentOf(user, id string) Comment {
	return Comment{ID: id, PostID: "p-" + user, AuthorID: user, Text: "Nice", CreatedAt: time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)}
}

func addComment(user, id string) change {
	c := commentOf(user, id)
	return change{
		write:  func(ctx context.Context, s *Store) error { return s.AddComment(ctx, c) },
		handle: func(ctx context.Context, s *Store) error { return s.refreshAuthor(ctx, c) },
	}
}

// addLate creates a comment with the name that the author had first.
func addLate(user, id string) change {
	c := commentOf(user, id)
	c.AuthorName, c.AuthorVersion = "Ana", 1
	return change{
		write:  func(ctx context.Context, s *Store) error { late := c; return s.Comments.Create(ctx, &late) },
		handle: func(ctx context.Context, s *Store) error { return s.refreshAuthor(ctx, c) },
	}
}

func setUpNames(ctx context.Context, r *tabletest.Run, changes ...change) error {
	s, err := New(r.Table(r.Client), nil)
	if err != nil {
		return err
	}
	err = errors.Join(
		s.Users.Create(ctx, &User{ID: r.ID, Name: "Ana"}),
		s.Users.Create(ctx, &User{ID: "bob-" + r.ID}),
		s.Posts.Create(ctx, &Post{ID: "p-" + r.ID, AuthorID: "bob-" + r.ID, PublishedAt: new(time.Time)}),
		s.AddComment(ctx, commentOf(r.ID, "c1")))
	for _, c := range changes {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			s, err := New(r.Table(client), nil)
			if err != nil {
				return err
			}
			if err := c.write(ctx, s); err != nil {
				return err
			}
			return c.handle(ctx, s)
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		for i, err := range errs {
			if err == nil {
				continue
			}
			if err := changes[i].handle(ctx, s); err != nil {
				return err
			}
		}
		return s.checkNames(ctx, r.ID)
	})
	return err
}

// checkNames reports comments of a user without the user's name.
func (s *Store) checkNames(ctx context.Context, user string) error {
	author, err := s.Users.Consistent().Get(ctx, UserKey(user))
	if err != nil {
		return err
	}
	byAuthor, err := table.Collect(s.Comments.Consistent().All(ctx, CommentsByAuthorQuery(user)))
	if err != nil {
		return err
	}
	byPost, err := table.Collect(s.Comments.Consistent().All(ctx, CommentsQuery("p-"+user)))
	if err != nil {
		return err
	}
	if len(byAuthor) == 0 || len(byPost) != len(byAuthor) {
		return fmt.Errorf("%d comments on the post, %d of the author", len(byPost), len(byAuthor))
	}
	for i, c := range byAuthor {
		if c.AuthorName != author.Name || c != byPost[i] {
			return fmt.Errorf("the author is %s of version %d, and comment %s has %s of %d and %s of %d", author.Name, author.Version,
				c.ID, c.AuthorName, c.AuthorVersion, byPost[i].AuthorName, byPost[i].AuthorVersion)
		}
	}
	return nil
}

// Two writers of one post's comments, of which one may delete the post. The count is that of
// the list.
func TestScheduleCounts(t *testing.T) {
	t.Parallel()
	add := func(ctx context.Context, s *Store, id string) error { return s.AddComment(ctx, commentOf(id, "c2")) }
	remove := func(ctx context.Context, s *Store, id string) error {
		return s.DeleteComment(ctx, CommentKey(commentOf(id, "c1")))
	}
	removePost := func(ctx context.Context, s *Store, id string) error { return s.DeletePost(ctx, "p-"+id) }
	type operation = func(context.Context, *Store, string) error
	for name, operations := range map[string][]operation{
		"a comment and a deletion":             {add, remove},
		"a comment and a deletion of the post": {add, removePost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{
				Schema: Schema("Blog"), Limit: *check.Limit,
				Allow: func(err error) bool { return errors.Is(err, table.ErrNotFound) },
				Setup: func(ctx context.Context, r *tabletest.Run) error {
					s, err := New(r.Table(r.Client), nil)
					if err != nil {
						return err
					}
					err = errors.Join(
						s.Users.Create(ctx, &User{ID: r.ID, Name: "Ana"}),
						s.AddPost(ctx, Post{ID: "p-" + r.ID, AuthorID: r.ID}, nil),
						s.AddComment(ctx, commentOf(r.ID, "c1")))
					for _, do := range operations {
						r.Go(func(ctx context.Context, client *dynamodb.Client) error {
							s, err := New(r.Table(client), nil)
							if err != nil {
								return err
							}
							return do(ctx, s, r.ID)
						})
					}
					r.Check(func(ctx context.Context, _ []error) error { return s.checkCounts(ctx, r.ID) })
					return err
				},
			})
		})
	}
}

// checkCounts reports a count of a user's post that differs from the list.
func (s *Store) checkCounts(ctx context.Context, user string) error {
	page, err := s.PostWithComments(ctx, "p-"+user, 100)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil || page.Post.Comments != int64(len(page.Comments)) {
		return fmt.Errorf("%d comments, and the count is %d, %w", len(page.Comments), page.Post.Comments, err)
	}
	return nil
}

// Two owners of a group, of which each leaves, gives up the role, takes it from the other,
// or deletes the group. A group has an owner, and its count is that of its list.
func TestScheduleOwners(t *testing.T) {
	t.Parallel()
	users := func(id string) [2]string { return [2]string{"a-" + id, "b-" + id} }
	type operation = func(ctx context.Context, s *Store, group, me, other string) error
	leave := func(ctx context.Context, s *Store, group, me, _ string) error { return s.Leave(ctx, group, me) }
	resign := func(ctx context.Context, s *Store, group, me, _ string) error {
		return s.SetRole(ctx, group, me, me, Member)
	}
	demote := func(ctx context.Context, s *Store, group, me, other string) error {
		return s.SetRole(ctx, group, me, other, Member)
	}
	remove := func(ctx context.Context, s *Store, group, me, _ string) error { return s.DeleteGroup(ctx, group, me) }
	for name, operations := range map[string][2]operation{
		"both leave":              {leave, leave},
		"one leaves, one resigns": {leave, resign},
		"one leaves, one demotes": {leave, demote},
		"each demotes the other":  {demote, demote},
		"one leaves, one deletes": {leave, remove},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tabletest.Explore(t, tabletest.Case{
				Schema: Schema("Blog"), Limit: *check.Limit,
				Allow: func(err error) bool {
					return slices.ContainsFunc([]error{ErrLastOwner, ErrNotOwner, ErrNotMember, table.ErrNotFound}, func(known error) bool { return errors.Is(err, known) })
				},
				Setup: func(ctx context.Context, r *tabletest.Run) error {
					s, err := New(r.Table(r.Client), nil)
					if err != nil {
						return err
					}
					group, owners := "g-"+r.ID, users(r.ID)
					err = errors.Join(
						s.Users.Create(ctx, &User{ID: owners[0]}), s.Users.Create(ctx, &User{ID: owners[1]}),
						s.OpenGroup(ctx, Group{ID: group}, owners[0], time.Time{}),
						s.Join(ctx, Membership{GroupID: group, UserID: owners[1], Role: Owner}))
					for i, do := range operations {
						r.Go(func(ctx context.Context, client *dynamodb.Client) error {
							s, err := New(r.Table(client), nil)
							if err != nil {
								return err
							}
							return do(ctx, s, group, owners[i], owners[1-i])
						})
					}
					r.Check(func(ctx context.Context, _ []error) error { return s.checkOwners(ctx, group) })
					return err
				},
			})
		})
	}
}

// checkOwners reports a group without an owner, or with a wrong count.
func (s *Store) checkOwners(ctx context.Context, group string) error {
	g, err := s.Group(ctx, group)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	members, err := table.Collect(s.Memberships.Consistent().All(ctx, MembersQuery(group)))
	owns := func(m Membership) bool { return m.Role == Owner }
	if err != nil || int64(len(members)) != g.Members || !slices.ContainsFunc(members, owns) {
		return fmt.Errorf("the members are %v, and the count is %d, %w", members, g.Members, err)
	}
	return nil
}
