package peers_test

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// record is what Powertools keeps of a request.
type record struct {
	Status     string         `dynamodbav:"status"`
	Expiration int64          `dynamodbav:"expiration"`
	Data       map[string]any `dynamodbav:"data"`
}

// records are recognized by their keys and their status, since they have no type. Powertools
// makes the key of a hash, which a program reads and does not make.
var records = repo.Entity[storedRecord]{
	Type: "record", Shared: &repo.Shared[storedRecord]{},
	Key: func(r storedRecord) keys.Key { return keys.Key{PK: keys.PK(r.ID)} },
}

type storedRecord struct {
	ID string `dynamodbav:"id"`
	record
}

// recordKey is the key of a record: the function's name, and the hash of the payload as JSON.
func recordKey(id string) keys.Key {
	sum := md5.Sum([]byte(`"` + id + `"`))
	return keys.Key{PK: keys.PK("pay#" + base64.StdEncoding.EncodeToString(sum[:]))}
}

// inFarFuture is an expiry.
const inFarFuture = 4070908800

var powertools = &peer{
	name: "Powertools", file: "powertools", pkg: "@aws-lambda-powertools/idempotency",
	spec: model[record]{schema: schema.Table{
		PK: "id", SimpleKey: true, TTLAttribute: "expiration",
		Kinds: []schema.Kind{{Type: "record", PK: "pay#", Exists: []string{"status"}}},
	}}.spec(),
	rows: []row{
		{usual: true, call: "`table.Get` of its record", holds: "COMPLETED, map[amount:5 note:<nil>]", see: func(s *shop, _ *peer) string {
			s.call("pay", "r-1", values{"amount": 5, "note": nil})
			r := expect.Value(table.Get[record](s.Context(), s.table, recordKey("r-1")))(s)
			return fmt.Sprintf("%s, %v", r.Status, r.Data)
		}},
		{usual: true, call: "its function, after `Repo.Get` and `Delete` of its record, as a kind", holds: "2 runs, map[amount:6]", see: func(s *shop, _ *peer) string {
			s.call("pay", "r-1", values{"amount": 5})
			all := expect.Value(repo.New(s.table, records))(s)
			r := expect.Value(all.Get(s.Context(), recordKey("r-1")))(s)
			expect.Equal(s, "record", fmt.Sprint(r.Status, r.Data), "COMPLETEDmap[amount:5]")
			expect.OK(s, all.Delete(s.Context(), recordKey("r-1")))
			return paid(s, values{"amount": 6})
		}},
		{usual: true, call: "its function, after `table.Create` of a completed record", holds: "0 runs, map[amount:7]", see: func(s *shop, _ *peer) string {
			expect.OK(s, s.table.Do(s.Context(), table.Create(recordKey("r-1"), record{"COMPLETED", inFarFuture, map[string]any{"amount": 7}})))
			return paid(s, values{"amount": 5})
		}},
		{usual: true, call: "its function, after `table.Delete` of its record", holds: "2 runs, map[amount:6]", see: func(s *shop, _ *peer) string {
			s.call("pay", "r-1", values{"amount": 5})
			expect.OK(s, s.table.Do(s.Context(), table.Delete(recordKey("r-1"))))
			return paid(s, values{"amount": 6})
		}},
		{usual: true, call: "its function, whose record has expired in our reads", holds: "2 runs, map[amount:6]", see: func(s *shop, _ *peer) string {
			s.call("pay", "r-1", values{"amount": 5})
			expect.OK(s, s.table.Do(s.Context(), table.Put(recordKey("r-1"), record{"COMPLETED", 1, nil})))
			if _, err := table.Get[record](s.Context(), s.table, recordKey("r-1")); !errors.Is(err, table.ErrNotFound) {
				return fmt.Sprint(err)
			}
			return paid(s, values{"amount": 6})
		}},
		{call: "its function, whose result has a `Date`", holds: "throws after the work; the record: INPROGRESS; again: throws", see: func(s *shop, _ *peer) string {
			_, err := s.try("pay", "r-1", values{"at": date("2026-01-02T03:04:05.000Z")})
			runs := s.call("runs")
			r := expect.Value(table.Get[record](s.Context(), s.table, recordKey("r-1")))(s)
			_, again := s.try("pay", "r-1", values{"amount": 5})
			if err == nil || again == nil || runs != 1.0 {
				return fmt.Sprint(err, again, runs)
			}
			return "throws after the work; the record: " + r.Status + "; again: throws"
		}},
	},
}

// paid calls the function, and returns how often it has run, and the result.
func paid(s *shop, result values) string {
	s.Helper()
	got := s.one("pay", "r-1", result)
	return fmt.Sprintf("%v runs, %v", got["runs"], got["result"])
}
