package table_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// unmarshalable is an error that JSON cannot hold.
type unmarshalable struct {
	C    chan int
	Self *unmarshalable
	Key  keys.Key
}

func (u *unmarshalable) Error() string { return "broken" }

// TestLogValues shows how errors and events are logged: as groups, without keys,
// whatever their causes are.
func TestLogValues(t *testing.T) {
	t.Parallel()
	cause := &unmarshalable{C: make(chan int), Key: user}
	cause.Self = cause
	op := &table.Error{Op: "Put", OpNumber: 1, Name: "profile", Key: user, Stored: table.Item{"pk": str(string(user.PK))}, Err: cause}
	for want, v := range map[string]slog.LogValuer{
		`"v":{"op":"Get","table":"AppCore","index":"GSI1","class":"permanent","error":"item not found"}`: &table.Error{Op: "Get", Table: "AppCore", Index: "GSI1", Key: user, Err: table.ErrNotFound},
		`"v":{"op":"Put","name":"p","class":"unclassified","error":"broken"}`:                            &table.Error{Op: "Put", Name: "p", Err: cause},
		`"v":{"op":"Put","op_number":1,"name":"profile","class":"unclassified","error":"broken"}`:        op,
		`"v":{"failed":1,"error":"transaction cancelled: op 1 (Put \"profile\"): broken"}`:               &table.TxError{Failed: []*table.Error{op}, Err: cause},
		`"v":{"op":"BatchGet","remaining":2,"class":"transient","error":"throttled"}`:                    &table.Error{Op: "BatchGet", Remaining: []keys.Key{user, user}, Err: table.ErrThrottled},
		`"v":{"operation":"Query","table":"AppCore","index":"GSI1","duration":2000000,"capacity":0.5,"attempts":1}`: table.Event{
			Operation: "Query", Table: "AppCore", Index: "GSI1", Duration: 2 * time.Millisecond, Capacity: 0.5, Attempts: 1,
		},
		`"v":{"operation":"BatchGetItem","batch":100,"duration":0,"capacity":0,"attempts":3,"class":"transient","error":"throttled"}`: table.Event{
			Operation: "BatchGetItem", Batch: 100, Attempts: 3, Err: table.ErrThrottled,
		},
		`"v":{"operation":"SearchVectors","duration":0,"capacity":0,"vector_bytes":400,"attempts":1}`: table.Event{
			Operation: "SearchVectors", VectorBytes: 400, Attempts: 1,
		},
		`"v":{"op":"","class":"unclassified"}`:                        &table.Error{},
		`"v":{"failed":0}`:                                            &table.TxError{},
		`"v":{"operation":"","duration":0,"capacity":0,"attempts":0}`: table.Event{},
	} {
		var text, line bytes.Buffer
		slog.New(slog.NewJSONHandler(&line, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&text, nil)).Info("x", "v", v, "in", fmt.Errorf("wrapped: %v", v))
		if !strings.Contains(line.String(), want) {
			t.Errorf("want %s in %s", want, &line)
		}
		if strings.Contains(line.String()+text.String(), "u-123") {
			t.Errorf("the key is logged: %s%s", &line, &text)
		}
	}
}
