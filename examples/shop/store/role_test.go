package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

func TestNobodySignsUpAsAnAdmin(t *testing.T) {
	t.Parallel()
	s := open(t)
	signedUp := check.Must(s.SignUp(t.Context(), User{ID: "u-ana", Email: "ana@example.com", Name: "Ana", Role: Admin, ChangedBy: "eva"}, "secret-1"))(t)
	stored := check.Must(s.UserByID(t.Context(), "u-ana"))(t)
	check.Equal(t, "the user", stored, signedUp)
	check.Equal(t, "role", stored.Role, Customer)
	check.Equal(t, "changed by", stored.ChangedBy, "u-ana")
	check.Is(t, check.Err(s.UserByID(t.Context(), "u-none")), table.ErrNotFound)
}

func TestARoleIsSetInBothItems(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.Must(s.SignUp(t.Context(), User{ID: "u-ana", Email: "ana@example.com", Name: "Ana"}, "secret-1"))(t)
	for range 2 { // the second one changes nothing
		admin := check.Must(s.SetRole(t.Context(), "eva", "Ana@example.com", Admin))(t)
		check.Equal(t, "role", admin.Role, Admin)
		check.Equal(t, "by log-in", check.Must(s.LogIn(t.Context(), "ana@example.com", "secret-1"))(t), admin)
		check.Equal(t, "by id", check.Must(s.UserByID(t.Context(), "u-ana"))(t), admin)
	}
	check.Is(t, check.Err(s.SetRole(t.Context(), "eva", "ana@example.com", "root")), ErrRole)
	check.Is(t, check.Err(s.SetRole(t.Context(), "eva", "bruno@example.com", Admin)), table.ErrNotFound)
}

func TestPasswordsAndNamesHaveBounds(t *testing.T) {
	t.Parallel()
	s := open(t)
	for secret, want := range map[string]error{"": ErrPassword, "1234567": ErrPassword, string(make([]byte, 129)): ErrPassword, "12345678": nil} {
		check.Is(t, check.Err(s.SignUp(t.Context(), User{ID: "u-1", Email: "ana@example.com", Name: "Ana"}, secret)), want, len(secret))
	}
	for _, name := range []string{"", " ", "a\nb", "Ana ", "\xff", string(make([]byte, 300))} {
		check.Is(t, check.Err(s.SignUp(t.Context(), User{ID: "u-2", Email: "ben@example.com", Name: name}, "secret-1")), ErrName, fmt.Sprintf("%q", name))
	}
}

func TestAttemptsToLogInAreCountedByEmail(t *testing.T) {
	t.Parallel()
	now := noon
	s := openAt(t, func() time.Time { return now })
	for _, name := range []string{"ana", "ben"} {
		check.Must(s.SignUp(t.Context(), User{ID: name, Email: name + "@example.com", Name: name}, "secret-1"))(t)
	}
	refused := 0
	for _, err := range check.Errors(maxAttempts+5, func(int) error { // at the same time
		return check.Err(s.LogIn(t.Context(), " ANA@example.com", "guessed-1"))
	}) {
		if errors.Is(err, ErrAttempts) {
			refused++
			continue
		}
		check.Is(t, err, ErrLogin)
	}
	check.Equal(t, "attempts that were refused unseen", refused, 5)
	check.Is(t, check.Err(s.LogIn(t.Context(), "ana@example.com", "secret-1")), ErrAttempts, "the right password")
	check.OK(t, check.Err(s.LogIn(t.Context(), "ben@example.com", "secret-1")))
	for range maxAttempts {
		check.Is(t, check.Err(s.LogIn(t.Context(), "none@example.com", "guessed-1")), ErrLogin)
	}
	check.Is(t, check.Err(s.LogIn(t.Context(), "none@example.com", "guessed-1")), ErrAttempts, "an unknown e-mail is no different")
	now = now.Add(attemptWindow)
	check.OK(t, check.Err(s.LogIn(t.Context(), "ana@example.com", "secret-1")))
}
