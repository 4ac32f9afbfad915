package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Comment is stored twice: as POST#<post> / COMMENT#<time>#<id>, to be listed with its
// post, and as USER#<author> / COMMENT#<time>#<post>#<id>, to be found when its author
// changes.
type Comment struct {
	ID       string `dynamodbav:"commentId"`
	PostID   string `dynamodbav:"postId"`
	AuthorID string `dynamodbav:"authorId"`
	// AuthorName and AuthorAvatar are copied from the author, so that one query shows
	// a post with its comments. They are those of AuthorVersion, the user's version.
	AuthorName    string    `dynamodbav:"authorName,omitempty"`
	AuthorAvatar  string    `dynamodbav:"authorAvatar,omitempty"`
	AuthorVersion int64     `dynamodbav:"authorVersion,omitempty"`
	Text          string    `dynamodbav:"text"`
	CreatedAt     time.Time `dynamodbav:"createdAt"`
	Version       int64     `dynamodbav:"version"`
}

// CommentEntity says how comments are stored.
//
// The second item is a copy and not an index, although it costs more: an index has
// no consistent reads, so a refresh could miss a comment that was written right before
// it.
var CommentEntity = repo.Entity[Comment]{
	Type:    "COMMENT",
	Key:     CommentKey,
	Copies:  []repo.Copy[Comment]{{Name: "by author", Key: CommentByAuthorKey}},
	Version: "version",
	// Ids are not used again.
	VersionFromOne: true,
}

// CommentKey is the key of a comment among those on its post.
func CommentKey(c Comment) keys.Key {
	return keys.Key{
		PK: PostPrefix.PK(c.PostID),
		SK: CommentPrefix.SK(keys.Time(c.CreatedAt), keys.Str(c.ID)),
	}
}

// CommentByAuthorKey is the key of a comment among those of its author.
func CommentByAuthorKey(c Comment) keys.Key {
	return keys.Key{
		PK: keys.User.PK(c.AuthorID),
		SK: CommentPrefix.SK(keys.Time(c.CreatedAt), keys.Str(c.PostID), keys.Str(c.ID)),
	}
}

// CommentsQuery asks for the comments on a post, newest first.
func CommentsQuery(post string) table.Query {
	return table.Query{PK: PostPrefix.PK(post), Range: CommentPrefix.All(), Descending: true}
}

// CommentsByAuthorQuery asks for an author's comments, newest first.
func CommentsByAuthorQuery(author string) table.Query {
	return table.Query{PK: keys.User.PK(author), Range: CommentPrefix.All(), Descending: true, Scope: author}
}

// AddComment stores a comment with the name and the avatar of its author. Author and
// post must exist; otherwise the error matches [table.ErrNotFound].
func (s *Store) AddComment(ctx context.Context, c Comment) error {
	author, err := s.Users.Consistent().Get(ctx, UserKey(c.AuthorID))
	if err != nil {
		return fmt.Errorf("author: %w", err)
	}
	c.copyFrom(author)
	ops := append(s.Comments.CreateOps(&c), table.Check(PostKey(c.PostID), exists()).WithName("post"))
	err = s.Table.Transact(ctx, ops...)
	if failed(err, "post") {
		return fmt.Errorf("post: %w", table.ErrNotFound)
	}
	return err
}

// copyFrom copies what a comment has of its author, unless it is of a later version.
// The version is copied although the name may be the same. Otherwise a late refresh to
// a name between the two could overwrite it.
func (c *Comment) copyFrom(author User) {
	if c.AuthorVersion <= author.Version {
		c.AuthorName, c.AuthorAvatar, c.AuthorVersion = author.Name, author.Avatar, author.Version
	}
}

// Router returns the consumer of the table's stream that keeps the authors in comments
// up to date.
//
// Every comment ends with the author's last name, in whatever order and however often
// the changes come. A comment that is committed before the name is found by the refresh
// of the name, which reads consistently. For a comment that is committed after it, the
// comment's own change reads the name. And no write replaces a later version by an
// earlier one.
func (s *Store) Router() (*stream.Router, error) {
	return stream.New(s.Table, nil,
		stream.On(s.Users, func(ctx context.Context, c stream.Change[User]) error {
			switch {
			case c.New == nil: // comments keep the name of a deleted author
				return nil
			case c.Kind == stream.Modify && !slices.Contains(c.Changed, "name") && !slices.Contains(c.Changed, "avatar"):
				return nil
			}
			return s.RefreshComments(ctx, c.New.ID)
		}),
		stream.On(s.Comments, func(ctx context.Context, c stream.Change[Comment]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return s.refreshAuthor(ctx, *c.New)
		}),
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
	for c, err := range s.Comments.Consistent().All(ctx, CommentsByAuthorQuery(user)) {
		if err != nil {
			return err
		}
		if err := s.refresh(ctx, c, author); err != nil {
			return err
		}
	}
	return nil
}

// refreshAuthor copies the present name and avatar into one comment.
func (s *Store) refreshAuthor(ctx context.Context, c Comment) error {
	author, err := s.Users.Consistent().Get(ctx, UserKey(c.AuthorID))
	if err != nil {
		return unlessDeleted(err)
	}
	return s.refresh(ctx, c, author)
}

func (s *Store) refresh(ctx context.Context, c Comment, author User) error {
	fresh := c
	if fresh.copyFrom(author); fresh == c {
		return nil
	}
	_, err := s.Comments.Update(ctx, CommentKey(c), func(c *Comment) error {
		c.copyFrom(author)
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
