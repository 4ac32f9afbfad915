package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestNobodySignsUpAsAnAdmin(t *testing.T) {
	t.Parallel()
	s := open(t)
	signedUp := signUp(t, s, User{ID: "u-ana", Email: "ana@example.com", Name: "Ana", Role: Admin, ChangedBy: "eva"}, "secret-1")
	stored := check.Must(s.UserByID(t.Context(), "u-ana"))(t)
	check.Equal(t, "the user", stored, signedUp)
	check.Equal(t, "role", stored.Role, Customer)
	check.Equal(t, "changed by", stored.ChangedBy, "u-ana")
	check.Is(t, check.Err(s.UserByID(t.Context(), "u-none")), table.ErrNotFound)
}

func TestARoleIsSetInBothItems(t *testing.T) {
	t.Parallel()
	s := open(t)
	signUp(t, s, User{ID: "u-ana", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	for range 2 { // the second one changes nothing
		admin := check.Must(s.SetRole(t.Context(), "eva", "Ana@example.com", Admin))(t)
		check.Equal(t, "role", admin.Role, Admin)
		check.Equal(t, "by log-in", check.Must(logIn(t, s, "ana@example.com", "secret-1"))(t), admin)
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

func TestAttemptsToLogInHaveLimits(t *testing.T) {
	t.Parallel()
	clock := check.NewClock(noon)
	s := openAt(t, clock.Now)
	for _, name := range []string{"ana", "ben"} {
		signUp(t, s, User{ID: name, Email: name + "@example.com", Name: name}, "secret-1")
	}
	attempt := func(client, email, secret string, want error) {
		t.Helper()
		check.Is(t, check.Err(s.LogIn(t.Context(), Login{Email: email, Password: secret, Client: client})), want, client, " ", email, " ", secret)
	}
	for _, email := range []string{" ANA@example.com", "none@example.com"} { // an unknown e-mail is no different
		refused := 0
		for _, err := range check.Errors(logInsOfClient.most+5, func(int) error { // at the same time
			return check.Err(s.LogIn(t.Context(), Login{Email: email, Password: "guessed-1", Client: "a"}))
		}) {
			if errors.Is(err, ErrAttempts) {
				refused++
				continue
			}
			check.Is(t, err, ErrLogin)
		}
		check.Equal(t, "attempts that were refused", refused, 5)
	}
	attempt("a", "ana@example.com", "secret-1", ErrAttempts) // the right password
	attempt("a", "ben@example.com", "secret-1", nil)
	attempt("b", "ana@example.com", "secret-1", nil) // a client does not keep her out
	for i := range logIns.most - logInsOfClient.most - 3 {
		attempt(fmt.Sprint("bot-", i), "ana@example.com", "guessed-1", ErrLogin)
	}
	attempt("c", "ana@example.com", "guessed-1", ErrLogin)
	attempt("c", "ana@example.com", "secret-1", ErrAttempts) // many clients do, but not by mail
	u := check.Must(s.SetPassword(t.Context(), codeFor(t, s, "ana@example.com"), "secret-2", ""))(t)
	check.Equal(t, "the user", u.ID, "ana")
	clock.Pass(AttemptWindow)
	attempt("a", "ana@example.com", "secret-2", nil)
	for range requestsOfClient.most {
		check.OK(t, s.Admit(t.Context(), "d"))
	}
	check.Is(t, s.Admit(t.Context(), "d"), ErrAttempts)
	attempt("d", "ben@example.com", "secret-1", ErrAttempts)
}

// A hash takes much longer than the requests: an attempt beyond a limit costs none.
func TestAnAttemptIsCountedBeforeThePasswordIsHashed(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	signUp(t, s, User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	for range logInsOfClient.most {
		check.Is(t, check.Err(logIn(t, s, "ana@example.com", "guessed-1")), ErrLogin)
	}
	before := len(faults.Requests("GetItem"))
	check.Is(t, check.Err(logIn(t, s, "ana@example.com", "guessed-1")), ErrAttempts)
	check.Equal(t, "reads of the user", len(faults.Requests("GetItem"))-before, 0)
}
