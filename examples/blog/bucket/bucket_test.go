package bucket_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/blog/bucket"
	"github.com/singletable/singletable/examples/blog/bucket/buckettest"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

func objects(server *buckettest.Server) bucket.Objects {
	return bucket.Objects{Client: server.Client(), Bucket: server.Bucket}
}

func TestABucketKeepsObjects(t *testing.T) {
	t.Parallel()
	server := buckettest.New(t, "blog")
	o := objects(server)
	check.Is(t, check.Err(o.Get(t.Context(), "a")), store.ErrNoObject)
	names := []string{"a", "b.C-1", "c", "d", "e"}
	for _, name := range names {
		check.OK(t, o.Put(t.Context(), name, []byte("of "+name)))
	}
	for _, name := range names {
		check.Equal(t, "object", string(check.Must(o.Get(t.Context(), name))(t)), "of "+name)
	}
	check.OK(t, o.Delete(t.Context(), "a"), o.Delete(t.Context(), "none"))
	var listed []string
	for object, err := range o.All(t.Context()) {
		check.OK(t, err)
		listed = append(listed, object.Name)
		if object.StoredAt.IsZero() {
			t.Errorf("%s has no time", object.Name)
		}
	}
	check.Equal(t, "objects", listed, names[1:])

	o.Bucket = "another"
	if err := o.Put(t.Context(), "a", nil); err == nil {
		t.Error("another bucket takes an object")
	}
	for _, err := range o.All(t.Context()) {
		if err == nil || errors.Is(err, store.ErrNoObject) {
			t.Errorf("a list of another bucket: %v", err)
		}
	}
}

// The store's objects in a bucket: large content, and a sweep.
func TestTheStoreKeepsLargeContentInABucket(t *testing.T) {
	t.Parallel()
	server := buckettest.New(t, "blog")
	s := check.Must(store.New(tabletest.New(t, store.Schema("Blog"), nil), objects(server)))(t)
	check.OK(t, s.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}))
	large := []byte(strings.Repeat("x", store.MaxInline+1))
	check.OK(t,
		s.AddPost(t.Context(), store.Post{ID: "p", AuthorID: "ana"}, large),
		s.SetPostContent(t.Context(), "p", slices.Concat(large, large)))
	check.Equal(t, "content", len(check.Must(s.PostContent(t.Context(), "p"))(t)), 2*len(large))
	check.Equal(t, "objects", len(server.Names()), 2)
	check.Equal(t, "swept at once", check.Must(s.Sweep(t.Context(), time.Now()))(t).Deleted, 0)
	server.Age(25 * time.Hour)
	check.Equal(t, "swept", check.Must(s.Sweep(t.Context(), time.Now()))(t).Deleted, 1)
	check.Equal(t, "content", len(check.Must(s.PostContent(t.Context(), "p"))(t)), 2*len(large))
}
