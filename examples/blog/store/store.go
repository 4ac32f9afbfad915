// Package store keeps a blog in one table: users, posts and comments, groups and
// their members, folders and files, metrics and counters. Each file holds one of
// the classic patterns of single-table design; each access pattern is a method.
package store

import (
	"crypto/rand"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The indexes of the table. Both are sparse: an item is in one only if it has
// the index's key attributes, and few items have.
const (
	publishedIndex = "published"
	childrenIndex  = "children"
)

// Schema is the one table of the blog.
func Schema(name string) schema.Table {
	return schema.Table{
		Name:         name,
		TTLAttribute: "expiresAt",
		// For [Store.Router].
		Stream: types.StreamViewTypeNewAndOldImages,
		Indexes: []schema.Index{
			{Name: publishedIndex, PK: "publishedPK", SK: "publishedSK"},
			{Name: childrenIndex, PK: "parentPK", SK: "parentSK"},
		},
	}
}

// Store reads and writes the blog. It is safe for concurrent use.
type Store struct {
	Table       *table.Table
	Users       *repo.Repo[User]
	Posts       *repo.Repo[Post]
	Comments    *repo.Repo[Comment]
	Groups      *repo.Repo[Group]
	Memberships *repo.Repo[Membership]
	Nodes       *repo.Repo[Node]
	Points      *repo.Repo[Point]
	Files       *repo.Repo[FileInfo]
	Contents    *repo.Repo[Content]
	Objects     Objects
	// NewID draws the ids of folders and files: at random, unless it is replaced before
	// the first use.
	NewID func() string

	requests *idempotency.Store
}

// New returns the store in a table with the keys and indexes of [Schema]. Content of more
// than [MaxInline] bytes is kept in objects; with nil it is refused. The caller closes
// what objects has open.
func New(t *table.Table, objects Objects) (*Store, error) {
	s := &Store{Table: t, Objects: objects, NewID: rand.Text}
	var errs [10]error
	s.Users, errs[0] = repo.New(t, UserEntity)
	s.Posts, errs[1] = repo.New(t, PostEntity)
	s.Comments, errs[2] = repo.New(t, CommentEntity)
	s.Groups, errs[3] = repo.New(t, groupEntity)
	s.Memberships, errs[4] = repo.New(t, membershipEntity)
	s.Nodes, errs[5] = repo.New(t, nodeEntity)
	s.Points, errs[6] = repo.New(t, pointEntity)
	s.Files, errs[7] = repo.New(t, fileEntity)
	s.Contents, errs[8] = repo.New(t, contentEntity)
	s.requests, errs[9] = idempotency.New(t, nil)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return s, nil
}

// Forms returns the stored form of each entity, which a test compares with that of the last
// release.
func (s *Store) Forms() []repo.Form {
	return []repo.Form{
		s.Users.Form(), s.Posts.Form(), s.Comments.Form(), s.Groups.Form(), s.Memberships.Form(),
		s.Nodes.Form(), s.Points.Form(), s.Files.Form(), s.Contents.Form(),
	}
}

// exists is the condition that there is an item under a key of the table.
func exists() expression.ConditionBuilder { return table.If("attribute_exists(pk)") }
