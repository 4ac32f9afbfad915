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
	ana := signUp(t, s, User{ID: "u-ana", Email: " Ana@Example.com ", Name: "Ana", CreatedAt: noon}, "secret-1")

	got := check.Must(logIn(t, s, "ANA@example.com", "secret-1"))(t)
	check.Equal(t, "the user", got, ana)
	for name, login := range map[string][2]string{
		"wrong password": {"ana@example.com", "Secret-1"},
		"no password":    {"ana@example.com", ""},
		"unknown e-mail": {"bruno@example.com", "secret-1"},
		"no e-mail":      {"", ""},
		"id for e-mail":  {"u-ana", "secret-1"},
	} {
		if u, err := logIn(t, s, login[0], login[1]); !errors.Is(err, ErrLogin) {
			t.Errorf("%s: user %q, error %v", name, u.ID, err)
		}
	}
}

// A read that lags would refuse who has just signed up, and accept a former e-mail.
func TestALoginSeesWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	signUp(t, s, User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "correct horse")
	check.Must(logIn(t, s, "ana@example.com", "correct horse"))(t)
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
		return check.Err(s.SignUp(t.Context(), User{ID: fmt.Sprintf("u-%d", i), Email: "ana@example.com", Name: fmt.Sprint(i)}, "secret-1"))
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
	got := check.Must(s.LogIn(t.Context(), Login{Email: "ana@example.com", Password: "secret-1", Code: codeFor(t, s, "ana@example.com"), Client: "a"}))(t)
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
		signUp(t, s, User{ID: id, Email: email, Name: "Ana"}, "secret-1")
	}
	old := codeFor(t, s, "ana@example.com")
	check.Is(t, check.Err(s.ChangeEmail(t.Context(), "u-ana", "Bruno@example.com")), ErrEmailTaken, "to the e-mail of another user")
	check.Must(s.ChangeEmail(t.Context(), "u-ana", "ana@example.org"))(t)
	check.Is(t, check.Err(logIn(t, s, "ana@example.com", "secret-1")), ErrLogin, "login by the old e-mail")
	check.Is(t, check.Err(logIn(t, s, "ana@example.org", "secret-1")), ErrLogin, "login by the new e-mail, not verified")
	check.Is(t, check.Err(s.SetPassword(t.Context(), old, "secret-2", "")), ErrCode, "the code of a mail to the old e-mail")
	u := check.Must(s.LogIn(t.Context(), Login{Email: "ana@example.org", Password: "secret-1", Code: codeFor(t, s, "ana@example.org"), Client: "a"}))(t)
	check.Equal(t, "login by the new e-mail", u.ID, "u-ana")
	check.Must(s.SignUp(t.Context(), User{ID: "u-other", Email: "ana@example.com", Name: "Ana"}, "secret-1"))(t)
}
