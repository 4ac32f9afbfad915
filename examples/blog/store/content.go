package store

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

const (
	// MaxInline is the size of the largest content that is kept in the table, in bytes. An
	// item has 400 KB at most, and each read of one costs by its size. AWS: "Constraints in
	// Amazon DynamoDB", Amazon DynamoDB Developer Guide.
	MaxInline = 100 << 10
	// contentSK is the sort key of a content. In the partition of a post it is between the
	// comments and the counts.
	contentSK keys.SK = "CONTENT"
	// orphanAge is how old an object is that [Store.Sweep] removes. A write has to end
	// before that: see writeTime.
	orphanAge = 24 * time.Hour
	// writeTime bounds the time from the beginning of an object to its item.
	writeTime = time.Hour
)

// Content is the text of a post or the bytes of a file. It is stored once, as
// POST#<id> / CONTENT or FILE#<id> / CONTENT, and apart from its owner: lists, indexes
// and checks do not pay for it.
//
// Content of up to [MaxInline] bytes is in the item. More is an object, and the item has
// its name. The object is stored before the item and deleted after it, by the consumer
// of [Store.Router], so no item ever names an object that is not there. [Store.Sweep]
// removes what writers have left that ended in between.
type Content struct {
	Of       keys.PK `dynamodbav:"of"` // partition of the owner
	Data     []byte  `dynamodbav:"data,omitempty"`
	Object   string  `dynamodbav:"object,omitempty"`
	Size     int64   `dynamodbav:"size"` // in bytes
	Revision string  `dynamodbav:"revision"`
}

var contentEntity = repo.Entity[Content]{
	Type:    "CONTENT",
	Key:     func(c Content) keys.Key { return ContentKey(c.Of) },
	Version: "revision",
}

// ContentKey is the key of the content of an owner.
func ContentKey(of keys.PK) keys.Key { return keys.Key{PK: of, SK: contentSK} }

// newContent returns the content of an owner, for the caller's transaction. Large data
// is an object when it returns. Without Objects the error matches [table.ErrTooLarge].
func (s *Store) newContent(ctx context.Context, of keys.PK, data []byte) (Content, error) {
	c := Content{Of: of, Size: int64(len(data))}
	if len(data) <= MaxInline {
		c.Data = data
		return c, nil
	}
	if s.Objects == nil {
		return c, fmt.Errorf("content: no store for objects: %w", table.ErrTooLarge)
	}
	// A random part, so that a name is never used again: a late deletion of one object
	// cannot meet another.
	c.Object = ownerCode.EncodeToString([]byte(of)) + "." + rand.Text()
	return c, s.Objects.Put(ctx, c.Object, data)
}

// ownerCode writes the owner of an object into its name, without bytes that file systems
// or URLs treat specially, or that differ only in case.
var ownerCode = base32.HexEncoding.WithPadding(base32.NoPadding)

// randomName matches the random part of an object's name, which is one of [rand.Text].
var randomName = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// ownerOf returns the post or file in the name of an object. It reports false for a name
// that [Store.newContent] does not make.
func ownerOf(object string) (keys.PK, bool) {
	code, random, _ := strings.Cut(strings.TrimSuffix(object, unfinished), ".")
	decoded, err := ownerCode.DecodeString(code)
	if err != nil || !randomName.MatchString(random) {
		return "", false
	}
	of := string(decoded)
	for _, prefix := range []keys.Prefix{PostPrefix, FilePrefix} {
		if id, found := strings.CutPrefix(of, string(prefix)+"#"); found && id != "" {
			return keys.PK(of), keys.PK(of).Validate() == nil
		}
	}
	return "", false
}

// SetPostContent gives a post another text. If there is no post, the error matches
// [table.ErrNotFound].
func (s *Store) SetPostContent(ctx context.Context, id string, text []byte) error {
	return s.setContent(ctx, PostKey(id), text)
}

// setContent stores the content of an owner, over what is there. The former object, if
// any, is deleted by the consumer of [Store.Router].
func (s *Store) setContent(ctx context.Context, owner keys.Key, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	// Before anything is stored for an owner that is not there.
	if _, err := table.Get[table.Item](ctx, s.Table.Consistent(), owner); err != nil {
		return err
	}
	c, err := s.newContent(ctx, owner.PK, data)
	if err != nil {
		return err
	}
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		former, err := s.Contents.Consistent().Get(ctx, ContentKey(owner.PK))
		ops := s.Contents.CreateOps(&c)
		switch {
		case err == nil:
			ops = s.Contents.UpdateOps(former, &c)
		case !errors.Is(err, table.ErrNotFound):
			return err
		}
		err = s.Table.Transact(ctx, append(ops, table.Check(owner, exists()).WithName("owner"))...)
		switch {
		case failed(err, "owner"):
			return table.ErrNotFound
		case errors.Is(err, table.ErrExists): // created by another writer just now
			return table.ErrConflict
		}
		return err
	})
}

// PostContent returns the text of a post, or an error that matches [table.ErrNotFound].
func (s *Store) PostContent(ctx context.Context, id string) ([]byte, error) {
	return s.content(ctx, PostPrefix.PK(id))
}

func (s *Store) content(ctx context.Context, of keys.PK) ([]byte, error) {
	for former := ""; ; {
		c, err := s.Contents.Consistent().Get(ctx, ContentKey(of))
		if err != nil || c.Object == "" {
			return c.Data, err
		}
		data, err := s.Objects.Get(ctx, c.Object)
		// Another content may have taken its place between the two reads.
		if !errors.Is(err, ErrNoObject) || c.Object == former {
			return data, err
		}
		former = c.Object
	}
}

// deleteObject is the handler of a change of a content: it deletes the object that the
// item no longer names.
func (s *Store) deleteObject(ctx context.Context, c stream.Change[Content]) error {
	if c.Old == nil || c.Old.Object == "" || c.New != nil && c.New.Object == c.Old.Object {
		return nil
	}
	return s.Objects.Delete(ctx, c.Old.Object)
}

// Swept counts the objects of a sweep.
type Swept struct {
	Deleted int
	Foreign int // with names that are not the store's; they stay
}

// maxSweepErrors bounds the errors that a sweep returns.
const maxSweepErrors = 100

// Sweep deletes the objects that no item names and that are older than a day. Such objects
// are left by a writer that ended before it stored the item, or by a consumer that has lost
// records. Objects whose names are not the store's stay.
//
// An error of one object does not end the sweep. Sweep returns the first 100 of them,
// joined. It ends early if the list fails or the context is done.
func (s *Store) Sweep(ctx context.Context, now time.Time) (Swept, error) {
	var swept Swept
	var errs []error
	for o, err := range s.Objects.All(ctx) {
		if err != nil {
			return swept, errors.Join(append(errs, err)...)
		}
		of, ours := ownerOf(o.Name)
		if !ours {
			swept.Foreign++
			continue
		}
		if now.Sub(o.StoredAt) < orphanAge {
			continue
		}
		deleted, err := s.sweep(ctx, of, o.Name)
		if ctx.Err() != nil {
			return swept, errors.Join(append(errs, err, ctx.Err())...)
		}
		if err != nil && len(errs) < maxSweepErrors {
			errs = append(errs, fmt.Errorf("object %s: %w", o.Name, err))
		}
		if deleted {
			swept.Deleted++
		}
	}
	return swept, errors.Join(errs...)
}

// sweep deletes an object unless the content of its owner names it.
func (s *Store) sweep(ctx context.Context, of keys.PK, object string) (deleted bool, err error) {
	c, err := s.Contents.Consistent().Get(ctx, ContentKey(of))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return false, err
	}
	if c.Object == object {
		return false, nil
	}
	if err := s.Objects.Delete(ctx, object); err != nil {
		return false, err
	}
	return true, nil
}
