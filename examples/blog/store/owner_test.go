package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// owned makes a group g0 that n users own, u00 and so on.
func owned(t *testing.T, s *store.Store, n int) {
	t.Helper()
	joined(t, s, n, 0)
	check.OK(t, s.OpenGroup(t.Context(), store.Group{ID: "g0", Name: "Cooks"}, "u00", noon))
	for i := 1; i < n; i++ {
		check.OK(t, s.Join(t.Context(), store.Membership{GroupID: "g0", UserID: fmt.Sprintf("u%02d", i), Role: store.Owner}))
	}
}

func role(m store.Membership) string { return m.UserID + " " + string(m.Role) }

func TestOwnershipIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	joined(t, s, 3, 0)
	check.OK(t, s.OpenGroup(t.Context(), store.Group{ID: "g0"}, "u00", noon))
	check.OK(t, s.Join(t.Context(), store.Membership{GroupID: "g0", UserID: "u01", Role: store.Member}))
	check.Is(t, s.Leave(t.Context(), "g0", "u00"), store.ErrLastOwner, "the only owner leaves")
	for _, c := range []struct {
		by, user string
		role     store.Role
		want     error
	}{
		{"u00", "u00", store.Member, store.ErrLastOwner},
		{"u01", "u01", store.Owner, store.ErrNotOwner},
		{"u01", "u00", store.Member, store.ErrNotOwner},
		{"u02", "u00", store.Member, store.ErrNotOwner},
		{"u00", "u02", store.Owner, store.ErrNotMember},
		{"u00", "u00", store.Owner, nil},
		{"u00", "u01", store.Owner, nil},
		{"u00", "u01", store.Owner, nil},
		{"u00", "u00", store.Member, nil},
		{"u00", "u01", store.Member, store.ErrNotOwner},
	} {
		check.Is(t, s.SetRole(t.Context(), "g0", c.by, c.user, c.role), c.want, c)
	}
	check.Is(t, check.Err(s.ChangeGroup(t.Context(), "g0", "u00", func(g *store.Group) { g.Name = "Mine" })), store.ErrNotOwner)
	check.Is(t, s.DeleteGroup(t.Context(), "g0", "u00"), store.ErrNotOwner)
	check.Equal(t, "roles", all(t, s.Memberships, store.MembersQuery("g0"), role), []string{"u00 member", "u01 owner"})
	check.OK(t, s.Leave(t.Context(), "g0", "u00"))
	check.Is(t, s.Leave(t.Context(), "g0", "u01"), store.ErrLastOwner, "the only member leaves")
	checkCounts(t, s, 3, 1)
}

func TestOfManyOwnersWhoGoOneStays(t *testing.T) {
	t.Parallel()
	s := open(t)
	const owners = 16
	owned(t, s, owners)
	last := 0
	for _, err := range check.Errors(owners, func(i int) error {
		user := fmt.Sprintf("u%02d", i)
		return persist(func() error {
			if i%2 == 0 {
				return s.Leave(t.Context(), "g0", user)
			}
			return s.SetRole(t.Context(), "g0", user, user, store.Member)
		})
	}) {
		if errors.Is(err, store.ErrLastOwner) {
			last++
		} else {
			check.OK(t, err)
		}
	}
	check.Equal(t, "owners that could not go", last, 1)
	have := 0
	for _, m := range all(t, s.Memberships, store.MembersQuery("g0"), func(m store.Membership) store.Membership { return m }) {
		if m.Role == store.Owner {
			have++
		}
	}
	check.Equal(t, "owners", have, 1)
	checkCounts(t, s, owners, 1)
}

// A membership whose names change while its user leaves is left all the same.
func TestALeaveMeetsARefresh(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	owned(t, s, 2)
	faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		check.OK(t, check.Err(s.Rename(t.Context(), "u01", "Anna")), s.RefreshMemberships(t.Context(), "u01"))
		return next.RoundTrip(r)
	})
	faulty := openOn(t, check.Must(table.New(tabletest.Client(t, faults.Install), s.Table.Schema(), nil))(t))
	check.OK(t, faulty.Leave(t.Context(), "g0", "u01"))
	checkCounts(t, s, 2, 1)
	check.Equal(t, "members", all(t, s.Memberships, store.MembersQuery("g0"), userID), []string{"u00"})
}

func TestADeletedGroupTakesItsMembershipsAlong(t *testing.T) {
	t.Parallel()
	s := open(t)
	owned(t, s, 3)
	g := check.Must(s.Group(t.Context(), "g0"))(t)
	check.Equal(t, "members", g.Members, 3)
	check.OK(t, s.DeleteGroup(t.Context(), "g0", "u01"))
	check.Is(t, s.DeleteGroup(t.Context(), "g0", "u01"), table.ErrNotFound)
	check.Is(t, s.Join(t.Context(), store.Membership{GroupID: "g0", UserID: "u00"}), table.ErrNotFound)
	check.Is(t, s.Leave(t.Context(), "g0", "u00"), store.ErrNotMember)

	// The change of a deletion, made on a group that is there for the event only.
	check.OK(t, s.Groups.Create(t.Context(), &g))
	gone := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Groups.DeleteOps(g)...))(t)
	check.Deliver(t, routerOf(t, s), gone)
	check.Deliver(t, routerOf(t, s), gone)
	check.Equal(t, "items of the group", len(check.Must(table.Collect(table.All[table.Item](t.Context(), s.Table.Consistent(), table.Query{PK: store.GroupPrefix.PK("g0")})))(t)), 0)
	checkCounts(t, s, 3, 0)
}

// A group that an earlier release has stored, without a description and uncounted, has its
// owner, is counted by a refresh, and is changed like others. One whose owner has left has none.
func TestGroupsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	s := open(t)
	joined(t, s, 2, 0)
	put := func(key keys.Key, item map[string]any) {
		check.OK(t, s.Table.Do(t.Context(), table.Put(key, item)))
	}
	membership := func(group, user, role string) {
		m := store.Membership{GroupID: group, UserID: user}
		item := map[string]any{
			"entityType": "MEMBERSHIP", "groupId": group, "userId": user, "groupName": "Cooks", "groupVersion": 1, "userVersion": 1,
			"role": role, "joinedAt": "2024-01-15T10:00:00Z", "version": 1,
		}
		put(store.MemberKey(m), item)
		put(store.MemberOfKey(m), item)
		check.OK(t, check.Err(s.Memberships.Refresh(t.Context(), store.MemberKey(m))))
	}
	for _, id := range []string{"g0", "g1"} {
		put(store.GroupKey(id), map[string]any{"entityType": "GROUP", "groupId": id, "name": "Cooks", "version": 1})
	}
	membership("g0", "u00", "owner")
	membership("g0", "u01", "member")
	membership("g1", "u01", "member")
	check.Is(t, s.Leave(t.Context(), "g0", "u00"), store.ErrLastOwner)
	check.OK(t, check.Err(s.ChangeGroup(t.Context(), "g0", "u00", func(g *store.Group) { g.Description = "What we eat" })))
	check.OK(t, s.SetRole(t.Context(), "g0", "u00", "u01", store.Owner), s.Leave(t.Context(), "g0", "u00"))
	check.Equal(t, "group", check.Must(s.Group(t.Context(), "g0"))(t), store.Group{ID: "g0", Name: "Cooks", Description: "What we eat", Members: 1, Version: 2})

	check.Is(t, s.SetRole(t.Context(), "g1", "u01", "u01", store.Owner), store.ErrNotOwner)
	check.OK(t, s.Leave(t.Context(), "g1", "u01"))
	checkCounts(t, s, 2, 2)
}
