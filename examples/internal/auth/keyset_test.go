package auth_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
)

// expect verifies a token; want is nil for one that is accepted.
func expect(t *testing.T, v *auth.Verifier, token string, want error) {
	t.Helper()
	got, err := v.Verify(t.Context(), token)
	if want == nil && (err != nil || got.User != user) {
		t.Fatalf("Verify = %v, %v, want %q", got, err, user)
	}
	if want != nil && (got.User != "" || !errors.Is(err, want)) {
		t.Fatalf("Verify = %v, %v, want %v", got, err, want)
	}
}

func down(*http.Request) (*http.Response, error) { return nil, errors.New("no route to host") }

func TestMadeUpKeysCauseOneFetch(t *testing.T) {
	t.Parallel()
	p := newPool()
	v := p.verifier(t)
	expect(t, v, with(nil), nil)
	for round := 1; round <= 3; round++ {
		p.Pass(10 * time.Second)
		check.Together(8, func(worker int) {
			for i := range 50 {
				token := fmt.Sprintf("made-up-%d-%d", worker, i)
				if _, err := v.Verify(t.Context(), by(otherKey(), token)); !errors.Is(err, auth.ErrUnauthorized) {
					t.Errorf("error %v, want ErrUnauthorized", err)
				}
			}
		})
		if got, want := p.fetches(), 1+round; got != want {
			t.Fatalf("%d fetches after flood %d, want %d", got, round, want)
		}
	}
	p.Pass(10*time.Second - 1)
	expect(t, v, by(otherKey(), "early"), auth.ErrUnauthorized)
	check.Equal(t, "fetches before the pause is over", p.fetches(), 4)
}

func TestNewKeyIsAcceptedAndOldOneNoMore(t *testing.T) {
	t.Parallel()
	p := newPool()
	v := p.verifier(t)
	expect(t, v, with(nil), nil)

	// The pool publishes the next key next to the current one, then only that.
	p.set(serve(keysJSON(jwk("k1", poolKey()), jwk("k2", otherKey()))))
	p.Pass(10 * time.Second)
	expect(t, v, by(otherKey(), "k2"), nil)
	expect(t, v, with(nil), nil)

	p.set(serve(keysJSON(jwk("k2", otherKey()))))
	p.Pass(10 * time.Second)
	expect(t, v, by(otherKey(), "made-up"), auth.ErrUnauthorized)
	expect(t, v, with(nil), auth.ErrUnauthorized)
	expect(t, v, by(otherKey(), "k2"), nil)
}

// A process may be frozen between two calls, so nothing that happens in between
// counts.
func TestWithdrawnKeyIsRefusedByTheFirstCallAfterAnHour(t *testing.T) {
	t.Parallel()
	for _, frozen := range []time.Duration{time.Hour, 10 * time.Hour} {
		p := newPool()
		v := p.verifier(t)
		lasting := with(map[string]any{"exp": start.Add(24 * time.Hour).Unix()})
		expect(t, v, lasting, nil)

		p.set(serve(keysJSON(jwk("k2", otherKey()))))
		p.Pass(time.Hour - 1)
		expect(t, v, lasting, nil)
		if got := p.fetches(); got != 1 {
			t.Fatalf("%d fetches within the hour, want 1", got)
		}
		p.Pass(frozen - time.Hour + 1)
		expect(t, v, lasting, auth.ErrUnauthorized)
	}
}

func TestUnreachableLater(t *testing.T) {
	t.Parallel()
	p := newPool()
	var log bytes.Buffer
	config := p.config()
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	v := check.Must(auth.NewCognito(config))(t)
	lasting := with(map[string]any{"exp": start.Add(24 * time.Hour).Unix()})
	expect(t, v, lasting, nil)
	p.set(down)
	p.Pass(2*time.Hour - 1)
	for range 3 {
		expect(t, v, lasting, nil)
	}
	check.Equal(t, "fetches", p.fetches(), 2)
	if !strings.Contains(log.String(), "no route to host") {
		t.Errorf("log: %s", &log)
	}
	// A key that is unknown may be one that could not be fetched.
	expect(t, v, by(otherKey(), "k2"), auth.ErrUnavailable)

	// The trust in keys that may be withdrawn has a limit.
	p.Pass(1)
	expect(t, v, lasting, auth.ErrUnavailable)
	p.set(serve(keysJSON(jwk("k1", poolKey()))))
	p.Pass(time.Second)
	expect(t, v, lasting, nil)
}

func TestBadResponsesLeaveTheKeysUnchanged(t *testing.T) {
	t.Parallel()
	small := newKey(1024)
	encrypting, other, nameless, private := jwk("k2", otherKey()), jwk("k2", otherKey()), jwk("", otherKey()), jwk("k2", otherKey())
	encrypting["use"] = "enc"
	other["alg"] = "RS512"
	private["d"] = "AQAB"
	good := keysJSON(jwk("k2", otherKey()))
	for name, response := range map[string]func(*http.Request) (*http.Response, error){
		"not reachable":      down,
		"server error":       serveStatus(http.StatusInternalServerError, good),
		"not found":          serveStatus(http.StatusNotFound, `{"message":"User pool does not exist."}`),
		"redirect":           serveStatus(http.StatusFound, good),
		"not JSON":           serve("<html>"),
		"empty":              serve(""),
		"cut short":          serve(good[:len(good)/2]),
		"no keys":            serve(`{"keys":[]}`),
		"another object":     serve(`{"message":"later"}`),
		"null":               serve("null"),
		"weak key":           serve(keysJSON(jwk("k2", small))),
		"key to encrypt":     serve(keysJSON(encrypting)),
		"key of other alg":   serve(keysJSON(other)),
		"key without id":     serve(keysJSON(nameless)),
		"shared secret":      serve(`{"keys":[{"kty":"oct","kid":"k2","k":"c2VjcmV0","alg":"HS256"}]}`),
		"huge":               serve(`{"keys":[` + strings.Repeat(" ", 1<<20) + good[len(`{"keys":[`):]),
		"huge and all noise": serve(strings.Repeat("[", 32<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool()
			v := p.verifier(t)
			expect(t, v, with(nil), nil)
			p.set(response)
			p.Pass(10 * time.Second)
			expect(t, v, by(otherKey(), "k2"), auth.ErrUnavailable)
			expect(t, v, with(nil), nil)

			p.set(serve(good))
			p.Pass(time.Second)
			expect(t, v, by(otherKey(), "k2"), nil)
		})
	}
}

func TestSilentPoolIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		p.set(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		v := p.verifier(t)
		before := time.Now()
		expect(t, v, with(nil), auth.ErrUnavailable)
		check.Equal(t, "duration", time.Since(before), 5*time.Second)
	})
}
