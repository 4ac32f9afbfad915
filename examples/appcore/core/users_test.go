package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// owner returns the id of the user who owns an e-mail; empty if it is free.
func owner(t *testing.T, tbl *table.Table, email string) string {
	t.Helper()
	item, err := table.Get[table.Item](t.Context(), tbl.Consistent(), keys.Key{PK: keys.PK("EMAIL#" + email), SK: keys.Metadata})
	if errors.Is(err, table.ErrNotFound) {
		return ""
	}
	check.OK(t, err)
	return text(item, "userId")
}

func TestAUserIsRegisteredOnce(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	first := core.NewUser{ID: "u-1", Email: " Ana@Example.com ", Name: "Ana"}
	u, created, err := s.Register(t.Context(), first)
	check.OK(t, err)
	check.Equal(t, "created", created, true)
	check.Equal(t, "email", u.Email, "ana@example.com")
	again, created, err := s.Register(t.Context(), first)
	check.OK(t, err)
	check.Equal(t, "created again", created, false)
	check.Equal(t, "registered again", again, u)

	for _, c := range []struct {
		id, email, name string
		want            error
	}{
		{"u-1", "other@example.com", "Ana", core.ErrUserExists},
		{"u-1", "ana@example.com", "Other", core.ErrUserExists},
		{"u-2", "ANA@example.com", "Ana", core.ErrEmailTaken},
	} {
		_, _, err := s.Register(t.Context(), core.NewUser{ID: c.id, Email: c.email, Name: c.name})
		check.Is(t, err, c.want, c)
	}
	check.Equal(t, "items", len(items(t, tbl)), 2)
}

func TestAnInvalidUserIsRefused(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	good := core.NewUser{ID: "u-1", Email: "ana@example.com", Name: "Ana"}
	refuse := func(code string, change func(n *core.NewUser)) {
		n := good
		change(&n)
		_, _, err := s.Register(t.Context(), n)
		if e, ok := errors.AsType[*core.InvalidError](err); !ok || e.Code != code {
			t.Errorf("%+.100v: error %v, want %s", n, err, code)
		}
	}
	for _, id := range []string{"", "\xff", "\ufffd", "a\n", strings.Repeat("x", core.MaxUserID+1)} {
		refuse("invalid_userId", func(n *core.NewUser) { n.ID = id })
	}
	for _, name := range []string{"", "\xff", "a\ufffd", "a\x00", "\u202eana", strings.Repeat("x", core.MaxName+1)} {
		refuse("invalid_name", func(n *core.NewUser) { n.Name = name })
	}
	for _, email := range []string{"", "ana", strings.Repeat("x", core.MaxEmail) + "@example.com"} { // see package address
		refuse("invalid_email", func(n *core.NewUser) { n.Email = email })
		_, err := s.ChangeEmail(t.Context(), "u-1", email)
		if e, ok := errors.AsType[*core.InvalidError](err); !ok || e.Code != "invalid_email" {
			t.Errorf("change to %.100q: %v", email, err)
		}
	}
	check.Equal(t, "items", len(items(t, tbl)), 0)
	longest := good
	longest.ID, longest.Name = strings.Repeat("#", core.MaxUserID), strings.Repeat("ñ", core.MaxName/2)
	longest.Email = strings.Repeat("%", core.MaxEmail-len("@x")) + "@x"
	_, _, err := s.Register(t.Context(), longest)
	check.OK(t, err)
}

func TestAChangedEmailMoves(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	register(t, s, "u-1", "ana@example.com", "Ana")
	register(t, s, "u-2", "bruno@example.com", "Bruno")
	check.Is(t, check.Err(s.ChangeEmail(t.Context(), "u-1", "Bruno@example.com")), core.ErrEmailTaken)
	for _, id := range []string{"u-3", "", "\xff"} {
		check.Is(t, check.Err(s.ChangeEmail(t.Context(), id, "new@example.com")), core.ErrNotFound, id)
	}
	u := check.Must(s.ChangeEmail(t.Context(), "u-1", "New@example.com"))(t)
	check.Equal(t, "email", u.Email, "new@example.com")
	check.Equal(t, "owner of the former e-mail", owner(t, tbl, "ana@example.com"), "")
	check.Equal(t, "owner of the new e-mail", owner(t, tbl, "new@example.com"), "u-1")
	check.Equal(t, "owner of the other e-mail", owner(t, tbl, "bruno@example.com"), "u-2")
	register(t, s, "u-3", "ana@example.com", "Another")
}

// A user without an e-mail, as the former release stored it, has an ID only.
func TestAUserOfTheFormerReleaseGetsAnEmail(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	put(t, tbl, table.Item{
		"pk": str("USER#u-1"), "sk": str("PROFILE"), "entityType": str("USER"),
		"userId": str("u-1"), "name": str("Ana"), "createdAt": str("2024-01-15T10:00:00Z"),
	})
	_, _, err := s.Register(t.Context(), core.NewUser{ID: "u-1", Email: "ana@example.com", Name: "Ana"})
	check.Is(t, err, core.ErrUserExists)
	u := check.Must(s.ChangeEmail(t.Context(), "u-1", "ana@example.com"))(t)
	check.Equal(t, "name", u.Name, "Ana")
	check.Equal(t, "owner", owner(t, tbl, "ana@example.com"), "u-1")
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
