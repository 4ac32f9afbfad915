package stream_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// User is an entity with two copies, a set and an expiry.
type User struct {
	ID    string   `dynamodbav:"id"`
	Email string   `dynamodbav:"email"`
	Phone string   `dynamodbav:"phone,omitempty"`
	Tags  []string `dynamodbav:"tags,stringset,omitempty"`
	Ends  int64    `dynamodbav:"ends,omitempty"` // UTC seconds
	Rev   string   `dynamodbav:"rev"`
}

// Note is an entity of one item without a version, in the partition of its user.
type Note struct {
	User string `dynamodbav:"user"`
	Text string `dynamodbav:"text"`
}

var spec = schema.Table{Name: "stream", TTLAttribute: "ends", Stream: types.StreamViewTypeNewAndOldImages}

func userKey(id string) keys.Key { return keys.Key{PK: keys.User.PK(id), SK: keys.Profile} }

var userEntity = repo.Entity[User]{
	Type: "USER", Version: "rev",
	Key: func(u User) keys.Key { return userKey(u.ID) },
	Copies: []repo.Copy[User]{
		{Key: func(u User) keys.Key { return keys.Key{PK: keys.Prefix("EMAIL").PK(u.Email), SK: keys.Profile} }},
		{Key: func(u User) keys.Key {
			if u.Phone == "" {
				return keys.Key{}
			}
			return keys.Key{PK: keys.Prefix("PHONE").PK(u.Phone), SK: keys.Profile}
		}},
	},
}

func noteKey(user string) keys.Key {
	return keys.Key{PK: keys.User.PK(user), SK: keys.Prefix("NOTE").SK()}
}

var noteEntity = repo.Entity[Note]{Type: "NOTE", Key: func(n Note) keys.Key { return noteKey(n.User) }}

// world is a table with its repositories.
type world struct {
	client *dynamodb.Client
	table  *table.Table
	users  *repo.Repo[User]
	notes  *repo.Repo[Note]
}

func newWorld(t *testing.T) world {
	t.Helper()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, spec, nil)
	return world{client, tbl, newRepo(t, tbl, userEntity), newRepo(t, tbl, noteEntity)}
}

func newRepo[T any](t *testing.T, tbl *table.Table, e repo.Entity[T]) *repo.Repo[T] {
	t.Helper()
	r := expect.Value(repo.New(tbl, e))(t)
	return r
}

func newRouter(t *testing.T, tbl *table.Table, options *stream.Options, handlers ...stream.Handler) *stream.Router {
	t.Helper()
	r := expect.Value(stream.New(tbl, options, handlers...))(t)
	return r
}

// log collects what handlers are given.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// take returns the lines since the last call.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func (w world) onUsers(l *log) stream.Handler {
	return stream.On(w.users, func(_ context.Context, c stream.Change[User]) error {
		l.add("USER %s %s %v", c.Kind, side(c.Old, userText)+">"+side(c.New, userText), c.Changed)
		return nil
	})
}

func (w world) onNotes(l *log) stream.Handler {
	return stream.On(w.notes, func(_ context.Context, c stream.Change[Note]) error {
		l.add("NOTE %s %s %v", c.Kind, side(c.Old, noteText)+">"+side(c.New, noteText), c.Changed)
		return nil
	})
}

func userText(u User) string {
	return fmt.Sprintf("%s/%s/%s/%v", u.ID, u.Email, u.Phone, slices.Sorted(slices.Values(u.Tags)))
}

func noteText(n Note) string { return n.User + "/" + n.Text }

func side[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}
