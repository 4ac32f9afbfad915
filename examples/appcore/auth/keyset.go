package auth

import (
	"context"
	"crypto/rsa"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
)

const (
	// fetchTimeout limits one fetch of the keys.
	fetchTimeout = 5 * time.Second
	// fetchPause is the least time between a fetch and one for an unknown key.
	fetchPause = 10 * time.Second
	// retryPause takes its place after a fetch that failed. It is shorter, for until
	// the next one succeeds users may be turned away.
	retryPause = time.Second
	// keysAge is how old the keys may get before they are fetched again.
	keysAge = time.Hour
)

// keysError is the failure to fetch the keys.
type keysError struct{ err error }

func (e *keysError) Error() string   { return "auth: " + ErrUnavailable.Error() + ": " + e.err.Error() }
func (e *keysError) Unwrap() []error { return []error{ErrUnavailable, e.err} }

var errUnknownKey = reason("token of an unknown key")

// keySet is the cache of the pool's keys, as a storage for keyfunc. The library
// has one that fetches too, but there a caller who hangs up takes the fetch along
// and the right to the next one, and a failure looks like an unknown key.
type keySet struct {
	*jwkset.MemoryJWKSet
	fetch func(context.Context) error
	now   func() time.Time

	mu     sync.Mutex
	flight chan struct{} // closed at the end of the fetch under way; nil without one
	ended  time.Time     // of the last fetch
	loaded time.Time     // by the last fetch that succeeded
	err    error         // of the last fetch
}

func newKeySet(url string, client *http.Client, now func() time.Time) *keySet {
	k := &keySet{MemoryJWKSet: jwkset.NewMemoryStorage(), now: now}
	k.fetch = func(ctx context.Context) error {
		// Without a refresh interval this fetches once and puts the keys into k.
		_, err := jwkset.NewStorageFromHTTP(url, jwkset.HTTPClientStorageOptions{
			Client:      client,
			Ctx:         ctx,
			HTTPTimeout: fetchTimeout,
			Storage:     k,
		})
		return err
	}
	return k
}

// KeyRead returns the key with the id, and fetches the keys if it is unknown.
func (k *keySet) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	if key, err := k.MemoryJWKSet.KeyRead(ctx, id); err == nil {
		// The caller need not wait for news of a key that was good a moment ago.
		if k.stale() {
			_, _ = k.begin(ctx)
		}
		return key, nil
	}
	if err := k.refresh(ctx); err != nil {
		return jwkset.JWK{}, err
	}
	key, err := k.MemoryJWKSet.KeyRead(ctx, id)
	if err != nil {
		return jwkset.JWK{}, errUnknownKey // The library's error has the id in it.
	}
	return key, nil
}

// KeyReplaceAll takes the keys of a fetch. An answer without any is a fault of
// the other side and leaves the keys at hand as they are.
func (k *keySet) KeyReplaceAll(ctx context.Context, fetched []jwkset.JWK) error {
	var keys []jwkset.JWK
	for _, key := range fetched {
		if usable(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return errors.New("no usable key")
	}
	return k.MemoryJWKSet.KeyReplaceAll(ctx, keys)
}

// usable reports whether a key is one to verify RS256 signatures with, and of a
// size that is neither weak nor a burden.
func usable(key jwkset.JWK) bool {
	public, ok := key.Key().(*rsa.PublicKey)
	if !ok || public.N.BitLen() < 2048 || public.N.BitLen() > 8192 {
		return false
	}
	m := key.Marshal()
	return m.KID != "" &&
		(m.ALG == "" || m.ALG == jwkset.AlgRS256) &&
		(m.USE == "" || m.USE == jwkset.UseSig)
}

func (k *keySet) stale() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now().Sub(k.loaded) >= keysAge
}

// load fetches the keys if there are none yet.
func (k *keySet) load(ctx context.Context) error {
	k.mu.Lock()
	loaded := !k.loaded.IsZero()
	k.mu.Unlock()
	if loaded {
		return nil
	}
	return k.refresh(ctx)
}

// refresh returns when the keys are recent, and their fetch's error if it failed.
func (k *keySet) refresh(ctx context.Context) error {
	flight, err := k.begin(ctx)
	if flight == nil {
		return err
	}
	select {
	case <-flight:
	case <-ctx.Done():
		return &keysError{context.Cause(ctx)}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// begin joins the fetch under way or starts one. It returns no flight if the
// last one ended so recently that its outcome has to do.
func (k *keySet) begin(ctx context.Context) (flight <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight != nil {
		return k.flight, nil
	}
	pause := fetchPause
	if k.err != nil {
		pause = retryPause
	}
	if !k.ended.IsZero() && k.now().Sub(k.ended) < pause {
		return nil, k.err
	}
	k.flight = make(chan struct{})
	// The fetch is for all who wait, so it does not end with the first of them.
	go k.fly(context.WithoutCancel(ctx))
	return k.flight, nil
}

func (k *keySet) fly(ctx context.Context) {
	err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended, k.err = k.now(), nil
	if err != nil {
		k.err = &keysError{err}
	} else {
		k.loaded = k.ended
	}
	close(k.flight)
	k.flight = nil
}
