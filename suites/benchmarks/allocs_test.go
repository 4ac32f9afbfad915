package main_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestAllocations bounds what repo allocates: by 5 % more than table alone does,
// in bytes and in number, and by what the SDK does with attributevalue and
// expressions written by hand. Unlike times, allocations are the same on every
// machine. It counts those of the whole process, so it is not parallel.
func TestAllocations(t *testing.T) {
	const ofTable = 1.05
	r, all := unkeyed(0), hundred()
	for name, tt := range map[string]struct {
		do func(context.Context, library) error
		// ofSDK is the most bytes that repo may allocate for one of the SDK's.
		ofSDK float64
	}{
		"Get": {
			func(ctx context.Context, lib library) error {
				_, err := lib.get(ctx, r.UserID, r.CreatedAt, r.ID)
				return err
			}, 0.94,
		},
		"Query": {
			func(ctx context.Context, lib library) error {
				_, _, err := lib.page(ctx, user)
				return err
			}, 0.37,
		},
		"Create": {
			func(ctx context.Context, lib library) error { return lib.create(ctx, r) }, 0.92,
		},
		"Update": {
			func(ctx context.Context, lib library) error {
				return lib.update(ctx, r.UserID, r.CreatedAt, r.ID, 7)
			}, 0.99,
		},
		"UpdateBoth": {
			func(ctx context.Context, lib library) error {
				return lib.updateBoth(ctx, r.UserID, r.CreatedAt, r.ID, 7)
			}, 1.02,
		},
		"TransactCreate": {
			func(ctx context.Context, lib library) error { return lib.transactCreate(ctx, all) }, 0.56,
		},
		"TransactPut": {
			func(ctx context.Context, lib library) error { return lib.transactPut(ctx, all[:3]) }, 0.87,
		},
		"Transact": {
			func(ctx context.Context, lib library) error { return lib.pay(ctx, recordAt(1), r) }, 0.99,
		},
	} {
		t.Run(name, func(t *testing.T) {
			measured := func(open func(*dynamodb.Client, string) library) (allocs, bytes float64) {
				p := stubPlace(t)
				lib := open(p.client, p.table)
				return allocated(func() { must(t, tt.do(t.Context(), lib)) })
			}
			ownAllocs, ownBytes := measured(openRepo)
			tableAllocs, tableBytes := measured(openTable)
			sdkAllocs, sdkBytes := measured(openSDK)
			t.Logf("allocations: repo %.0f, table %.0f (%.3f), sdk %.0f (%.3f)",
				ownAllocs, tableAllocs, ownAllocs/tableAllocs, sdkAllocs, ownAllocs/sdkAllocs)
			t.Logf("bytes: repo %.0f, table %.0f (%.3f), sdk %.0f (%.3f)",
				ownBytes, tableBytes, ownBytes/tableBytes, sdkBytes, ownBytes/sdkBytes)
			if ownAllocs > ofTable*tableAllocs || ownBytes > ofTable*tableBytes {
				t.Errorf("repo allocates more than %v × what table alone does", ofTable)
			}
			if ownBytes > tt.ofSDK*sdkBytes {
				t.Errorf("repo allocates more bytes than %v × what the SDK does", tt.ofSDK)
			}
		})
	}
}

// allocated returns how often and how many bytes f allocates, on average.
func allocated(f func()) (allocs, bytes float64) {
	const runs = 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f() // what is made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}
