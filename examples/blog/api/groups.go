package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

type membership struct {
	Group     string     `json:"groupId"`
	GroupName string     `json:"groupName"`
	User      string     `json:"userId"`
	UserName  string     `json:"userName"`
	Role      store.Role `json:"role"`
	JoinedAt  string     `json:"joinedAt"`
}

func membershipOf(m store.Membership) membership {
	return membership{m.GroupID, m.GroupName, m.UserID, m.UserName, m.Role, httpapi.Clock(m.JoinedAt)}
}

func (a *API) listGroups(w http.ResponseWriter, r *http.Request, user string) error {
	return list(a, w, r, store.GroupsQuery(user), a.Store.Memberships.Query, membershipOf)
}

type group struct {
	ID          string `json:"groupId"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Members     int64  `json:"memberCount"`
}

func groupOf(g store.Group) group {
	return group{g.ID, g.Name, g.Description, g.Members}
}

func description(value string) error {
	if len(value) > maxText {
		return rest.BadRequest("invalid_description", "description must have up to %d bytes", maxText)
	}
	return nil
}

// createGroup stores a group with its first member, who owns it.
func (a *API) createGroup(w http.ResponseWriter, r *http.Request, user string) error {
	g := store.Group{ID: newID()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"name": &g.Name, "description": &g.Description}); err != nil {
		return err
	}
	if err := cmp.Or(text("name", g.Name), description(g.Description)); err != nil {
		return err
	}
	return a.create(w, r, user, "CreateGroup", []string{g.Name, g.Description}, func(ctx context.Context) (string, any, []table.Op, error) {
		ops, err := a.Store.GroupOps(ctx, &g, user, now())
		g.Members = 1 // who owns it
		return "/groups/" + g.ID, groupOf(g), ops, err
	})
}

func (a *API) getGroup(w http.ResponseWriter, r *http.Request, _ string) error {
	g, err := a.Store.Group(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, groupOf(g))
}

// owned returns the id of a group, or an error unless the user owns it. A group has other
// errors for strangers than for members. The store checks again as it writes.
func (a *API) owned(r *http.Request, user string) (string, error) {
	m, err := a.Store.Membership(r.Context(), r.PathValue("id"), user)
	if err == nil && m.Role != store.Owner {
		err = store.ErrNotOwner
	}
	return m.GroupID, err
}

// patchGroup changes what is given.
func (a *API) patchGroup(w http.ResponseWriter, r *http.Request, user string) error {
	id, err := a.owned(r, user)
	if err != nil {
		return err
	}
	var name, about *string
	if err := httpapi.ReadJSON(w, r, map[string]any{"name": &name, "description": &about}); err != nil {
		return err
	}
	if err := cmp.Or(text("name", given(name, "unchanged")), description(given(about, ""))); err != nil {
		return err
	}
	_, err = a.Store.ChangeGroup(r.Context(), id, user, func(g *store.Group) {
		g.Name, g.Description = given(name, g.Name), given(about, g.Description)
	})
	if err != nil {
		return err
	}
	return a.getGroup(w, r, user)
}

func (a *API) deleteGroup(w http.ResponseWriter, r *http.Request, user string) error {
	id, err := a.owned(r, user)
	if err != nil {
		return err
	}
	return done(w, a.Store.DeleteGroup(r.Context(), id, user))
}

// setRole makes a member an owner, or an owner a member.
func (a *API) setRole(w http.ResponseWriter, r *http.Request, user string) error {
	id, err := a.owned(r, user)
	if err != nil {
		return err
	}
	var role store.Role
	if err := httpapi.ReadJSON(w, r, map[string]any{"role": &role}); err != nil {
		return err
	}
	if role != store.Owner && role != store.Member {
		return rest.BadRequest("invalid_role", "role must be %s or %s", store.Owner, store.Member)
	}
	return done(w, a.Store.SetRole(r.Context(), id, user, r.PathValue("user"), role))
}

// listMembers is for members.
func (a *API) listMembers(w http.ResponseWriter, r *http.Request, user string) error {
	m, err := a.Store.Membership(r.Context(), r.PathValue("id"), user)
	if err != nil {
		return err
	}
	return list(a, w, r, store.MembersQuery(m.GroupID), a.Store.Memberships.Query, membershipOf)
}

// getMembership is for the member.
func (a *API) getMembership(w http.ResponseWriter, r *http.Request, user string) error {
	m, err := a.Store.Membership(r.Context(), r.PathValue("id"), user)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, membershipOf(m))
}

// join makes the user a member. One who is a member stays the same.
func (a *API) join(w http.ResponseWriter, r *http.Request, user string) error {
	err := a.Store.Join(r.Context(), store.Membership{GroupID: r.PathValue("id"), UserID: user, Role: store.Member, JoinedAt: now()})
	if errors.Is(err, store.ErrAlreadyMember) {
		err = nil
	}
	return done(w, err)
}

func (a *API) leave(w http.ResponseWriter, r *http.Request, user string) error {
	return done(w, a.Store.Leave(r.Context(), r.PathValue("id"), user))
}
