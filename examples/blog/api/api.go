// Package api serves the blog of package store over HTTP. Every user reads what
// is published, writes only under their own name, and has a drive. Only members
// of a group can list its members.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/table"
)

const (
	// maxContent bounds the text of a post and the bytes of a file.
	maxContent = 10 << 20
	// maxText bounds names, titles and comments, in bytes.
	maxText = 10 << 10
)

// API is the blog behind HTTP.
type API struct {
	Store *store.Store
	Auth  auth.Authenticator
	Log   *slog.Logger
}

// endpoint serves a request of a user.
type endpoint func(w http.ResponseWriter, r *http.Request, user string) error

// Handler returns the handler of all endpoints, and of further patterns of
// [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	endpoints := map[string]httpapi.Endpoint{}
	for pattern, serve := range a.endpoints() {
		endpoints[pattern] = httpapi.For(auth.Guard{By: a.Auth}.User, serve)
	}
	return httpapi.Server{Log: a.Log, Known: failures, Again: again, Ready: a.Auth.Ready}.Handler(endpoints, more)
}

func (a *API) endpoints() map[string]endpoint {
	return map[string]endpoint{
		"PUT /me":        a.putUser,
		"GET /me/posts":  a.listOwnPosts,
		"GET /me/groups": a.listGroups,

		"POST /posts":                    a.createPost,
		"GET /posts":                     a.listPublished,
		"GET /posts/{id}":                a.getPost,
		"DELETE /posts/{id}":             a.ofAuthor(a.deletePost),
		"PUT /posts/{id}/content":        a.ofAuthor(a.putContent),
		"PUT /posts/{id}/publication":    a.ofAuthor(a.publish),
		"DELETE /posts/{id}/publication": a.ofAuthor(a.unpublish),

		"GET /posts/{id}/comments":              a.listComments,
		"POST /posts/{id}/comments":             a.createComment,
		"DELETE /posts/{id}/comments/{comment}": a.deleteComment,

		"POST /groups":                   a.createGroup,
		"GET /groups/{id}/members":       a.listMembers,
		"PUT /groups/{id}/membership":    a.join,
		"DELETE /groups/{id}/membership": a.leave,

		"POST /folders":           a.createFolder,
		"GET /files":              a.listFiles,
		"GET /files/{id}":         a.getFile,
		"PUT /files/{path...}":    a.putFile,
		"DELETE /files/{path...}": a.deleteFile,
	}
}

// failures say which error is which status.
var failures = slices.Concat(auth.Failures(), []httpapi.Known{
	httpapi.On(store.ErrInvalidEmail, http.StatusBadRequest, "invalid_email", "email must be an e-mail address"),
	httpapi.On(store.ErrEmailTaken, http.StatusConflict, "email_taken", "this email is another user's"),
	httpapi.On(store.ErrAlreadyMember, http.StatusConflict, "already_member", "you are a member already"),
	httpapi.On(store.ErrNotMember, http.StatusNotFound, "not_found", nothing),
	httpapi.On(store.ErrNoFolder, http.StatusNotFound, "no_folder", "there is no such folder"),
	httpapi.On(store.ErrRoot, http.StatusNotFound, "not_found", nothing),
}, httpapi.Library())

const (
	nothing = "there is nothing here"
	again   = "try again in a moment"
)

// text returns an error unless a field has a length that can be stored.
func text(name, value string) error {
	if value == "" || len(value) > maxText {
		return httpapi.BadRequest("invalid_"+name, "%s must have 1 to %d bytes", name, maxText)
	}
	return nil
}

// content reads a body of any bytes.
func content(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxContent))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, table.ErrTooLarge
	}
	if err != nil {
		return nil, httpapi.BadRequest("invalid_body", "the body could not be read")
	}
	return data, nil
}

// list writes a page of a query.
func list[T, U any](w http.ResponseWriter, r *http.Request, q table.Query, read func(context.Context, table.Query) (table.Page[T], error), of func(T) U) error {
	return httpapi.WriteList(w, r, func(ctx context.Context, limit int, after string) (table.Page[T], error) {
		q.Limit, q.After = limit, after
		return read(ctx, q)
	}, of)
}

func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func newID() string { return strings.ToLower(rand.Text()) }

// now returns the time in the precision that keys have.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
