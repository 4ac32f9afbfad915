package store

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
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
//
// Seen: paritysuite/dynamodb-conformance, error-messages/indexReads.test.ts.
var CommentEntity = repo.Entity[Comment]{
	Type:   "COMMENT",
	Key:    CommentKey,
	Copies: []repo.Copy[Comment]{{Name: "by author", Key: CommentByAuthorKey}},
	Counters: []repo.Counter[Comment]{{
		Name: "comments", Owner: "POST", Attribute: "commentCount",
		Key: func(c Comment) keys.Key { return PostKey(c.PostID) },
	}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
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

// AddComment stores a comment with the name and the avatar of its author.
// Errors: [ErrNoUser] if there is no author, and [table.ErrNotFound] unless the post is
// published or the author's own.
func (s *Store) AddComment(ctx context.Context, c Comment) error {
	ops, err := s.CommentOps(ctx, &c)
	if err != nil {
		return err
	}
	return refused(s.Table.Transact(ctx, ops...))
}

// CommentOps returns the ops of [Store.AddComment], for [Once].
func (s *Store) CommentOps(ctx context.Context, c *Comment) ([]table.Op, error) {
	author, err := s.User(ctx, c.AuthorID)
	if err != nil {
		return nil, err
	}
	c.copyFrom(author)
	visible := table.If("attribute_exists(publishedAt) OR authorId = ?", c.AuthorID)
	return append(s.Comments.CreateOps(c), table.Check(PostKey(c.PostID), visible).WithName(opPost)), nil
}

// copyFrom copies what a comment has of its author, unless it is of a later version.
// The version is copied although the name may be the same. Otherwise a late refresh to
// a name between the two could overwrite it.
func (c *Comment) copyFrom(author User) {
	if c.AuthorVersion <= author.Version {
		c.AuthorName, c.AuthorAvatar, c.AuthorVersion = author.Name, author.Avatar, author.Version
	}
}

// DeleteComment removes a comment under its key or that of its copy. If it is
// missing, the error matches [table.ErrNotFound].
func (s *Store) DeleteComment(ctx context.Context, key keys.Key) error {
	if _, err := s.Comments.Consistent().Get(ctx, key); err != nil {
		return err
	}
	return s.Comments.Delete(ctx, key)
}
