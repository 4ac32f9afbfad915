package auth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/MicahParks/jwkset"

	"github.com/singletable/singletable/examples/internal/refresh"
)

const (
	// keysTTL is the age from which the pool's keys are fetched again.
	keysTTL = time.Hour
	// keysLimit is the age from which they are not trusted any longer.
	keysLimit = 2 * time.Hour
)

// keysError is the failure to fetch the keys.
type keysError struct{ err error }

func (e *keysError) Error() string   { return "auth: " + ErrUnavailable.Error() + ": " + e.err.Error() }
func (e *keysError) Unwrap() []error { return []error{ErrUnavailable, e.err} }

var errUnknownKey = reason("token of an unknown key")

// keySet is the pool's keys by their ids.
type keySet struct {
	*refresh.Value[map[string]*rsa.PublicKey]
}

func newKeySet(url string, client *http.Client, now func() time.Time, log *slog.Logger) keySet {
	fetch := func(ctx context.Context) (map[string]*rsa.PublicKey, error) {
		keys, err := fetchKeys(ctx, url, client)
		if err != nil {
			log.WarnContext(ctx, "the keys of the user pool could not be fetched", slog.Any("error", err))
		}
		return keys, err
	}
	return keySet{refresh.New(fetch, refresh.Options{TTL: keysTTL, Limit: keysLimit, Now: now})}
}

// find returns the key with the id, and fetches the keys if it is unknown.
func (k keySet) find(ctx context.Context, id string) (*rsa.PublicKey, error) {
	keys, err := k.Get(ctx)
	if err == nil && keys[id] == nil {
		keys, err = k.Renew(ctx)
	}
	if err != nil {
		return nil, &keysError{err}
	}
	if keys[id] == nil {
		return nil, errUnknownKey
	}
	return keys[id], nil
}

// fetchKeys returns the usable keys that the pool publishes. A response without
// any is an error, so that it does not replace the keys at hand.
func fetchKeys(ctx context.Context, url string, client *http.Client) (map[string]*rsa.PublicKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxKeys))
	if err != nil {
		return nil, err
	}
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	published, err := set.JWKSlice()
	if err != nil {
		return nil, err
	}
	keys := map[string]*rsa.PublicKey{}
	for _, key := range published {
		if public := usable(key); public != nil {
			keys[key.Marshal().KID] = public
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no usable key")
	}
	return keys, nil
}

// usable returns a key that verifies RS256 signatures and is neither weak nor
// expensive to use, and nil for every other key.
func usable(key jwkset.JWK) *rsa.PublicKey {
	public, ok := key.Key().(*rsa.PublicKey)
	m := key.Marshal()
	switch {
	case !ok, public.N.BitLen() < 2048, public.N.BitLen() > 8192,
		m.KID == "",
		m.ALG != "" && m.ALG != jwkset.AlgRS256,
		m.USE != "" && m.USE != jwkset.UseSig:
		return nil
	}
	return public
}
