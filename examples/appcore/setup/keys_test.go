package setup_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table/tabletest"
)

const user = "u-123"

// deployment is the application as it runs, with a secret and a clock of the
// test's.
type deployment struct {
	store   *secretstest.Store
	service *core.Service
	keys    api.CursorKeys
	now     time.Time
	log     bytes.Buffer
}

func deploy(t *testing.T, text string) *deployment {
	t.Helper()
	d := &deployment{store: secretstest.New("appcore/cursor-keys", text), now: time.Now()}
	t.Cleanup(d.store.Close)
	client := tabletest.Client(t)
	name := tabletest.NewWith(t, client, core.Schema("any"), nil).Schema().Name
	service, codec, err := setup.Service(client, name)
	check.OK(t, err)
	d.service = service
	for i := range 10 {
		n := core.NewTransaction{User: user, Key: fmt.Sprint(i), Amount: 1, Currency: "ARS"}
		if _, _, err := service.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	d.keys = setup.CursorKeys(d.store.Client(), "appcore/cursor-keys", codec, &secret.Options{
		Now: func() time.Time { return d.now },
		Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	return d
}

// page reads a page of a transaction, and returns the cursor of the next one.
func (d *deployment) page(ctx context.Context, after string) (next string, err error) {
	if err := d.keys(ctx); err != nil {
		return "", err
	}
	page, err := d.service.Transactions(ctx, core.List{User: user, Limit: 1, After: after})
	return page.Next, err
}

// next is page that has to succeed.
func (d *deployment) next(t *testing.T, after string) string {
	t.Helper()
	next, err := d.page(t.Context(), after)
	if err != nil {
		t.Fatalf("%v\n%s", err, &d.log)
	}
	return next
}

func newKey(t *testing.T) (text string, id string) {
	t.Helper()
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	text = base64.StdEncoding.EncodeToString(secret)
	keys := check.Must(paginate.ParseKeys(text))(t)
	return text, keys[0].ID()
}

// sealedWith returns the id of the key that a cursor is sealed with.
func sealedWith(t *testing.T, cursor string) string {
	t.Helper()
	in, err := paginate.Inspect(cursor, nil)
	if e, ok := errors.AsType[*paginate.Error](err); !ok || e.Reason != paginate.UnknownKey {
		t.Fatalf("error %v, want an unknown key", err)
	}
	return in.KeyID
}

// The steps of deploy.sh keys.
func TestCursorKeysAreRotatedWithoutADeployment(t *testing.T) {
	t.Parallel()
	before, beforeID := newKey(t)
	after, afterID := newKey(t)
	d := deploy(t, before+"\n")
	cursor := d.next(t, "")
	first := cursor
	for _, step := range []struct{ secret, sealedWith string }{
		{before + "," + after, beforeID},
		{after + "," + before, afterID},
		{after, afterID},
	} {
		d.store.Set(step.secret)
		reads := d.store.Reads()
		d.now = d.now.Add(secret.TTL - 1)
		d.next(t, cursor)
		if got := d.store.Reads(); got != reads {
			t.Fatalf("%d reads before the TTL", got-reads)
		}
		// The first call after the TTL has the new keys, however long the process
		// was frozen, and without anything that runs in between.
		d.now = d.now.Add(1)
		cursor = d.next(t, cursor)
		if got := sealedWith(t, cursor); got != step.sealedWith {
			t.Errorf("the cursor is sealed with %s, want %s", got, step.sealedWith)
		}
	}
	_, err := d.page(t.Context(), first) // its key is withdrawn
	if e, ok := errors.AsType[*core.InvalidError](err); !ok || e.Code != "invalid_cursor" {
		t.Errorf("error %v, want an invalid cursor", err)
	}
}

func TestKeysAtHandServeWhileTheSecretCannotBeRead(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t)
	for name, c := range map[string]struct {
		breaks  func(*secretstest.Store)
		repairs func(*secretstest.Store)
	}{
		"out of reach":  {func(s *secretstest.Store) { s.Fail("InternalServiceError") }, func(s *secretstest.Store) { s.Fail("") }},
		"no permission": {func(s *secretstest.Store) { s.Fail("AccessDeniedException") }, func(s *secretstest.Store) { s.Fail("") }},
		"malformed":     {func(s *secretstest.Store) { s.Set("hunter2") }, func(s *secretstest.Store) { s.Set(key) }},
		"empty":         {func(s *secretstest.Store) { s.Set("") }, func(s *secretstest.Store) { s.Set(key) }},
		"one key twice": {func(s *secretstest.Store) { s.Set(key + "," + key) }, func(s *secretstest.Store) { s.Set(key) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, key)
			cursor := d.next(t, "")
			c.breaks(d.store)
			d.now = d.now.Add(secret.Limit - 1)
			d.next(t, cursor)
			if text := d.log.String(); !strings.Contains(text, "secret could not be read") || strings.Contains(text, "hunter2") || strings.Contains(text, key) {
				t.Errorf("log: %s", text)
			}
			d.now = d.now.Add(1)
			if _, err := d.page(t.Context(), cursor); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("error %v, want ErrUnavailable", err)
			}
			c.repairs(d.store)
			d.now = d.now.Add(time.Second)
			d.next(t, cursor)
		})
	}
}
