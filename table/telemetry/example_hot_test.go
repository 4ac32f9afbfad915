package telemetry_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// A summary names the partition keys that most requests are for: by their hashes,
// or by themselves where logs may hold keys.
func ExampleSummary_Hottest() {
	summary := telemetry.Summary{PlainKeys: true}
	tbl, drop := exampleTable(telemetry.Join(summary.Observe, func(_ context.Context, e table.Event) {
		for _, throttle := range e.Throttles {
			log.Printf("%d partitions: %s", len(e.Partitions), aws.ToString(throttle.Reason))
		}
	}))
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob", "ana", "cem", "ana"} {
		if err := list(ctx, tbl, user); err != nil {
			log.Fatal(err)
		}
	}
	hottest := summary.Hottest(1)[0]
	fmt.Println(hottest.Key, hottest.Requests, hottest.Requests-hottest.Over, hottest.ReadUnits, hottest.WriteUnits)
	fmt.Println(hottest.Hash == telemetry.HashKey(keys.User.PK("ana")), hottest.Index == "")
	fmt.Println("shards:", hottest.Shards, "throttled:", hottest.Throttled, hottest.PeakRead <= 1.5, hottest.PeakWrite)
	// Output:
	// USER#ana 3 3 1.5 0
	// true true
	// shards: 1 throttled: 0 true 0
}
