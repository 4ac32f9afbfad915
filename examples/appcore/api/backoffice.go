package api

import (
	"net/http"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/httpapi"
)

type user struct {
	ID        string `json:"userId"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	CreatedAt string `json:"createdAt"`
}

func userOf(u core.User) user {
	return user{u.ID, u.Email, u.Name, httpapi.Clock(u.CreatedAt)}
}

// registerUser adds a user. One that is there already, with the same e-mail and
// name, is a 200.
func (a *API) registerUser(w http.ResponseWriter, r *http.Request, _ string) error {
	var n core.NewUser
	if err := httpapi.ReadJSON(w, r, map[string]any{"userId": &n.ID, "email": &n.Email, "name": &n.Name}); err != nil {
		return err
	}
	u, created, err := a.service.Register(r.Context(), n)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return httpapi.WriteJSON(w, status, userOf(u))
}

// getUser returns a user.
func (a *API) getUser(w http.ResponseWriter, r *http.Request, _ string) error {
	u, err := a.service.User(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(u))
}

// patchUser gives a user another e-mail.
func (a *API) patchUser(w http.ResponseWriter, r *http.Request, _ string) error {
	var email string
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &email}); err != nil {
		return err
	}
	u, err := a.service.ChangeEmail(r.Context(), r.PathValue("id"), email)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userOf(u))
}

// approveTransaction completes a transaction of any user. It has no body.
func (a *API) approveTransaction(w http.ResponseWriter, r *http.Request, _ string) error {
	t, err := a.service.Approve(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeTransaction(w, t)
}
