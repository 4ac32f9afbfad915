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

// Post is stored twice: as POST#<id> / METADATA, to be found by its id together
// with its comments, and as USER#<author> / POST#<time>#<id>, to be listed with
// its author. While it is published, the first of them is in the index too. Comments is
// how many comments it has; the copy with its author does not know.
type Post struct {
	ID          string     `dynamodbav:"postId"`
	AuthorID    string     `dynamodbav:"authorId"`
	Title       string     `dynamodbav:"title"`
	CreatedAt   time.Time  `dynamodbav:"createdAt"`
	PublishedAt *time.Time `dynamodbav:"publishedAt,omitempty"` // nil: a draft
	Comments    int64      `dynamodbav:"commentCount"`
	Version     int64      `dynamodbav:"version"`
}

// PostEntity says how posts are stored.
var PostEntity = repo.Entity[Post]{
	Type:    "POST",
	Key:     func(p Post) keys.Key { return PostKey(p.ID) },
	Indexes: repo.Indexes[Post]{publishedIndex: PublishedKey},
	Copies:  []repo.Copy[Post]{{Name: "by author", Key: AuthorKey}},
	Counted: []string{"commentCount"},
	Counters: []repo.Counter[Post]{{
		Name: "posts", Owner: "USER", Attribute: "postCount",
		Key: func(p Post) keys.Key { return UserKey(p.AuthorID) },
	}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
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

// PostPage is a post as a reader sees it.
type PostPage struct {
	Post    Post
	Content []byte // nil if it has none
	// Comments are the newest ones, newest first.
	Comments []Comment
}

// PostWithComments reads a post, its content and its n newest comments in one query: read
// backwards, METADATA and CONTENT come before COMMENT#…. Content that is an object takes further reads.
func (s *Store) PostWithComments(ctx context.Context, id string, n int) (PostPage, error) {
	q := table.Query{PK: PostPrefix.PK(id), Descending: true, Limit: n + 2}
	var page PostPage
	var found []Post
	var contents []Content
	err := repo.Collect(ctx, s.Table, q,
		s.Posts.AppendTo(&found), s.Contents.AppendTo(&contents), s.Comments.AppendTo(&page.Comments))
	if err != nil {
		return PostPage{}, err
	}
	if len(found) == 0 {
		return PostPage{}, fmt.Errorf("post: %w", table.ErrNotFound)
	}
	page.Post = found[0]
	page.Comments = page.Comments[:min(n, len(page.Comments))]
	if len(contents) == 0 {
		return page, nil
	}
	if page.Content = contents[0].Data; contents[0].Object != "" {
		page.Content, err = s.PostContent(ctx, id)
	}
	return page, err
}

// AddPost stores a new post with its content, and counts it. Empty content is
// not stored. Errors: [ErrNoUser] if there is no author.
func (s *Store) AddPost(ctx context.Context, p Post, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	ops, err := s.PostOps(ctx, &p, content)
	if err != nil {
		return err
	}
	return refused(s.Table.Transact(ctx, ops...))
}

// PostOps returns the ops of [Store.AddPost], for [Once].
func (s *Store) PostOps(ctx context.Context, p *Post, content []byte) ([]table.Op, error) {
	ops := s.Posts.CreateOps(p)
	if len(content) == 0 {
		return ops, nil
	}
	c, err := s.newContent(ctx, PostPrefix.PK(p.ID), content)
	return append(ops, s.Contents.CreateOps(&c)...), err
}

// DeletePost removes a post with its content. The consumer of [Store.Router] removes the
// comments and the views: there may be more than a transaction takes. No comment can be added once the
// post is gone. If there is no post, the error matches [table.ErrNotFound].
func (s *Store) DeletePost(ctx context.Context, id string) error {
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		p, err := s.Posts.Consistent().Get(ctx, PostKey(id))
		if err != nil {
			return err
		}
		return s.Table.Transact(ctx, append(s.Posts.DeleteOps(p), table.Delete(ContentKey(PostPrefix.PK(id))))...)
	})
}

// Publish puts a post into the index of published posts. One that is there keeps its
// place.
func (s *Store) Publish(ctx context.Context, id string, at time.Time) (Post, error) {
	return s.Posts.Update(ctx, PostKey(id), func(p *Post) error {
		if p.PublishedAt == nil {
			p.PublishedAt = &at
		}
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
