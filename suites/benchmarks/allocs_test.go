package main_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestAllocations bounds what repo allocates, in bytes and in number, by what the SDK does with
// attributevalue and expressions written by hand. Unlike times, allocations are the same on
// every machine. It counts those of the whole process, so it is not parallel.
func TestAllocations(t *testing.T) {
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			p := stubPlace(t)
			measured := func(open func(*dynamodb.Client, string) library) (allocs, bytes float64) {
				lib := open(p.client, p.table)
				return allocated(func() { must(t, j.do(t.Context(), lib)) })
			}
			ownAllocs, ownBytes := measured(openRepo)
			sdkAllocs, sdkBytes := measured(openSDK)
			t.Logf("repo of SDK: %.0f of %.0f bytes (%.3f), %.0f of %.0f allocations (%.3f)",
				ownBytes, sdkBytes, ownBytes/sdkBytes, ownAllocs, sdkAllocs, ownAllocs/sdkAllocs)
			if ownAllocs > j.allocsOfSDK*sdkAllocs {
				t.Errorf("repo allocates more often than %v × what the SDK does", j.allocsOfSDK)
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
