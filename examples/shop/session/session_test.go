package session_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
)

var (
	noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)
	key  = bytes.Repeat([]byte("k"), session.MinKey)
	ana  = store.User{ID: "u-ana", Generation: 2}
)

func at(t *testing.T, key []byte, now time.Time) *session.Sessions {
	t.Helper()
	return check.Must(session.New([][]byte{key}, func() time.Time { return now }))(t)
}

func TestATokenIsGoodUntilItExpires(t *testing.T) {
	t.Parallel()
	token, expires, err := at(t, key, noon).Issue(ana)
	check.OK(t, err)
	check.Equal(t, "expires", expires, noon.Add(session.Life))
	got := check.Must(at(t, key, expires.Add(-time.Second)).Verify(token))(t)
	check.Equal(t, "identity", got, session.Identity{User: "u-ana", Generation: 2})
	check.Is(t, check.Err(at(t, key, expires).Verify(token)), session.ErrUnauthorized, "expired")
	check.Is(t, check.Err(at(t, key, noon.Add(-time.Hour)).Verify(token)), session.ErrUnauthorized, "issued in the future")
	for _, keys := range [][][]byte{nil, {key[1:]}, {key, key[1:]}} {
		if check.Err(session.New(keys, time.Now)) == nil {
			t.Errorf("%d keys, none or a short one: no error", len(keys))
		}
	}
}

func TestOtherTokensAreRefused(t *testing.T) {
	t.Parallel()
	good := jwt.MapClaims{"iss": "shop", "sub": "u-ana", "gen": 2, "iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix()}
	signed := func(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		t.Helper()
		c := jwt.MapClaims{}
		for name, v := range good {
			c[name] = v
		}
		if change != nil {
			change(c)
		}
		return check.Must(jwt.NewWithClaims(method, c).SignedString(key))(t)
	}
	without := func(name string) string {
		return signed(jwt.SigningMethodHS256, key, func(c jwt.MapClaims) { delete(c, name) })
	}
	s := at(t, key, noon)
	whole := signed(jwt.SigningMethodHS256, key, nil)
	check.OK(t, check.Err(s.Verify(whole)))
	parts := strings.Split(whole, ".")
	for name, token := range map[string]string{
		"nothing": "", "garbage": "a.b.c", "no signature": parts[0] + "." + parts[1] + ".", "cut": whole[:len(whole)-2],
		"not signed":   signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"another hash": signed(jwt.SigningMethodHS512, key, nil),
		"another key":  signed(jwt.SigningMethodHS256, bytes.Repeat([]byte("x"), 32), nil),
		"other claims": parts[0] + "." + strings.Split(without("jti"), ".")[1] + "x." + parts[2],
		"no issuer":    without("iss"), "no subject": without("sub"), "no expiry": without("exp"), "no time": without("iat"),
		"another issuer": signed(jwt.SigningMethodHS256, key, func(c jwt.MapClaims) { c["iss"] = "other" }),
		"no number":      signed(jwt.SigningMethodHS256, key, func(c jwt.MapClaims) { c["gen"] = "2" }),
		"too long":       signed(jwt.SigningMethodHS256, key, func(c jwt.MapClaims) { c["x"] = strings.Repeat("x", 5000) }),
	} {
		_, err := s.Verify(token)
		check.Is(t, err, session.ErrUnauthorized, name)
		if err != nil && token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error quotes the token", name)
		}
	}
}
