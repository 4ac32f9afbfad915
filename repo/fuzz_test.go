package repo_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// foreign returns a table whose reads all find one item of another writer, and
// whose writes succeed.
func foreign(tb testing.TB, item string) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	faults.Always("", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		body := "{}"
		switch target := r.Header.Get("X-Amz-Target"); {
		case strings.HasSuffix(target, ".GetItem"):
			body = `{"Item":` + item + `}`
		case strings.HasSuffix(target, ".Query"):
			body = `{"Items":[` + item + `],"Count":1,"ScannedCount":1}`
		}
		return expect.Response(r, http.StatusOK, "", body), nil
	})
	once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	return expect.Value(table.New(tabletest.Client(tb, once, faults.Install), spec, nil))(tb), faults
}

var errStop = errors.New("stop")

// FuzzForeignItem has a repository meet arbitrary items under its keys. They are
// entities, or an error: never a panic, a half of a value, or a write.
func FuzzForeignItem(f *testing.F) {
	for _, item := range []string{
		`{}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"u-1"},"name":{"S":"Ann"},"version":{"N":"3"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"u-1"},"version":{"N":"99999999999999999999999999999999999999"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"u-1"},"version":{"S":"3"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"u-1"},"version":{"N":"-1"},"logins":{"N":"1.5"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":""},"expiresAt":{"N":"1"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"u-2"}}`,
		`{"entityType":{"S":"USER"},"userId":{"S":"\u0000#%\ud800"},"expiresAt":{"S":"never"}}`,
		`{"entityType":{"N":"1"},"userId":null}`,
		`{"entityType":{"S":"TRANSACTION"},"txId":{"S":"tx-1"},"createdAt":{"S":"x"}}`,
		`{"entityType":{"S":"TRANSACTION"},"txId":{"S":"tx-1"},"userId":{"S":"u-1"},"createdAt":{"S":"2024-01-15T10:05:00Z"},"GSI1PK":{"N":"1"}}`,
	} {
		f.Add(item)
	}
	f.Fuzz(func(t *testing.T, item string) {
		tbl, faults := foreign(t, item)
		meets(t, tbl, faults, newRepo(t, tbl, userEntity), userKey("u-1"))
		meets(t, tbl, faults, newRepo(t, tbl, txEntity), txKey("tx-1"))
	})
}

func meets[T any](t *testing.T, tbl *table.Table, faults *tabletest.Faults, r *repo.Repo[T], key keys.Key) {
	t.Helper()
	var zero T
	v, err := r.Get(t.Context(), key)
	if err != nil && !cmp.Equal(v, zero) {
		t.Errorf("Get: %v with error %v", v, err)
	}
	readable := err == nil

	before := writes(faults)
	v, err = r.Update(t.Context(), key, func(*T) error { return errStop })
	// The item may give a key that is none, or that of another entity.
	known := errors.Is(err, errStop) || errors.Is(err, keys.ErrInvalid) || errors.Is(err, repo.ErrOrphan)
	if !cmp.Equal(v, zero) || err == nil || readable && !known {
		t.Errorf("Update: %v, %v", v, err)
	}
	q := table.Query{PK: key.PK}
	vs := []T{}
	if err := repo.Collect(t.Context(), tbl, q, r.AppendTo(&vs)); (err != nil) && len(vs) > 0 {
		t.Errorf("Collect: %v with error %v", vs, err)
	}
	if err := repo.Collect(t.Context(), tbl, q, r.AppendTo(&vs), repo.IgnoreOther()); errors.Is(err, table.ErrWrongType) {
		t.Errorf("Collect without the others: %v", err)
	}
	if writes(faults) > before {
		t.Error("something was written")
	}
	_, err = r.Update(t.Context(), key, func(*T) error { return nil })
	if err == nil && !readable {
		t.Error("Update of what Get refuses")
	}
	_ = r.Delete(t.Context(), key)
}

func writes(faults *tabletest.Faults) int {
	return len(faults.Requests("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"))
}

// FuzzEntity stores arbitrary values. What cannot be stored is refused before
// anything is sent; everything else is in all items, as it was, and gone
// from all of them in the end.
func FuzzEntity(f *testing.F) {
	f.Add("tx-1", "u-1", int64(1705313100), int64(0), "PENDING", "DONE")
	f.Add("", "u-1", int64(0), int64(1), "", "PENDING")
	f.Add("a#b", "#", int64(-62135596800), int64(999_999_999), "\x00", "PENDING")
	f.Add("\xff", "u", int64(253402300800), int64(0), "x", "y")
	f.Add(strings.Repeat("x", 1100), "%23", int64(1)<<40, int64(0), "PENDING", "")
	f.Add("é日🙂", strings.Repeat("x", 990), int64(-1), int64(5), "PENDING", "PENDING")
	stored := tabletest.New(f, spec, nil).Schema()
	f.Fuzz(func(t *testing.T, id, user string, seconds, nanoseconds int64, status, next string) {
		faults := &tabletest.Faults{}
		tbl := expect.Value(table.New(tabletest.Client(t, faults.Install), stored, nil))(t)
		r := newRepo(t, tbl, txEntity)
		tx := Tx{ID: id, User: user, At: time.Unix(seconds%(1<<40), nanoseconds).UTC(), Status: status}
		if !utf8.ValidString(status + next) {
			return // The SDK sends it as U+FFFD.
		}
		if err := r.Create(t.Context(), new(tx)); err != nil {
			_, typed := errors.AsType[*table.Error](err)
			_, op := table.FailedOp(err, "")
			if !typed || !op || len(faults.Requests()) > 0 {
				t.Errorf("%+v: %v after %d requests", tx, err, len(faults.Requests()))
			}
			return
		}
		tx.Version = 1
		for _, key := range []keys.Key{txKey(id), tx.listKey()} {
			got, err := r.Consistent().Get(t.Context(), key)
			if diff := cmp.Diff(tx, got); diff != "" || err != nil {
				t.Errorf("%q: %v (-want +got):\n%s", key, err, diff)
			}
		}
		moved, err := r.Update(t.Context(), tx.listKey(), func(v *Tx) error {
			v.Status, v.User = next, v.User+"2"
			return nil
		})
		if err != nil {
			// The longer key is none any more.
			if !errors.Is(err, keys.ErrInvalid) {
				t.Errorf("%+v: %v", tx, err)
			}
			moved = tx
		} else if _, err := r.Consistent().Get(t.Context(), tx.listKey()); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("under the old key: %v", err)
		}
		expect.OK(t, r.Delete(t.Context(), moved.listKey()))
		for _, key := range []keys.Key{txKey(id), moved.listKey()} {
			if _, err := r.Consistent().Get(t.Context(), key); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("%q after Delete: %v", key, err)
			}
		}
	})
}
