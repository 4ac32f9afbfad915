package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestLoginIsByEmailAndPassword(t *testing.T) {
	t.Parallel()
	s := open(t)
	ana, err := s.signUp(t.Context(), User{ID: "u-ana", Email: " Ana@Example.com ", Name: "Ana", CreatedAt: noon}, "secret")
	must(t, err)

	got, err := s.logIn(t.Context(), "ANA@example.com", "secret")
	must(t, err)
	if diff := cmp.Diff(ana, got); diff != "" {
		t.Errorf("the user differs (-signed up +logged in):\n%s", diff)
	}
	for name, login := range map[string][2]string{
		"wrong password": {"ana@example.com", "Secret"},
		"no password":    {"ana@example.com", ""},
		"unknown e-mail": {"bruno@example.com", "secret"},
		"no e-mail":      {"", ""},
		"id for e-mail":  {"u-ana", "secret"},
	} {
		if u, err := s.logIn(t.Context(), login[0], login[1]); !errors.Is(err, errLogin) {
			t.Errorf("%s: user %q, error %v", name, u.ID, err)
		}
	}
}

func TestWhatIsNoEmailIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, email := range []string{"", "ana", "ana@", "@example.com", "Ana <ana@example.com>", "a@b.c, d@e.f"} {
		if _, err := s.signUp(t.Context(), User{ID: "u-ana", Email: email}, "secret"); !errors.Is(err, errInvalidEmail) {
			t.Errorf("%q: error %v", email, err)
		}
	}
}

func TestOf32SignUpsWithOneEmailOneSucceeds(t *testing.T) {
	t.Parallel()
	s := open(t)
	errs := atOnce(32, func(i int) error {
		for {
			u := User{ID: fmt.Sprintf("u-%d", i), Email: "ana@example.com", Name: fmt.Sprint(i)}
			_, err := s.signUp(t.Context(), u, "secret")
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
		case !errors.Is(err, errEmailTaken):
			t.Errorf("sign-up %d: %v", i, err)
		}
	}
	got, err := s.logIn(t.Context(), "ana@example.com", "secret")
	must(t, err)
	if got.ID != winner {
		t.Errorf("%q logs in, %q has signed up", got.ID, winner)
	}
	for i := range errs {
		id := fmt.Sprintf("u-%d", i)
		if _, err := s.users.Get(t.Context(), userKey(id)); (err == nil) != (id == winner) {
			t.Errorf("profile of %s: error %v, winner %s", id, err, winner)
		}
	}
}

func TestASignUpWhoseAnswerIsLostIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	faults.Next("TransactWriteItems", tabletest.DropResponse())
	_, err := s.signUp(t.Context(), User{ID: "u-ana", Email: "ana@example.com"}, "secret")
	must(t, err)
}

func TestAnIDThatIsTakenIsNotAnEmailThatIsTaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.signUp(t.Context(), User{ID: "u-1", Email: "ana@example.com"}, "secret")
	must(t, err)
	_, err = s.signUp(t.Context(), User{ID: "u-1", Email: "bruno@example.com"}, "secret")
	if !errors.Is(err, table.ErrExists) || errors.Is(err, errEmailTaken) {
		t.Errorf("error: %v", err)
	}
}

func TestAChangedEmailFreesTheOldOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	for id, email := range map[string]string{"u-ana": "ana@example.com", "u-bruno": "bruno@example.com"} {
		_, err := s.signUp(t.Context(), User{ID: id, Email: email}, "secret")
		must(t, err)
	}
	if _, err := s.changeEmail(t.Context(), "u-ana", "Bruno@example.com"); !errors.Is(err, errEmailTaken) {
		t.Errorf("to the e-mail of another user: %v", err)
	}
	_, err := s.changeEmail(t.Context(), "u-ana", "ana@example.org")
	must(t, err)
	if _, err := s.logIn(t.Context(), "ana@example.com", "secret"); !errors.Is(err, errLogin) {
		t.Errorf("login by the old e-mail: %v", err)
	}
	if u, err := s.logIn(t.Context(), "ana@example.org", "secret"); err != nil || u.ID != "u-ana" {
		t.Errorf("login by the new e-mail: user %q, error %v", u.ID, err)
	}
	_, err = s.signUp(t.Context(), User{ID: "u-other", Email: "ana@example.com"}, "secret")
	must(t, err)
}
