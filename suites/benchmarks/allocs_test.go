package main_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestAllocations bounds what repo allocates, in bytes and in number, by what the SDK does with
// attributevalue and expressions written by hand: all of it, and what it allocates more
// than table alone does. Unlike times, allocations are the same on every
// machine. It counts those of the whole process, so it is not parallel.
func TestAllocations(t *testing.T) {
	const aboveTable = 0.045
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			p := stubPlace(t)
			measured := func(open func(*dynamodb.Client, string) library) (allocs, bytes float64) {
				lib := open(p.client, p.table)
				return allocated(func() { must(t, j.do(t.Context(), lib)) })
			}
			ownAllocs, ownBytes := measured(openRepo)
			tableAllocs, tableBytes := measured(openTable)
			sdkAllocs, sdkBytes := measured(openSDK)
			t.Logf("allocations: repo %.0f, table %.0f (%.3f), sdk %.0f (%.3f)",
				ownAllocs, tableAllocs, ownAllocs/tableAllocs, sdkAllocs, ownAllocs/sdkAllocs)
			t.Logf("bytes: repo %.0f, table %.0f (%.3f), sdk %.0f (%.3f)",
				ownBytes, tableBytes, ownBytes/tableBytes, sdkBytes, ownBytes/sdkBytes)
			if ownAllocs > tableAllocs+aboveTable*sdkAllocs || ownBytes > tableBytes+aboveTable*sdkBytes {
				t.Errorf("repo allocates more than table alone does by more than %v × what the SDK does", aboveTable)
			}
			if ownBytes > j.ofSDK*sdkBytes {
				t.Errorf("repo allocates more bytes than %v × what the SDK does", j.ofSDK)
			}
		})
	}
}

// allocated returns how often and how many bytes f allocates, on average over the
// cheapest of some batches: a collection of garbage empties the pools of buffers, and
// what fills them again is not what f needs.
func allocated(f func()) (allocs, bytes float64) {
	const batches, runs = 8, 50
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f() // what is made once
	allocs, bytes = math.Inf(1), math.Inf(1)
	for range batches {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/runs)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/runs)
	}
	return allocs, bytes
}
