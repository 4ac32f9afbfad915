package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func path(s string) store.Path { return strings.Split(s, "/") }

func pathOf(n store.Node) string { return strings.Join(n.Path, "/") }

// makeNodes makes folders, whose names end in a slash, and files.
func makeNodes(t *testing.T, s *store.Store, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if folder, ok := strings.CutSuffix(p, "/"); ok {
			check.OK(t, check.Err(s.MakeFolder(t.Context(), "d", path(folder))))
		} else {
			check.OK(t, check.Err(s.Upload(t.Context(), "d", path(p), []byte(p), noon)))
		}
	}
}

func tree(t *testing.T, s *store.Store) []string {
	t.Helper()
	return all(t, s.Nodes, store.TreeQuery("d", nil), pathOf)
}

func TestAFolderMovesWithItsContent(t *testing.T) {
	t.Parallel()
	s := open(t)
	makeNodes(t, s, "a/", "a/b/", "a/b/f", "a/g", "ab/", "c/")
	check.Equal(t, "in a", all(t, s.Nodes, store.ChildrenQuery("d", path("a")), pathOf), []string{"a/g", "a/b"})
	check.Equal(t, "in the root", all(t, s.Nodes, store.ChildrenQuery("d", nil), pathOf), []string{"a", "ab", "c"})
	check.Equal(t, "below a", all(t, s.Nodes, store.TreeQuery("d", path("a")), pathOf), []string{"a/b", "a/b/f", "a/g"})

	moved := check.Must(s.Move(t.Context(), "d", path("a"), path("c/x")))(t)
	check.Equal(t, "moved", moved, 4)
	check.Equal(t, "tree", tree(t, s), []string{"ab", "c", "c/x", "c/x/b", "c/x/b/f", "c/x/g"})
	check.Equal(t, "in c/x", all(t, s.Nodes, store.ChildrenQuery("d", path("c/x")), pathOf), []string{"c/x/g", "c/x/b"})
	check.Equal(t, "in a", all(t, s.Nodes, store.ChildrenQuery("d", path("a")), pathOf), []string(nil))
}

func TestMovesThatCannotBeChangeNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	makeNodes(t, s, "a/", "a/a/", "a/a/a/", "f", "b/", "b/f")
	before := tree(t, s)
	for _, c := range []struct {
		from, to store.Path
		want     error
	}{
		{path("a"), path("a/a/b"), store.ErrInside},
		{path("a"), path("a"), store.ErrInside},
		{path("a/a"), path("a"), table.ErrExists},
		{path("f"), path("b/f"), table.ErrExists},
		{path("f"), path("none/f"), store.ErrNoFolder},
		{path("a"), path("f/a"), store.ErrNoFolder},
		{path("none"), path("x"), table.ErrNotFound},
		{nil, path("x"), store.ErrRoot},
		{path("a"), nil, store.ErrRoot},
	} {
		check.Is(t, check.Err(s.Move(t.Context(), "d", c.from, c.to)), c.want, fmt.Sprintf("%v to %v", c.from, c.to))
	}
	check.Is(t, check.Err(s.Upload(t.Context(), "d", path("f/x"), nil, noon)), store.ErrNoFolder)
	check.Is(t, check.Err(s.MakeFolder(t.Context(), "d", nil)), store.ErrRoot)
	check.Equal(t, "tree", tree(t, s), before)
}

func TestAMoveIsBoundedByOneTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	makeNodes(t, s, "a/", "b/")
	for i := range store.MaxMove - 1 {
		makeNodes(t, s, fmt.Sprintf("a/%02d", i))
	}
	moved := check.Must(s.Move(t.Context(), "d", path("a"), path("b/a")))(t)
	check.Equal(t, "moved", moved, store.MaxMove)

	makeNodes(t, s, "b/a/one-more")
	before := tree(t, s)
	check.Is(t, check.Err(s.Move(t.Context(), "d", path("b/a"), path("a"))), table.ErrTooLarge)
	check.Equal(t, "tree", tree(t, s), before)
}

func TestWhatIsPutIntoAMovingFolderIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	s := open(t)
	makeNodes(t, s, "here/", "there/", "here/box/")
	var mu sync.Mutex
	var made []string
	check.Together(4, func(worker int) {
		if worker == 0 {
			for range 6 {
				for _, way := range [][2]store.Path{{path("here/box"), path("there/box")}, {path("there/box"), path("here/box")}} {
					err := persist(func() error { _, err := s.Move(t.Context(), "d", way[0], way[1]); return err })
					if err != nil {
						t.Error(err)
					}
				}
			}
			return
		}
		for i := range 12 {
			name := fmt.Sprintf("file-%d-%d", worker, i)
			for _, folder := range []string{"here/box", "there/box"} {
				_, err := s.Upload(t.Context(), "d", append(path(folder), name), nil, noon)
				switch {
				case err == nil:
					mu.Lock()
					made = append(made, name)
					mu.Unlock()
				case !errors.Is(err, store.ErrNoFolder) && !errors.Is(err, table.ErrConflict):
					t.Error(err)
				}
				if err == nil {
					break
				}
			}
		}
	})
	var found []string
	for _, n := range all(t, s.Nodes, store.TreeQuery("d", path("here/box")), pathOf) {
		found = append(found, strings.TrimPrefix(n, "here/box/"))
	}
	slices.Sort(made)
	slices.Sort(found)
	check.Equal(t, "files in the box", found, made)
	check.Equal(t, "nodes", len(tree(t, s)), 3+len(made))
}

// A writer has read the folder, and another folder takes its path before the write. The
// file is in the folder that has the path then, by its path and by its list.
func TestAFileIsListedInTheFolderThatHasThePath(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	makeNodes(t, s, "a/")
	var other store.Node
	replace := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		check.OK(t, check.Err(s.Move(t.Context(), "d", path("a"), path("former"))))
		other = check.Must(s.MakeFolder(t.Context(), "d", path("a")))(t)
		return response, err
	}
	// The second read of the folder: the first one is before the content.
	faults.Next("GetItem", nil, replace)
	faulty := openOn(t, check.Must(table.New(tabletest.Client(t, faults.Install), s.Table.Schema(), nil))(t))
	f := check.Must(faulty.Upload(t.Context(), "d", path("a/f"), nil, noon))(t)
	check.Equal(t, "folder", f.FolderID, other.ID)
	check.Equal(t, "tree", tree(t, s), []string{"a", "a/f", "former"})
	listed := all(t, s.Files, store.FilesByDateQuery("d", other.ID), func(f store.FileInfo) string { return f.Name })
	check.Equal(t, "files", listed, []string{"f"})
}

// A move has read a folder, and another folder takes its path before the write. The move is
// then of the folder that has the path.
func TestAMoveTakesNoFolderForTheFormerOne(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	former := check.Must(s.MakeFolder(t.Context(), "d", path("a")))(t)
	var other store.Node
	faults.Next("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		check.OK(t, check.Err(s.Move(t.Context(), "d", path("a"), path("former"))))
		other = check.Must(s.MakeFolder(t.Context(), "d", path("a")))(t)
		return response, err
	})
	faulty := openOn(t, check.Must(table.New(tabletest.Client(t, faults.Install), s.Table.Schema(), nil))(t))
	check.OK(t, check.Err(faulty.Move(t.Context(), "d", path("a"), path("b"))))
	check.Equal(t, "tree", tree(t, s), []string{"b", "former"})
	for at, id := range map[string]string{"b": other.ID, "former": former.ID} {
		n := check.Must(s.Nodes.Get(t.Context(), store.NodeKey("d", path(at))))(t)
		check.Equal(t, at, n.ID, id)
	}
}
