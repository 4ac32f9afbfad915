package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

type file struct {
	ID         string `json:"fileId"`
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	UploadedAt string `json:"uploadedAt"`
}

func fileOf(f store.FileInfo) file {
	return file{f.ID, f.Name, f.Size, httpapi.Clock(f.UploadedAt)}
}

// pathOf returns the path in the address of a request. The drive is the user's own.
func pathOf(r *http.Request) store.Path { return strings.Split(r.PathValue("path"), "/") }

func (a *API) createFolder(w http.ResponseWriter, r *http.Request, user string) error {
	var path store.Path
	if err := httpapi.ReadJSON(w, r, map[string]any{"path": &path}); err != nil {
		return err
	}
	// The addresses of files have names between slashes, and no dots alone.
	if slices.ContainsFunc(path, func(name string) bool { return strings.Contains(name, "/") || name == "." || name == ".." }) {
		return rest.BadRequest("invalid_path", "a name must not be . or .. or have a slash")
	}
	return a.create(w, r, user, "CreateFolder", path, func(ctx context.Context) (string, any, []table.Op, error) {
		n, ops, err := a.Store.FolderOps(ctx, user, path)
		return addressOf(path), map[string]string{"folderId": n.ID}, ops, err
	})
}

type node struct {
	ID   string     `json:"nodeId"`
	Kind store.Kind `json:"kind"`
	Path store.Path `json:"path"`
}

func nodeOf(n store.Node) node { return node{n.ID, n.Kind, n.Path} }

// addressOf returns where listFolder lists the folder at a path.
func addressOf(p store.Path) string { return "/folders?path=" + url.QueryEscape(strings.Join(p, "/")) }

// listFolder lists what is in a folder, or depth=all: everything below it.
func (a *API) listFolder(w http.ResponseWriter, r *http.Request, user string) error {
	text, err := parameter(r, "path")
	if err != nil {
		return err
	}
	tree, err := chosen(r, "depth", "all")
	if err != nil {
		return err
	}
	var path store.Path
	if text != "" {
		path = strings.Split(text, "/")
	}
	q := store.ChildrenQuery(user, path)
	if tree {
		q = store.TreeQuery(user, path)
	}
	return list(a, w, r, q, a.Store.Nodes.Query, nodeOf)
}

// move gives a folder or a file the path of the request.
func (a *API) move(w http.ResponseWriter, r *http.Request, user string) error {
	var id string
	var from store.Path
	if err := httpapi.ReadJSON(w, r, map[string]any{"nodeId": &id, "from": &from}); err != nil {
		return err
	}
	if err := text("nodeId", id); err != nil {
		return err
	}
	return done(w, a.Store.Place(r.Context(), user, id, from, pathOf(r)))
}

// listFiles lists the files of a folder by date, or by=size.
func (a *API) listFiles(w http.ResponseWriter, r *http.Request, user string) error {
	folder, err := parameter(r, "folder")
	if err != nil {
		return err
	}
	bySize, err := chosen(r, "by", "size")
	if err != nil {
		return err
	}
	q := store.FilesByDateQuery(user, folder)
	if bySize {
		q = store.FilesBySizeQuery(user, folder)
	}
	return list(a, w, r, q, a.Store.Files.Query, fileOf)
}

func (a *API) getFile(w http.ResponseWriter, r *http.Request, user string) error {
	data, err := a.Store.FileContent(r.Context(), user, r.PathValue("id"))
	if err != nil {
		return err
	}
	// Never a page of this origin.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	_, _ = w.Write(data) // a client that has gone gets nothing
	return nil
}

func (a *API) getMetadata(w http.ResponseWriter, r *http.Request, user string) error {
	f, err := a.Store.File(r.Context(), user, r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, fileOf(f))
}

// putFile stores a file, or replaces its content.
func (a *API) putFile(w http.ResponseWriter, r *http.Request, user string) error {
	data, err := content(w, r)
	if err != nil {
		return err
	}
	f, created, err := a.Store.PutFile(r.Context(), user, pathOf(r), data, now())
	switch {
	case err != nil:
		return err
	case created:
		return httpapi.WriteJSON(w, http.StatusCreated, fileOf(f))
	}
	return httpapi.WriteJSON(w, http.StatusOK, fileOf(f))
}

func (a *API) deleteFile(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.Store.DeleteFile(r.Context(), user, pathOf(r)))
}
