package store

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestLoginIsByEmailAndPassword(t *testing.T) {
	t.Parallel()
	s := open(t)
	ana := check.Must(s.SignUp(t.Context(), User{ID: "u-ana", Email: " Ana@Example.com ", Name: "Ana", CreatedAt: noon}, "secret-1"))(t)

	got := check.Must(s.LogIn(t.Context(), "ANA@example.com", "secret-1"))(t)
	check.Equal(t, "the user", got, ana)
	for name, login := range map[string][2]string{
		"wrong password": {"ana@example.com", "Secret-1"},
		"no password":    {"ana@example.com", ""},
		"unknown e-mail": {"bruno@example.com", "secret-1"},
		"no e-mail":      {"", ""},
		"id for e-mail":  {"u-ana", "secret-1"},
	} {
		if u, err := s.LogIn(t.Context(), login[0], login[1]); !errors.Is(err, ErrLogin) {
			t.Errorf("%s: user %q, error %v", name, u.ID, err)
		}
	}
}

// A read that lags would refuse who has just signed up, and accept a former e-mail.
func TestALoginSeesWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	check.Must(s.SignUp(t.Context(), User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "correct horse"))(t)
	check.Must(s.LogIn(t.Context(), "ana@example.com", "correct horse"))(t)
	for _, read := range faults.Requests("GetItem") {
		if !bytes.Contains(read.Body, []byte(`"ConsistentRead":true`)) {
			t.Errorf("a read that may lag: %s", read.Body)
		}
	}
}

func TestOf32SignUpsWithOneEmailOneSucceeds(t *testing.T) {
	t.Parallel()
	s := open(t)
	errs := check.Errors(32, func(i int) error {
		for {
			u := User{ID: fmt.Sprintf("u-%d", i), Email: "ana@example.com", Name: fmt.Sprint(i)}
			_, err := s.SignUp(t.Context(), u, "secret-1")
			if !errors.Is(err, table.ErrConflict) {
				return err
			}
		}
	})
	winner := ""
	for i, err := range errs {
		switch {
		case err == nil && winner == "":
			winner = fmt.Sprintf("u-%d", i)
		case err == nil:
			t.Errorf("%s and u-%d have the same e-mail", winner, i)
		case !errors.Is(err, ErrEmailTaken):
			t.Errorf("sign-up %d: %v", i, err)
		}
	}
	got := check.Must(s.LogIn(t.Context(), "ana@example.com", "secret-1"))(t)
	if got.ID != winner {
		t.Errorf("%q logs in, %q has signed up", got.ID, winner)
	}
	for i := range errs {
		id := fmt.Sprintf("u-%d", i)
		if _, err := s.users.Get(t.Context(), UserKey(id)); (err == nil) != (id == winner) {
			t.Errorf("profile of %s: error %v, winner %s", id, err, winner)
		}
	}
}

func TestAnIDThatIsTakenIsNotAnEmailThatIsTaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.Must(s.SignUp(t.Context(), User{ID: "u-1", Email: "ana@example.com", Name: "Ana"}, "secret-1"))(t)
	_, err := s.SignUp(t.Context(), User{ID: "u-1", Email: "bruno@example.com", Name: "Bruno"}, "secret-1")
	if !errors.Is(err, table.ErrExists) || errors.Is(err, ErrEmailTaken) {
		t.Errorf("error: %v", err)
	}
}

func TestAChangedEmailFreesTheOldOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	for id, email := range map[string]string{"u-ana": "ana@example.com", "u-bruno": "bruno@example.com"} {
		check.Must(s.SignUp(t.Context(), User{ID: id, Email: email, Name: "Ana"}, "secret-1"))(t)
	}
	check.Is(t, check.Err(s.ChangeEmail(t.Context(), "u-ana", "Bruno@example.com")), ErrEmailTaken, "to the e-mail of another user")
	check.Must(s.ChangeEmail(t.Context(), "u-ana", "ana@example.org"))(t)
	check.Is(t, check.Err(s.LogIn(t.Context(), "ana@example.com", "secret-1")), ErrLogin, "login by the old e-mail")
	if u, err := s.LogIn(t.Context(), "ana@example.org", "secret-1"); err != nil || u.ID != "u-ana" {
		t.Errorf("login by the new e-mail: user %q, error %v", u.ID, err)
	}
	check.Must(s.SignUp(t.Context(), User{ID: "u-other", Email: "ana@example.com", Name: "Ana"}, "secret-1"))(t)
}
