package api

import (
	"net/http"
	"strings"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

type user struct {
	ID        string `json:"userId"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	Avatar    string `json:"avatar,omitempty"`
	CreatedAt string `json:"createdAt"`
}

// profile is a user with counts.
type profile struct {
	user
	Posts  int64 `json:"postCount"`
	Groups int64 `json:"groupCount"`
}

func userOf(u store.User) user {
	return user{u.ID, u.Email, u.Name, u.Avatar, httpapi.Clock(u.CreatedAt)}
}

// valid returns an error unless a name and an avatar can be stored.
func valid(name, avatar string) error {
	if len(avatar) > 0 && !strings.HasPrefix(avatar, "https://") || len(avatar) > maxText {
		return rest.BadRequest("invalid_avatar", "avatar must be an address that begins with https://")
	}
	return text("name", name)
}

// putUser registers the user, or replaces the whole profile.
func (a *API) putUser(w http.ResponseWriter, r *http.Request, id string) error {
	u := store.User{ID: id, CreatedAt: now()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &u.Email, "name": &u.Name, "avatar": &u.Avatar}); err != nil {
		return err
	}
	if err := valid(u.Name, u.Avatar); err != nil {
		return err
	}
	stored, err := a.Store.PutUser(r.Context(), u)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(stored))
}

// patchUser changes what is given.
func (a *API) patchUser(w http.ResponseWriter, r *http.Request, id string) error {
	var email, name, avatar *string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &email, "name": &name, "avatar": &avatar}); err != nil {
		return err
	}
	if err := valid(given(name, "unchanged"), given(avatar, "")); err != nil {
		return err
	}
	stored, err := a.Store.ChangeUser(r.Context(), id, func(u *store.User) {
		u.Email, u.Name, u.Avatar = given(email, u.Email), given(name, u.Name), given(avatar, u.Avatar)
	})
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(stored))
}

// given returns the value of a member, or that of a missing one.
func given(member *string, missing string) string {
	if member == nil {
		return missing
	}
	return *member
}

func (a *API) getUser(w http.ResponseWriter, r *http.Request, id string) error {
	u, err := a.Store.User(r.Context(), id)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, profile{userOf(u), u.Posts, u.Groups})
}
