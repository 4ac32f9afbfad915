// Package api serves the blog of package store over HTTP. Every user reads what
// is published, writes only under their own name, and has a drive and metrics. Only members
// of a group can list its members, and only its owners change it.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
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
	// Keys is called before a list is read, and makes sure that the cursors' keys are the
	// current ones. Nil means that they never change.
	Keys func(context.Context) error
	Log  *slog.Logger
}

// errKeys means that there are no keys for cursors at the moment.
var errKeys = errors.New("no cursor keys")

// endpoint serves a request of a user.
type endpoint func(w http.ResponseWriter, r *http.Request, user string) error

// Handler returns the handler of all endpoints, and of further patterns of
// [http.ServeMux] that need no token. More may be nil.
func (a *API) Handler(more map[string]http.Handler) http.Handler {
	endpoints := map[string]httpapi.Endpoint{}
	for pattern, serve := range a.endpoints() {
		endpoints[pattern] = httpapi.For(auth.Guard{By: a.Auth}.User, ofText(serve))
	}
	return httpapi.Server{Log: a.Log, Known: failures, Again: again, Ready: a.Auth.Ready}.Handler(endpoints, more)
}

// Patterns returns the patterns of all endpoints that need a token.
func Patterns() []string { return slices.Sorted(maps.Keys(new(API).endpoints())) }

func (a *API) endpoints() map[string]endpoint {
	return map[string]endpoint{
		"PUT /me":          a.putUser,
		"PATCH /me":        a.patchUser,
		"GET /me":          a.getUser,
		"GET /me/posts":    a.listOwnPosts,
		"GET /me/comments": a.listOwnComments,
		"GET /me/groups":   a.listGroups,

		"POST /posts":                    a.createPost,
		"GET /posts":                     a.listPublished,
		"GET /posts/{id}":                a.getPost,
		"DELETE /posts/{id}":             a.ofAuthor(a.deletePost),
		"PUT /posts/{id}/content":        a.ofAuthor(a.putContent),
		"PUT /posts/{id}/publication":    a.ofAuthor(a.publish),
		"DELETE /posts/{id}/publication": a.ofAuthor(a.unpublish),
		"POST /posts/{id}/views":         a.countView,
		"GET /posts/{id}/views":          a.getViews,

		"GET /posts/{id}/comments":              a.listComments,
		"POST /posts/{id}/comments":             a.createComment,
		"DELETE /posts/{id}/comments/{comment}": a.deleteComment,

		"POST /groups":                    a.createGroup,
		"GET /groups/{id}":                a.getGroup,
		"PATCH /groups/{id}":              a.patchGroup,
		"DELETE /groups/{id}":             a.deleteGroup,
		"GET /groups/{id}/members":        a.listMembers,
		"PUT /groups/{id}/members/{user}": a.setRole,
		"GET /groups/{id}/membership":     a.getMembership,
		"PUT /groups/{id}/membership":     a.join,
		"DELETE /groups/{id}/membership":  a.leave,

		"POST /folders":            a.createFolder,
		"GET /folders":             a.listFolder,
		"PUT /nodes/{path...}":     a.move,
		"GET /files":               a.listFiles,
		"GET /files/{id}":          a.getFile,
		"GET /files/{id}/metadata": a.getMetadata,
		"PUT /files/{path...}":     a.putFile,
		"DELETE /files/{path...}":  a.deleteFile,

		"PUT /me/metrics/{name}/{time}": a.putPoint,
		"GET /me/metrics/{name}":        a.listPoints,
	}
}

// failures are the errors of the blog and their statuses.
var failures = slices.Concat(auth.Failures(), []httpapi.Known{
	httpapi.On(store.ErrInvalidEmail, http.StatusBadRequest, "invalid_email", "email must be an e-mail address"),
	httpapi.On(store.ErrEmailTaken, http.StatusConflict, "email_taken", "this email is another user's"),
	httpapi.On(store.ErrNoUser, http.StatusForbidden, "not_registered", "register with PUT /me first"),
	httpapi.On(store.ErrNotMember, http.StatusNotFound, "not_found", nothing),
	httpapi.On(store.ErrNotOwner, http.StatusForbidden, "not_owner", "this is for owners of the group"),
	httpapi.On(store.ErrLastOwner, http.StatusConflict, "last_owner", "the group has no other owner: make another member an owner, or delete the group"),
	httpapi.On(store.ErrNoFolder, http.StatusNotFound, "no_folder", "there is no such folder"),
	httpapi.On(store.ErrInside, http.StatusConflict, "inside", "a folder cannot be moved into itself"),
	httpapi.On(store.ErrRoot, http.StatusNotFound, "not_found", nothing),
	httpapi.Later(errKeys),
})

const (
	nothing = "there is nothing here"
	again   = "try again in a moment"
)

// ofText refuses requests with a path or query that is not text in UTF-8.
func ofText(serve endpoint) endpoint {
	return func(w http.ResponseWriter, r *http.Request, user string) error {
		query, err := url.QueryUnescape(r.URL.RawQuery)
		if err != nil || !utf8.ValidString(r.URL.Path) || !utf8.ValidString(query) {
			return rest.BadRequest("invalid_text", "path and query must be UTF-8")
		}
		return serve(w, r, user)
	}
}

// text returns an error unless a field has a length that can be stored.
func text(name, value string) error {
	if value == "" || len(value) > maxText {
		return rest.BadRequest("invalid_"+name, "%s must have 1 to %d bytes", name, maxText)
	}
	return nil
}

// parameter returns a parameter of the query, empty if it is missing. One that is there
// twice is an error.
func parameter(r *http.Request, name string) (string, error) {
	values := r.URL.Query()[name]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", rest.BadRequest("invalid_query", "%s is there twice", name)
}

// chosen reports whether a parameter of the query has its only value, or is missing.
func chosen(r *http.Request, name, only string) (bool, error) {
	value, err := parameter(r, name)
	if err == nil && value != only && r.URL.Query().Has(name) {
		err = rest.BadRequest("invalid_"+name, "%s must be %s or missing", name, only)
	}
	return value == only, err
}

// create serves a POST: it commits the ops of plan once for each Idempotency-Key, and
// responds with what plan returns, which is at location. Plan can be called for a repeated
// request, too. The payload is what two requests with the same key are compared by.
func (a *API) create(
	w http.ResponseWriter, r *http.Request, user, operation string, payload []string,
	plan func(context.Context) (location string, v any, ops []table.Op, err error),
) error {
	key, err := rest.IdempotencyKey(r.Header)
	if err != nil {
		return err
	}
	if key == "" {
		return rest.BadRequest("missing_idempotency_key", "an Idempotency-Key is required")
	}
	request := store.Request{Operation: operation, User: user, Key: key, Payload: payload}
	response, replayed, err := store.Once(r.Context(), a.Store, request, func(ctx context.Context) (httpapi.Created, []table.Op, error) {
		location, v, ops, err := plan(ctx)
		if err != nil {
			return httpapi.Created{}, nil, err
		}
		response, err := httpapi.NewCreated(location, v)
		return response, ops, err
	})
	if err != nil {
		return err
	}
	response.Write(w, replayed)
	return nil
}

// content reads a body of any bytes.
func content(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxContent))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, table.ErrTooLarge
	}
	if err != nil {
		return nil, rest.BadRequest("invalid_body", "the body could not be read")
	}
	return data, nil
}

// list writes a page of a query.
func list[T, U any](
	a *API, w http.ResponseWriter, r *http.Request, q table.Query, read func(context.Context, table.Query) (table.Page[T], error), of func(T) U,
) error {
	if a.Keys != nil {
		if err := a.Keys(r.Context()); err != nil {
			return fmt.Errorf("%w: %w", errKeys, err)
		}
	}
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
