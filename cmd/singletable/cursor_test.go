package main

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/paginate"
)

// Two keys as a service has them. They are secret to nobody.
const (
	secretA = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secretB = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA="
)

// pinned was sealed with the first of them on 2024-01-15 at 10:06.
const pinned = "SGMNzSnIcHKXbB0wDGn9gen4ln-jToCOl1qgREwbf3xxox_VDBzRGChIRDaXzqGg" +
	"njJQg1Hx46SpNK44JLWwGltW_TtB5DK2BIDaY-NSZBNkq_Ir9A"

// unsealed was issued on 2024-01-15 at 11:50, for TX#2024-01-15T10:05:00.000Z#tx-abc.
const unsealed = "UGWlG-grAwGNDJTg4FRYIyN0eC1hYmP-dGKBoPe_yg"

var withKey = map[string]string{keysVariable: secretA}

func TestCursor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"sealed":         {withKey, []string{pinned}},
		"second-key":     {map[string]string{keysVariable: secretB + "," + secretA}, []string{pinned}},
		"no-key":         {nil, []string{pinned}},
		"other-key":      {map[string]string{keysVariable: secretB}, []string{pinned}},
		"expired":        {withKey, []string{"-ttl", "1h", pinned}},
		"unsealed":       {nil, []string{unsealed}},
		"cut":            {withKey, []string{pinned[:40]}},
		"changed":        {withKey, []string{pinned[:30] + strings.ToUpper(pinned[30:])}},
		"other-format":   {withKey, []string{"A" + pinned[1:]}},
		"not-a-token":    {withKey, []string{"page=2"}},
		"process":        {withKey, []string{"P" + pinned[1:]}},
		"json-process":   {nil, []string{"-json", "P" + pinned[1:]}},
		"json":           {withKey, []string{"-json", pinned}},
		"json-no-key":    {nil, []string{"-json", pinned}},
		"json-malformed": {nil, []string{"-json", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "cursor-"+name, run(t, tt.env, "", append([]string{"cursor"}, tt.args...)...))
		})
	}
}

func TestCursorFromElsewhere(t *testing.T) {
	t.Parallel()
	want := run(t, withKey, "", "cursor", pinned)
	if got := run(t, withKey, "\n "+pinned+"\r\n", "cursor", "-"); got != want {
		t.Errorf("from standard input: %+v", got)
	}
	file := save(t, "keys", secretA+"\n")
	for _, env := range []map[string]string{nil, {keysVariable: secretB}} {
		if got := run(t, env, "", "cursor", "-keys", file, pinned); got != want {
			t.Errorf("keys from a file: %+v", got)
		}
	}
}

func TestCursorBadKeys(t *testing.T) {
	t.Parallel()
	const secret = "c2VjcmV0"
	got := run(t, map[string]string{keysVariable: secretA + "," + secret}, "", "cursor", pinned)
	trouble(t, got, keysVariable, "key 2")
	if strings.Contains(got.stderr, secret) {
		t.Error("the key is on standard error")
	}
	trouble(t, run(t, withKey, "", "cursor", "-keys", "testdata/missing", pinned), "testdata/missing")
	trouble(t, run(t, withKey, "", "cursor", "-keys", os.DevNull, pinned), os.DevNull, "empty")
}

// The command refuses what a codec refuses, as far as it can know, and nothing
// else.
func TestCursorAgreesWithTheCodec(t *testing.T) {
	t.Parallel()
	ring, err := paginate.ParseKeys(secretA)
	if err != nil {
		t.Fatal(err)
	}
	at := func(now time.Time) *paginate.Codec {
		c, err := paginate.New(ring, &paginate.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ages := map[time.Duration]paginate.Reason{
		0: "", -4 * time.Minute: "", -6 * time.Minute: paginate.Future,
		72*time.Hour - time.Second: "", 72 * time.Hour: paginate.Expired,
	}
	for _, age := range slices.Sorted(maps.Keys(ages)) {
		token, err := at(now.Add(-age)).Seal(paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "x"}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var reason paginate.Reason
		if _, err := at(now).Open(token, nil); err != nil {
			e, _ := errors.AsType[*paginate.Error](err)
			reason = e.Reason
		}
		if reason != ages[age] {
			t.Errorf("age %v: the codec says %q", age, reason)
		}
		got := run(t, withKey, "", "cursor", "-json", token)
		if info := decoded[cursorInfo](t, got); info.Refused != string(reason) {
			t.Errorf("age %v: the codec says %q, the command %q", age, reason, info.Refused)
		}
		if (got.code == exitNo) != (reason != "") {
			t.Errorf("age %v: exit %d", age, got.code)
		}
	}
}

// FuzzCursor looks into arbitrary text. There is always a result.
func FuzzCursor(f *testing.F) {
	f.Add(pinned)
	f.Add(unsealed)
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		got := run(t, withKey, "", "cursor", "-json", "--", token)
		info := decoded[cursorInfo](t, got)
		if (got.code == exitNo) != (info.Refused != "") || got.code == exitTrouble {
			t.Errorf("exit %d, %+v", got.code, info)
		}
	})
}

// TestDistance has times that are further apart than a duration can be.
func TestDistance(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"1h30m0s ago": now.Add(-90 * time.Minute), "in 47h0m0s": now.Add(47 * time.Hour), "in 3 days": now.Add(72*time.Hour + time.Minute),
		"in 365242 days": now.AddDate(1000, 0, 0), "365243 days ago": now.AddDate(-1000, 0, 0),
	} {
		if got := distance(now, at); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}
