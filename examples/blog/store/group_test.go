package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func groupID(m store.Membership) string { return m.GroupID }
func userID(m store.Membership) string  { return m.UserID }

// joined makes users and groups, without members.
func joined(t *testing.T, s *store.Store, users, groups int) {
	t.Helper()
	for i := range users {
		check.OK(t, s.Users.Create(t.Context(), new(store.User{ID: fmt.Sprintf("u%02d", i)})))
	}
	for i := range groups {
		check.OK(t, s.Groups.Create(t.Context(), new(store.Group{ID: fmt.Sprintf("g%d", i)})))
	}
}

func checkCounts(t *testing.T, s *store.Store, users, groups int) {
	t.Helper()
	for i := range groups {
		group := fmt.Sprintf("g%d", i)
		n := check.Must(s.Groups.Consistent().Get(t.Context(), store.GroupKey(group)))(t).Members
		check.Equal(t, "members of "+group, n, int64(len(all(t, s.Memberships, store.MembersQuery(group), userID))))
	}
	for i := range users {
		user := fmt.Sprintf("u%02d", i)
		n := check.Must(s.User(t.Context(), user))(t).Groups
		check.Equal(t, "groups of "+user, n, int64(len(all(t, s.Memberships, store.GroupsQuery(user), groupID))))
	}
}

func TestMembershipsAreReadFromBothSides(t *testing.T) {
	t.Parallel()
	s := open(t)
	joined(t, s, 2, 2)
	for _, m := range []store.Membership{
		{GroupID: "g0", UserID: "u00"}, {GroupID: "g0", UserID: "u01"}, {GroupID: "g1", UserID: "u01"},
	} {
		check.OK(t, s.Join(t.Context(), m))
	}
	check.Equal(t, "members", all(t, s.Memberships, store.MembersQuery("g0"), userID), []string{"u00", "u01"})
	check.Equal(t, "groups", all(t, s.Memberships, store.GroupsQuery("u01"), groupID), []string{"g0", "g1"})
	checkCounts(t, s, 2, 2)

	check.OK(t, s.Leave(t.Context(), "g0", "u01"))
	check.Equal(t, "members", all(t, s.Memberships, store.MembersQuery("g0"), userID), []string{"u00"})
	check.Equal(t, "groups", all(t, s.Memberships, store.GroupsQuery("u01"), groupID), []string{"g1"})
	checkCounts(t, s, 2, 2)
}

func TestRefusedMembershipsAreNotCounted(t *testing.T) {
	t.Parallel()
	s := open(t)
	joined(t, s, 1, 1)
	m := store.Membership{GroupID: "g0", UserID: "u00"}
	check.Is(t, s.Leave(t.Context(), "g0", "u00"), store.ErrNotMember)
	check.OK(t, s.Join(t.Context(), m))
	check.Is(t, s.Join(t.Context(), m), store.ErrAlreadyMember)
	check.Is(t, s.Join(t.Context(), store.Membership{GroupID: "none", UserID: "u00"}), table.ErrNotFound)
	check.Is(t, s.Join(t.Context(), store.Membership{GroupID: "g0", UserID: "none"}), table.ErrNotFound)
	checkCounts(t, s, 1, 1)
}

// persist repeats what gave up because of conflicts: nothing was written then.
func persist(do func() error) error {
	err := do()
	for i := 0; i < 20 && errors.Is(err, table.ErrConflict); i++ {
		err = do()
	}
	return err
}

func TestAMembershipHasTheNamesOfBothSides(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.OK(t,
		s.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}),
		s.Groups.Create(t.Context(), &store.Group{ID: "g", Name: "Cooks"}),
		s.Join(t.Context(), store.Membership{GroupID: "g", UserID: "ana", Role: store.Member, JoinedAt: noon}))
	router := routerOf(t, s)
	names := func(user, group string) {
		t.Helper()
		m := check.Must(s.Membership(t.Context(), "g", "ana"))(t)
		check.Equal(t, "names and date", fmt.Sprintln(m.UserName, m.GroupName, m.JoinedAt), fmt.Sprintln(user, group, noon))
		check.Equal(t, "the copies", all(t, s.Memberships, store.MembersQuery("g"), func(m store.Membership) store.Membership { return m }), []store.Membership{m})
	}
	names("Ana", "Cooks")

	first, last := rename(t, s, "ana", "Anna"), rename(t, s, "ana", "Annie")
	check.Deliver(t, router, last)
	check.Deliver(t, router, first)
	names("Annie", "Cooks")

	group := check.Must(s.Groups.Get(t.Context(), store.GroupKey("g")))(t)
	renamed := group
	renamed.Name = "Chefs"
	check.Deliver(t, router, check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Groups.UpdateOps(group, &renamed)...))(t))
	names("Annie", "Chefs")

	// A membership whose writer has read the names before the changes.
	check.OK(t, s.Leave(t.Context(), "g", "ana"))
	check.Is(t, check.Err(s.Membership(t.Context(), "g", "ana")), store.ErrNotMember)
	late := store.Membership{GroupID: "g", UserID: "ana", GroupName: "Cooks", GroupVersion: 1, UserName: "Ana", UserVersion: 1, JoinedAt: noon}
	check.Deliver(t, router, check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.Table, s.Memberships.CreateOps(&late)...))(t))
	names("Annie", "Chefs")
}

// A refresh has read the name between two renames and writes after the second one.
func TestALateRefreshOfAMembershipDoesNotOverwriteALaterName(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := open(t)
	check.OK(t,
		s.AddUser(t.Context(), store.User{ID: "ana", Email: "ana@example.com", Name: "Ana"}),
		s.Groups.Create(t.Context(), &store.Group{ID: "g", Name: "Cooks"}),
		s.Join(t.Context(), store.Membership{GroupID: "g", UserID: "ana"}))
	check.OK(t, check.Err(s.Rename(t.Context(), "ana", "Anna")))
	faults.Next("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		check.OK(t, check.Err(s.Rename(t.Context(), "ana", "Ana")), s.RefreshMemberships(t.Context(), "ana"))
		return response, err
	})
	check.OK(t, faultyStore(t, s, &faults).RefreshMemberships(t.Context(), "ana"))
	check.Equal(t, "name", check.Must(s.Membership(t.Context(), "g", "ana"))(t).UserName, "Ana")
}

// Users join and leave two groups all at once, and each of them twice. The counts are those
// of the lists.
func TestManyJoinAndLeaveAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	const users = 12
	joined(t, s, users, 2)
	check.OK(t, check.Errors(4*users, func(i int) error {
		m := store.Membership{GroupID: fmt.Sprintf("g%d", i%2), UserID: fmt.Sprintf("u%02d", i/4), Role: store.Member}
		for _, step := range []func() error{
			func() error { return s.Join(t.Context(), m) },
			func() error { return s.Leave(t.Context(), m.GroupID, m.UserID) },
			func() error { return s.Join(t.Context(), m) },
		} {
			err := persist(step)
			if err != nil && !errors.Is(err, store.ErrAlreadyMember) && !errors.Is(err, store.ErrNotMember) {
				return err
			}
		}
		return nil
	})...)
	checkCounts(t, s, users, 2)
	for i := range 2 {
		// The last step of all is a join, or meets one.
		check.Equal(t, "members", len(all(t, s.Memberships, store.MembersQuery(fmt.Sprintf("g%d", i)), userID)), users)
	}
}
