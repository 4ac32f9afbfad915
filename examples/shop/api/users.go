package api

import (
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

type user struct {
	ID        string     `json:"userId"`
	Email     string     `json:"email"`
	Name      string     `json:"name"`
	Role      store.Role `json:"role"`
	CreatedAt string     `json:"createdAt"`
}

func userOf(u store.User) user {
	return user{u.ID, u.Email, u.Name, u.Role, httpapi.Clock(u.CreatedAt)}
}

// signUp creates a customer.
func (a *API) signUp(w http.ResponseWriter, r *http.Request, _ session.Identity) error {
	u := store.User{ID: store.NewID("u"), CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	var password string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &u.Email, "name": &u.Name, "password": &password}); err != nil {
		return err
	}
	u, err := a.shop.SignUp(r.Context(), u, password)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, userOf(u))
}

// logIn returns a token.
func (a *API) logIn(w http.ResponseWriter, r *http.Request, _ session.Identity) error {
	var email, password string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &email, "password": &password}); err != nil {
		return err
	}
	u, err := a.shop.LogIn(r.Context(), email, password)
	if err != nil {
		return err
	}
	token, expires, err := a.sessions.Issue(u)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, struct {
		Token     string `json:"token"`
		ExpiresAt string `json:"expiresAt"`
		User      user   `json:"user"`
	}{token, httpapi.Clock(expires), userOf(u)})
}

// user returns the user itself; to an admin, any user. Another user's id is a 404, so
// that nobody learns which ids there are.
func (a *API) user(w http.ResponseWriter, r *http.Request, who session.Identity) error {
	id := r.PathValue("id")
	if id != who.User && who.Role != store.Admin {
		return table.ErrNotFound
	}
	u, err := a.shop.UserByID(r.Context(), id)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(u))
}
