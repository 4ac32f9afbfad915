package store

import (
	"context"
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The prefixes of posts and of what belongs to them.
const (
	PostPrefix      keys.Prefix = "POST"
	CommentPrefix   keys.Prefix = "COMMENT"
	publishedPrefix keys.Prefix = "PUBLISHED"
)

// User is stored once, as USER#<id> / PROFILE.
type User struct {
	ID      string `dynamodbav:"userId"`
	Name    string `dynamodbav:"name"`
	Avatar  string `dynamodbav:"avatar,omitempty"` // address of a picture
	Version int64  `dynamodbav:"version"`
}

// UserEntity says how users are stored.
var UserEntity = repo.Entity[User]{
	Type:    "USER",
	Key:     func(u User) keys.Key { return UserKey(u.ID) },
	Version: "version",
	// Ids are not used again.
	VersionFromOne: true,
}

// UserKey is the key of a user's profile.
func UserKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

// Rename gives a user another name. The consumer of [Store.Router] brings it into the
// user's comments.
func (s *Store) Rename(ctx context.Context, id, name string) (User, error) {
	return s.Users.Update(ctx, UserKey(id), func(u *User) error {
		u.Name = name
		return nil
	})
}

// Post is stored twice: as POST#<id> / METADATA, to be found by its id together
// with its comments, and as USER#<author> / POST#<time>#<id>, to be listed with
// its author. While it is published, the first of them is in the index too.
type Post struct {
	ID          string     `dynamodbav:"postId"`
	AuthorID    string     `dynamodbav:"authorId"`
	Title       string     `dynamodbav:"title"`
	CreatedAt   time.Time  `dynamodbav:"createdAt"`
	PublishedAt *time.Time `dynamodbav:"publishedAt,omitempty"` // nil: a draft
	Version     int64      `dynamodbav:"version"`
}

// PostEntity says how posts are stored.
var PostEntity = repo.Entity[Post]{
	Type:    "POST",
	Key:     func(p Post) keys.Key { return PostKey(p.ID) },
	Indexes: repo.Indexes[Post]{publishedIndex: PublishedKey},
	Copies:  []repo.Copy[Post]{{Name: "by author", Key: AuthorKey}},
	Version: "version",
	// Ids are not used again.
	VersionFromOne: true,
}

// PostKey is the key of a post by its id.
func PostKey(id string) keys.Key { return keys.Key{PK: PostPrefix.PK(id), SK: keys.Metadata} }

// AuthorKey is the key of a post among those of its author.
func AuthorKey(p Post) keys.Key {
	return keys.Key{
		PK: keys.User.PK(p.AuthorID),
		SK: PostPrefix.SK(keys.Time(p.CreatedAt), keys.Str(p.ID)),
	}
}

// PublishedKey is the key of a post in the index of published posts. A draft has
// none, so it has no index attributes and is not in the index.
//
// All published posts share one partition of the index, which takes 1,000 writes
// a second. A busier site would use package shard here.
func PublishedKey(p Post) keys.Key {
	if p.PublishedAt == nil {
		return keys.Key{}
	}
	return keys.Key{
		PK: publishedPrefix.PK(),
		SK: keys.None.SK(keys.Time(*p.PublishedAt), keys.Str(p.ID)),
	}
}

// PostsQuery asks for an author's posts, newest first.
func PostsQuery(author string) table.Query {
	return table.Query{PK: keys.User.PK(author), Range: PostPrefix.All(), Descending: true, Scope: author}
}

// PublishedQuery asks for the published posts of all authors, newest first.
func PublishedQuery() table.Query {
	return table.Query{Index: publishedIndex, PK: publishedPrefix.PK(), Descending: true}
}

// PostWithComments reads a post and its n newest comments in one query: read
// backwards, METADATA comes before COMMENT#….
func (s *Store) PostWithComments(ctx context.Context, id string, n int) (Post, []Comment, error) {
	q := table.Query{PK: PostPrefix.PK(id), Descending: true, Limit: n + 1}
	var posts []Post
	var comments []Comment
	if err := repo.Collect(ctx, s.Table, q, s.Posts.AppendTo(&posts), s.Comments.AppendTo(&comments)); err != nil {
		return Post{}, nil, err
	}
	if len(posts) == 0 {
		return Post{}, nil, fmt.Errorf("post: %w", table.ErrNotFound)
	}
	return posts[0], comments, nil
}

// Publish puts a post into the index of published posts.
func (s *Store) Publish(ctx context.Context, id string, at time.Time) (Post, error) {
	return s.Posts.Update(ctx, PostKey(id), func(p *Post) error {
		p.PublishedAt = &at
		return nil
	})
}

// Unpublish takes a post out of the index of published posts.
func (s *Store) Unpublish(ctx context.Context, id string) (Post, error) {
	return s.Posts.Update(ctx, PostKey(id), func(p *Post) error {
		p.PublishedAt = nil
		return nil
	})
}
