package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// large is content that is an object.
func large(c byte) []byte { return bytes.Repeat([]byte{c}, store.MaxInline+1) }

// failing are objects of which a call fails: the one after passed others. If done, the
// call takes effect all the same. All later ones fail, too.
type failing struct {
	store.Objects
	passed int
	done   bool
}

var errKilled = errors.New("killed")

func (f *failing) Put(ctx context.Context, name string, data []byte) error {
	f.passed--
	if f.passed >= 0 || f.passed == -1 && f.done {
		if err := f.Objects.Put(ctx, name, data); err != nil {
			return err
		}
	}
	if f.passed < 0 {
		return errKilled
	}
	return nil
}

func directory(t *testing.T) *store.Directory {
	t.Helper()
	d := check.Must(store.OpenDirectory(filepath.Join(t.TempDir(), "objects")))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func objectNames(t *testing.T, o store.Objects) []string {
	t.Helper()
	var names []string
	for o, err := range o.All(t.Context()) {
		check.OK(t, err)
		names = append(names, o.Name)
	}
	return names
}

// consistent fails the test if an item names an object that is not there, and after a
// sweep, if there is an object that no item names.
func consistent(t *testing.T, s *store.Store) {
	t.Helper()
	named := map[string]bool{}
	for after, more := "", true; more; {
		page := check.Must(table.ScanPage[store.Content](t.Context(), s.Table.Consistent().OfType("CONTENT"), table.Scan{After: after, Filter: contents()}))(t)
		for _, c := range page.Items {
			if c.Object != "" {
				named[c.Object] = true
				check.OK(t, check.Err(s.Objects.Get(t.Context(), c.Object)))
			}
		}
		after, more = page.Next, page.Next != ""
	}
	check.OK(t, check.Err(s.Sweep(t.Context(), time.Now().Add(25*time.Hour))))
	for _, name := range objectNames(t, s.Objects) {
		if !named[name] {
			t.Errorf("no item names the object %s", name)
		}
	}
}

func TestLargeContentIsAnObject(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Objects = directory(t)
	writePost(t, s, "p")
	router := routerOf(t, s)
	steps := []struct {
		content []byte
		objects int
	}{{[]byte("short"), 0}, {large('a'), 1}, {large('b'), 1}, {[]byte("short"), 0}, {large('c')[1:], 0}}
	for i, step := range steps {
		change := contentChange(t, s, "p", func() { check.OK(t, s.SetPostContent(t.Context(), "p", step.content)) })
		check.Deliver(t, router, change)
		check.Deliver(t, router, change)
		check.Equal(t, fmt.Sprint("objects in step ", i), len(objectNames(t, s.Objects)), step.objects)
		check.Equal(t, "content", check.Must(s.PostContent(t.Context(), "p"))(t), step.content)
		check.Equal(t, "content of the page", check.Must(s.PostWithComments(t.Context(), "p", 1))(t).Content, step.content)
	}
	consistent(t, s)
	check.Is(t, s.SetPostContent(t.Context(), "none", large('a')), table.ErrNotFound)
	check.Equal(t, "objects", len(objectNames(t, s.Objects)), 0)

	s.Objects = nil
	check.Is(t, s.SetPostContent(t.Context(), "p", large('a')), table.ErrTooLarge, "without objects")
	_, err := s.Router()
	if err == nil {
		t.Error("a consumer that deletes objects was made without them")
	}
}

// A writer is killed before and after each of its steps, of the table and of the
// objects, while content is created, replaced and deleted.
func TestNoKillLeavesAPointerToNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	objects := directory(t)
	s.Objects = objects
	writes := map[string]func(s *store.Store, id string) error{
		"create": func(s *store.Store, id string) error {
			return s.AddPost(t.Context(), store.Post{ID: id + "-new", AuthorID: id, CreatedAt: noon}, large('a'))
		},
		"replace": func(s *store.Store, id string) error { return s.SetPostContent(t.Context(), id, large('b')) },
		"delete":  func(s *store.Store, id string) error { return s.DeletePost(t.Context(), id) },
		"upload": func(s *store.Store, id string) error {
			_, err := s.Upload(t.Context(), id, store.Path{"f"}, large('c'), noon)
			return err
		},
	}
	for name, write := range writes {
		for _, done := range []bool{false, true} {
			kill := tabletest.DropRequest()
			if done {
				kill = tabletest.DropResponse()
			}
			for passed, ended := 0, false; !ended; passed++ {
				id := fmt.Sprintf("%s-%t-%d", name, done, passed)
				writePost(t, s, id)
				check.OK(t, s.SetPostContent(t.Context(), id, large('x')))
				var faults tabletest.Faults
				faults.Next("", append(make([]tabletest.Fault, passed), kill)...)
				faults.Always("", tabletest.DropRequest())
				doomed := faultyStore(t, s, &faults)
				doomed.Objects = objects
				ended = write(doomed, id) == nil
				if !ended && passed > 20 {
					t.Fatal("it never ends")
				}
			}
			id := fmt.Sprintf("%s-%t-object", name, done)
			writePost(t, s, id)
			check.OK(t, s.SetPostContent(t.Context(), id, large('x')))
			doomed := open2(t, s, &failing{Objects: objects, done: done})
			if err := write(doomed, id); name != "delete" {
				check.Is(t, err, errKilled, name)
			}
		}
	}
	consistent(t, s)
}

// A reader has read the item, and the content is replaced and its object deleted before
// the reader has got it.
func TestAReaderOfReplacedContentGetsTheNewOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Objects = directory(t)
	writePost(t, s, "p")
	check.OK(t, s.SetPostContent(t.Context(), "p", large('a')))
	var faults tabletest.Faults
	reader := faultyStore(t, s, &faults)
	reader.Objects = s.Objects
	faults.Next("GetItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(response.Body)
			response.Body = io.NopCloser(bytes.NewReader(body))
		}
		former := objectNames(t, s.Objects)[0]
		check.OK(t, s.SetPostContent(t.Context(), "p", large('b')), s.Objects.Delete(t.Context(), former))
		return response, err
	})
	check.Equal(t, "content", check.Must(reader.PostContent(t.Context(), "p"))(t), large('b'))

	check.OK(t, s.Objects.Delete(t.Context(), objectNames(t, s.Objects)[0]))
	check.Is(t, check.Err(s.PostContent(t.Context(), "p")), store.ErrNoObject, "an object that somebody has deleted")
}

func TestASweepLeavesWhatIsYoungNamedOrForeign(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Objects = directory(t)
	writePost(t, s, "p")
	check.OK(t, s.SetPostContent(t.Context(), "p", large('a')))
	named := objectNames(t, s.Objects)[0]
	owner, _, _ := strings.Cut(named, ".")
	orphan := owner + "." + rand.Text()
	foreign := []string{
		"README", ".DS_Store", "BACKUP.tar", "VIDEO.mp4", "2024.csv", owner + ".tar", owner + ".csv.part", owner,
		objectOf("USER#ana"), objectOf("POST#"), objectOf(""), objectOf("POSTER"), orphan + ".bak",
	}
	for _, name := range append([]string{orphan, owner + "." + rand.Text() + ".part"}, foreign...) {
		check.OK(t, s.Objects.Put(t.Context(), name, nil))
	}
	check.Equal(t, "at once", check.Must(s.Sweep(t.Context(), time.Now()))(t), store.Swept{Foreign: len(foreign)})
	check.Equal(t, "later", check.Must(s.Sweep(t.Context(), time.Now().Add(25*time.Hour)))(t), store.Swept{Deleted: 2, Foreign: len(foreign)})
	names := objectNames(t, s.Objects)
	slices.Sort(names)
	check.Equal(t, "objects", names, slices.Sorted(slices.Values(append(foreign, named))))
	check.OK(t, check.Err(s.Objects.Get(t.Context(), named)))
}

// objectOf returns a name of an object for an owner.
func objectOf(owner string) string {
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(owner)) + "." + rand.Text()
}

// undeletable are objects of which one cannot be deleted.
type undeletable struct {
	store.Objects
	name string
}

func (u undeletable) Delete(ctx context.Context, name string) error {
	if name == u.name {
		return errKilled
	}
	return u.Objects.Delete(ctx, name)
}

func TestASweepGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	s := open(t)
	objects := directory(t)
	stuck := objectOf("POST#b")
	for _, name := range []string{objectOf("POST#a"), stuck, objectOf("FILE#c")} {
		check.OK(t, objects.Put(t.Context(), name, nil))
	}
	s.Objects = undeletable{objects, stuck}
	swept, err := s.Sweep(t.Context(), time.Now().Add(25*time.Hour))
	check.Is(t, err, errKilled)
	check.Equal(t, "swept", swept, store.Swept{Deleted: 2})
	check.Equal(t, "objects", objectNames(t, objects), []string{stuck})
}

func TestADirectoryStoresAWholeObjectOrNone(t *testing.T) {
	t.Parallel()
	d := directory(t)
	check.Is(t, check.Err(d.Get(t.Context(), "a")), store.ErrNoObject)
	check.OK(t, d.Put(t.Context(), "a", []byte("1")), d.Delete(t.Context(), "none"))
	check.Equal(t, "object", string(check.Must(d.Get(t.Context(), "a"))(t)), "1")
	for _, name := range []string{"../b", "/b", "none/b", strings.Repeat("b", 300), ""} {
		if d.Put(t.Context(), name, nil) == nil {
			t.Errorf("%q: no error", name)
		}
	}
	check.Equal(t, "objects", objectNames(t, d), []string{"a"})
}

func TestFilesAreListedByDateAndSizeAndFoundById(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Objects = directory(t)
	folder := check.Must(s.MakeFolder(t.Context(), "d", path("a")))(t)
	check.OK(t, check.Err(s.MakeFolder(t.Context(), "d", path("b"))))
	upload := func(p string, size, day int) store.FileInfo {
		return check.Must(s.Upload(t.Context(), "d", path(p), make([]byte, size), noon.AddDate(0, 0, day)))(t)
	}
	one, two, three := upload("a/one", 9, 0), upload("a/two", store.MaxInline+1, 2), upload("a/three", 10, 1)
	fileName := func(f store.FileInfo) string { return f.Name }
	lists := func(folder string, byDate, bySize []string) {
		t.Helper()
		check.Equal(t, "by date", all(t, s.Files, store.FilesByDateQuery("d", folder), fileName), byDate)
		check.Equal(t, "by size", all(t, s.Files, store.FilesBySizeQuery("d", folder), fileName), bySize)
	}
	lists(folder.ID, []string{"two", "three", "one"}, []string{"two", "three", "one"})

	// The folder moves, and then a file to the root under another name.
	check.OK(t, check.Err(s.Move(t.Context(), "d", path("a"), path("b/a"))))
	lists(folder.ID, []string{"two", "three", "one"}, []string{"two", "three", "one"})
	check.OK(t, check.Err(s.Move(t.Context(), "d", path("b/a/three"), path("last"))))
	lists(folder.ID, []string{"two", "one"}, []string{"two", "one"})
	lists("", []string{"last"}, []string{"last"})
	for _, f := range []store.FileInfo{one, two, three} {
		check.Equal(t, "size", len(check.Must(s.FileContent(t.Context(), "d", f.ID))(t)), int(f.Size))
		check.Is(t, check.Err(s.File(t.Context(), "other", f.ID)), table.ErrNotFound)
		check.Is(t, check.Err(s.FileContent(t.Context(), "other", f.ID)), table.ErrNotFound)
	}

	check.Is(t, s.DeleteFile(t.Context(), "d", path("b/a")), table.ErrNotFound, "a folder")
	check.OK(t, s.DeleteFile(t.Context(), "d", path("b/a/two")))
	lists(folder.ID, []string{"one"}, []string{"one"})
	check.Is(t, check.Err(s.File(t.Context(), "d", two.ID)), table.ErrNotFound)
	check.Is(t, check.Err(s.FileContent(t.Context(), "d", two.ID)), table.ErrNotFound)
	check.Equal(t, "tree", tree(t, s), []string{"b", "b/a", "b/a/one", "last"})
	consistent(t, s)
}

func contents() expression.ConditionBuilder {
	return expression.Name("entityType").Equal(expression.Value("CONTENT"))
}

// open2 returns the same store with other objects.
func open2(t *testing.T, s *store.Store, objects store.Objects) *store.Store {
	t.Helper()
	return check.Must(store.New(s.Table, objects))(t)
}

// contentChange returns the event of a change of a post's content.
func contentChange(t *testing.T, s *store.Store, post string, change func()) json.RawMessage {
	t.Helper()
	key := store.PostKey(post)
	key.SK = "CONTENT"
	former, err := s.Contents.Consistent().Get(t.Context(), key)
	if errors.Is(err, table.ErrNotFound) {
		change()
		return json.RawMessage(`{"Records":[]}`)
	}
	check.OK(t, err)
	change()
	after := check.Must(s.Contents.Consistent().Get(t.Context(), key))(t)
	// Once more with the event.
	check.OK(t, s.Contents.Delete(t.Context(), key), s.Contents.Create(t.Context(), &former))
	return check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Contents.UpdateOps(former, &after)...))(t)
}
