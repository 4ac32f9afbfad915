package migrate

import (
	"context"
	"errors"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// OldSchemas are the tables that the blog was kept in before: one for each kind,
// with the ids as keys, without types and mostly without versions.
func OldSchemas(name string) (users, posts, comments schema.Table) {
	users = schema.Table{Name: name + "-Users", PK: "userId", SimpleKey: true}
	posts = schema.Table{Name: name + "-Posts", PK: "postId", SimpleKey: true}
	comments = schema.Table{Name: name + "-Comments", PK: "postId", SK: "commentId"}
	return users, posts, comments
}

// Blog is the blog while it is being migrated.
type Blog struct {
	Users    *Records[store.User]
	Posts    *Records[store.Post]
	Comments *Records[store.Comment]
}

// segments is enough for small tables. See [backfill.Job].
const segments = 4

// NewBlog returns the records of a blog on their way from the old tables into
// the single one.
func NewBlog(single, users, posts, comments *table.Table) (*Blog, error) {
	var b Blog
	var errs [3]error
	b.Users, errs[0] = NewRecords(single, Kind[store.User]{
		Name: "users", Old: users, Entity: store.UserEntity, Segments: segments,
		OldKey:  func(u store.User) keys.Key { return keys.Key{PK: keys.None.PK(u.ID)} },
		Version: func(u *store.User) *int64 { return &u.Version },
	})
	b.Posts, errs[1] = NewRecords(single, Kind[store.Post]{
		Name: "posts", Old: posts, Entity: store.PostEntity, Segments: segments,
		OldKey:  func(p store.Post) keys.Key { return keys.Key{PK: keys.None.PK(p.ID)} },
		Version: func(p *store.Post) *int64 { return &p.Version },
	})
	b.Comments, errs[2] = NewRecords(single, Kind[store.Comment]{
		Name: "comments", Old: comments, Entity: store.CommentEntity, Segments: segments,
		OldKey: func(c store.Comment) keys.Key {
			return keys.Key{PK: keys.None.PK(c.PostID), SK: keys.None.SK(keys.Str(c.ID))}
		},
		Version: func(c *store.Comment) *int64 { return &c.Version },
	})
	return &b, errors.Join(errs[:]...)
}

// Prepare makes the fences of all kinds.
func (b *Blog) Prepare(ctx context.Context) error {
	return errors.Join(b.Users.Prepare(ctx), b.Posts.Prepare(ctx), b.Comments.Prepare(ctx))
}

// Run carries the whole blog into the single table. See [Records.Run].
func (b *Blog) Run(ctx context.Context, to Reporter) error {
	for _, run := range []func(context.Context, Reporter) error{b.Users.Run, b.Posts.Run, b.Comments.Run} {
		if err := run(ctx, to); err != nil {
			return err
		}
	}
	return nil
}
