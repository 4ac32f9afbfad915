package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

type membership struct {
	Group     string `json:"groupId"`
	GroupName string `json:"groupName"`
	User      string `json:"userId"`
	UserName  string `json:"userName"`
	Role      string `json:"role"`
	JoinedAt  string `json:"joinedAt"`
}

func membershipOf(m store.Membership) membership {
	return membership{m.GroupID, m.GroupName, m.UserID, m.UserName, m.Role, httpapi.Clock(m.JoinedAt)}
}

func (a *API) listGroups(w http.ResponseWriter, r *http.Request, user string) error {
	return list(w, r, store.GroupsQuery(user), a.Store.Memberships.Query, membershipOf)
}

// createGroup stores a group with its first member.
func (a *API) createGroup(w http.ResponseWriter, r *http.Request, user string) error {
	g := store.Group{ID: newID()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"name": &g.Name}); err != nil {
		return err
	}
	if err := text("name", g.Name); err != nil {
		return err
	}
	if err := a.Store.OpenGroup(r.Context(), g, store.Membership{UserID: user, Role: "owner", JoinedAt: now()}); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, map[string]string{"groupId": g.ID, "name": g.Name})
}

// listMembers is for members.
func (a *API) listMembers(w http.ResponseWriter, r *http.Request, user string) error {
	m, err := a.Store.Membership(r.Context(), r.PathValue("id"), user)
	if err != nil {
		return err
	}
	return list(w, r, store.MembersQuery(m.GroupID), a.Store.Memberships.Query, membershipOf)
}

func (a *API) join(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.Store.Join(r.Context(), store.Membership{GroupID: r.PathValue("id"), UserID: user, Role: "member", JoinedAt: now()}))
}

func (a *API) leave(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.Store.Leave(r.Context(), r.PathValue("id"), user))
}

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
		return httpapi.BadRequest("invalid_path", "a name must not be . or .. or have a slash")
	}
	n, err := a.Store.MakeFolder(r.Context(), user, path)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, map[string]string{"folderId": n.ID})
}

// listFiles lists the files of a folder by date, or by=size.
func (a *API) listFiles(w http.ResponseWriter, r *http.Request, user string) error {
	folder := r.URL.Query().Get("folder")
	q := store.FilesByDateQuery(user, folder)
	if r.URL.Query().Get("by") == "size" {
		q = store.FilesBySizeQuery(user, folder)
	}
	return list(w, r, q, a.Store.Files.Query, fileOf)
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

func (a *API) putFile(w http.ResponseWriter, r *http.Request, user string) error {
	data, err := content(w, r)
	if err != nil {
		return err
	}
	f, err := a.Store.Upload(r.Context(), user, pathOf(r), data, now())
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, fileOf(f))
}

func (a *API) deleteFile(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.Store.DeleteFile(r.Context(), user, pathOf(r)))
}
