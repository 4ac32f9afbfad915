package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Kinesis is the data stream that the table streams to, in place of its own stream or in addition to it.
type Kinesis struct {
	// Shards is how many there are. A new on-demand data stream has 4. AWS: "Quotas and limits",
	// Amazon Kinesis Data Streams Developer Guide.
	Shards int `json:"shards"`
	// Consumers is how many share what is read of a shard, and FanOut how many have enhanced
	// fan-out, each with a throughput of its own.
	Consumers int `json:"consumers,omitzero"`
	FanOut    int `json:"fanOut,omitzero"`
}

// What a shard takes and returns in a second, and how many consumers can have enhanced fan-out: more
// in the mode On-demand Advantage. AWS: "Quotas and limits" and "Develop enhanced fan-out consumers
// with dedicated throughput", Amazon Kinesis Data Streams Developer Guide.
const (
	shardRecords = 1000
	shardBytes   = 1 << 20
	shardRead    = 2 << 20
	shardReads   = 5
	fanOut       = 20
	mostFanOut   = 50

	maxKinesisShards = 20_000
	maxConsumers     = 1000
)

// completeKinesis checks the data stream.
func (l *Load) completeKinesis(bad func(string, ...any)) {
	k := l.Kinesis
	if k == (Kinesis{}) {
		return
	}
	if k.Shards < 1 || k.Shards > maxKinesisShards {
		bad("kinesis.shards: must be 1 to %d; a new on-demand data stream has 4", maxKinesisShards)
	}
	if k.Consumers < 0 || k.Consumers > maxConsumers || k.FanOut < 0 || k.FanOut > mostFanOut {
		bad("kinesis: consumers must be 0 to %d, and fanOut 0 to %d", maxConsumers, mostFanOut)
	}
}

// Full is a limit of the data stream.
type Full struct {
	// Factor is that of today's load, at the peak of its shape.
	Factor float64 `json:"factor"`
	Why    string  `json:"why"`
}

// Fills returns the limits of the data stream, the first one first. Records are spread evenly over
// its shards. It takes no steps.
func Fills(l Load) (all []Full) {
	k, r := l.Kinesis, l.records(Handler{})
	if k.Shards == 0 || r.total == 0 {
		return nil
	}
	add := func(most, asked float64, format string, args ...any) {
		all = append(all, Full{float64(k.Shards) * most / asked / l.peak(), fmt.Sprintf(format, args...)})
	}
	bytes := r.total * r.bytes
	add(shardRecords, r.total, "each shard takes 1,000 records a second: records come late")
	add(shardBytes, bytes, "each shard takes 1 MB a second: records come late")
	if k.Consumers > 0 {
		add(shardRead, bytes*float64(k.Consumers), "a shard returns 2 MB a second to the %d consumers that share it: they fall behind; enhanced fan-out gives each its own", k.Consumers)
	}
	slices.SortStableFunc(all, func(a, b Full) int { return cmp.Compare(a.Factor, b.Factor) })
	return all
}

// filled writes what is said of the data stream.
func (r Report) filled(line func(string, ...any)) {
	if len(r.Kinesis) == 0 {
		return
	}
	k := r.Load.Kinesis
	line("\nThe Kinesis data stream, whose consumers must take records that are doubled and out of order:")
	for _, f := range r.Kinesis {
		line("  from %8s  %s", number(math.Min(f.Factor, math.MaxFloat64)), f.Why)
	}
	if k.Consumers > shardReads {
		line("  %d consumers share each shard, which takes %d GetRecords a second: some are throttled", k.Consumers, shardReads)
	}
	if k.FanOut > fanOut {
		line("  %d consumers have enhanced fan-out: a data stream takes %d, or %d in the mode On-demand Advantage", k.FanOut, fanOut, mostFanOut)
	}
	line("  the costs have neither its shards nor the change data capture units of DynamoDB")
}
