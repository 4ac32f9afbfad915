package simulate_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

// A shard takes 1,000 records and 1 MB a second, and returns 2 MB to all that share it. A record has
// both images of its item.
func TestADataStreamFills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kinesis string
		bytes   string
		want    float64 // records a second
		says    string
	}{
		"records":                {`"shards": 4`, "100", 4000, "1,000 records a second"},
		"bytes":                  {`"shards": 2`, "4096", 256, "each shard takes 1 MB"},
		"two that share it":      {`"shards": 2, "consumers": 2`, "4096", 256, "each shard takes 1 MB"},
		"four that share it":     {`"shards": 2, "consumers": 4`, "4096", 128, "to the 4 consumers that share it"},
		"four with fan-out":      {`"shards": 2, "fanOut": 4`, "4096", 256, "each shard takes 1 MB"},
		"six that share it":      {`"shards": 6, "consumers": 6`, "4096", 256, "takes 5 GetRecords a second: some are throttled"},
		"a crowd with fan-out":   {`"shards": 1, "fanOut": 21`, "100", 1000, "a data stream takes 20, or 50"},
		"twice that at its peak": {`"shards": 4}, "shape": [{"second": 0, "factor": 2}], "storedGB": 1, "warm": {"write": 40000`, "100", 2000, "1,000 records"},
	} {
		l := load(t, `"kinesis": {`+tt.kinesis+`}, `, `"count": 1000000`, "1", `{"op": "write", "keys": "k", "bytes": `+tt.bytes+`}`)
		near(t, name, simulate.Fills(l)[0].Factor, tt.want, 1e-9)
		if text := simulate.New(l, 1, 1, 1, simulate.USEast()).Text(); !strings.Contains(text, tt.says) {
			t.Errorf("%s: the report lacks %q:\n%s", name, tt.says, text)
		}
	}
	if l := load(t, `"kinesis": {"shards": 1}, `, `"count": 1`, "1", `{"op": "get", "keys": "k"}`); len(simulate.Fills(l)) > 0 {
		t.Error("a load without writes fills a data stream")
	}
}
