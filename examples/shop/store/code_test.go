package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestANewUserLogsInWithACodeOnceAndWithoutOneThen(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, name := range []string{"ana", "ben"} {
		check.Must(s.SignUp(t.Context(), User{ID: name, Email: name + "@example.com", Name: name}, "secret-1"))(t)
	}
	text, other := codeFor(t, s, " ANA@example.com"), codeFor(t, s, "ben@example.com")
	for what, l := range map[string]Login{
		"no code":               {Password: "secret-1"},
		"another code":          {Password: "secret-1", Code: strings.Repeat("A", 26)},
		"a code of another one": {Password: "secret-1", Code: other},
		"no password":           {Code: text},
	} {
		l.Email, l.Client = "ana@example.com", "a"
		check.Is(t, check.Err(s.LogIn(t.Context(), l)), ErrLogin, what)
	}
	u := check.Must(s.LogIn(t.Context(), Login{Email: "ana@example.com", Password: "secret-1", Code: text, Client: "a"}))(t)
	check.Equal(t, "unverified", u.Unverified, false)
	check.Must(logIn(t, s, "ana@example.com", "secret-1"))(t)
	check.Is(t, check.Err(s.SetPassword(t.Context(), text, "secret-2", "")), ErrCode, "a used code")
	check.Is(t, check.Err(logIn(t, s, "ben@example.com", "secret-1")), ErrLogin)
}

func TestANewPasswordEndsSessionsAndCodes(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := signUp(t, s, User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	text, spare := codeFor(t, s, "ana@example.com"), codeFor(t, s, "ana@example.com")
	check.Is(t, check.Err(s.SetPassword(t.Context(), text, "short", "")), ErrPassword)
	check.Must(s.UserOf(t.Context(), "ana", before.Generation))(t)
	after := check.Must(s.SetPassword(t.Context(), text, "secret-2", ""))(t)
	check.Must(s.UserOf(t.Context(), "ana", after.Generation))(t)
	check.Is(t, check.Err(s.UserOf(t.Context(), "ana", before.Generation)), table.ErrNotFound, "an earlier session")
	for _, used := range []string{text, spare} {
		check.Is(t, check.Err(s.SetPassword(t.Context(), used, "secret-3", "")), ErrCode)
	}
	check.Is(t, check.Err(logIn(t, s, "ana@example.com", "secret-1")), ErrLogin)
	check.Must(logIn(t, s, "ana@example.com", "secret-2"))(t)
}

// Who has signed up with the e-mail of somebody else loses it to its owner.
func TestTheOwnerOfAnEmailGetsTheUser(t *testing.T) {
	t.Parallel()
	s := open(t)
	check.Must(s.SignUp(t.Context(), User{ID: "mallory", Email: "ana@example.com", Name: "Mallory"}, "mallorys"))(t)
	u := check.Must(s.SetPassword(t.Context(), codeFor(t, s, "ana@example.com"), "secret-1", ""))(t)
	check.Equal(t, "unverified", u.Unverified, false)
	check.Equal(t, "name", u.Name, "ana@example.com")
	check.Is(t, check.Err(s.SetPassword(t.Context(), codeFor(t, s, "ana@example.com"), "secret-1", " ")), ErrName)
	u = check.Must(s.SetPassword(t.Context(), codeFor(t, s, "ana@example.com"), "secret-1", "Ana"))(t)
	check.Equal(t, "a new name", u.Name, "Ana")
	u = check.Must(s.SetPassword(t.Context(), codeFor(t, s, "ana@example.com"), "secret-1", ""))(t)
	check.Equal(t, "the name of a verified user", u.Name, "Ana")
	check.Must(logIn(t, s, "ana@example.com", "secret-1"))(t)
	check.Is(t, check.Err(logIn(t, s, "ana@example.com", "mallorys")), ErrLogin)
}

func TestOf16UsesOfACodeOneSucceeds(t *testing.T) {
	t.Parallel()
	s := open(t)
	signUp(t, s, User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	text := codeFor(t, s, "ana@example.com")
	used := 0
	for _, err := range check.Errors(16, func(int) error { return check.Err(s.SetPassword(t.Context(), text, "secret-2", "")) }) {
		if err == nil {
			used++
		} else if !errors.Is(err, ErrCode) && !errors.Is(err, table.ErrConflict) {
			t.Error(err)
		}
	}
	check.Equal(t, "uses", used, 1)
	check.Equal(t, "generation", check.Must(logIn(t, s, "ana@example.com", "secret-2"))(t).Generation, 1)
}

// The process is killed before and after each of its requests. The user has the old
// password and a code that is good, or the new one and a code that is used.
func TestANewPasswordSurvivesAKillAtEachRequest(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		s := open(t)
		for passed, done := 0, false; !done; passed++ {
			email := fmt.Sprintf("u-%d@example.com", passed)
			signUp(t, s, User{ID: email, Email: email, Name: "Ana"}, "secret-1")
			text := codeFor(t, s, email)
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, passed), kill)...)
			faults.Always("", tabletest.DropRequest())
			_, err := faultyShop(t, s, &faults).SetPassword(t.Context(), text, "secret-2", "")
			done = err == nil
			_, again := s.SetPassword(t.Context(), text, "secret-3", "")
			want := "secret-3"
			if again != nil {
				check.Is(t, again, ErrCode, "killed ", name, " request ", passed)
				want = "secret-2"
			} else if done {
				t.Errorf("killed %s request %d: a code is used twice", name, passed)
			}
			for _, secret := range []string{"secret-1", "secret-2", "secret-3"} {
				if _, err := logIn(t, s, email, secret); (err == nil) != (secret == want) {
					t.Errorf("killed %s request %d: %s logs in: %v, want %s", name, passed, secret, err, want)
				}
			}
		}
	}
}

func TestACodeExpiresAndIsStoredNowhere(t *testing.T) {
	t.Parallel()
	clock := check.NewClock(noon)
	s := openAt(t, clock.Now)
	signUp(t, s, User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "secret-1")
	text := codeFor(t, s, "ana@example.com")
	stored := check.Must(json.Marshal(generated.Stored(t, s.table)))(t)
	check.Equal(t, "the code is stored", strings.Contains(string(stored), text), false)
	check.Equal(t, "its hash is stored", strings.Contains(string(stored), hashOf(text)), true)
	clock.Pass(codeLife)
	check.Is(t, check.Err(s.SetPassword(t.Context(), text, "secret-2", "")), ErrCode)
}

func TestMailsToAnEmailHaveALimit(t *testing.T) {
	t.Parallel()
	clock := check.NewClock(noon)
	s := openAt(t, clock.Now)
	check.Must(s.SignUp(t.Context(), User{ID: "ana", Email: "ana@example.com", Name: "Ana"}, "secret-1"))(t)
	for range mails.most {
		codeFor(t, s, "ana@example.com")
		_, _, err := s.NewCode(t.Context(), "none@example.com")
		check.Is(t, err, table.ErrNotFound)
	}
	for _, email := range []string{"ana@example.com", "none@example.com"} {
		_, _, err := s.NewCode(t.Context(), email)
		check.Is(t, err, ErrAttempts, email)
	}
	clock.Pass(AttemptWindow)
	codeFor(t, s, "ana@example.com")
}
