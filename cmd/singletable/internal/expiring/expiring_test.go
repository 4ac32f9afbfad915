package expiring_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/expiring"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// An item expires when reads of the library begin to leave it out, also one with a fraction of
// a second as Auth.js stores it.
func TestItemsExpireAsReadsSeeIt(t *testing.T) {
	t.Parallel()
	tbl, err := table.New(tabletest.Client(t), schema.Table{Name: "Sessions", TTLAttribute: "expires"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1893456001, 0)
	for number, want := range map[string]string{
		"1893456000": "2030-01-01T00:00:00Z", "1893456000.6": "2030-01-01T00:00:01Z", "1893456001.5": "2030-01-01T00:00:02Z", "1": "1970-01-01T00:00:01Z",
		"0": "", "0.9": "", "-5": "", "1893456000000": "", "1e400": "",
	} {
		item := table.Item{"expires": &types.AttributeValueMemberN{Value: number}}
		at, ok := expiring.Of(item, "expires")
		if got := at.Format(time.RFC3339); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v, want %q", number, got, ok, want)
		}
		if expired := ok && !at.After(now); expired != tbl.Expired(item, now) {
			t.Errorf("%s: expired is %v here, and %v for reads", number, expired, !expired)
		}
	}
	if _, ok := expiring.Of(table.Item{"": &types.AttributeValueMemberN{Value: "5"}}, ""); ok {
		t.Error("a table without TTL has an item that expires")
	}
}
