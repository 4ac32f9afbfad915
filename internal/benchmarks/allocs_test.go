package benchmarks_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestAllocations bounds what singletable allocates by what the SDK with
// attributevalue does, where both write their own expressions. Unlike times,
// allocations are the same on every machine. It counts those of the whole
// process, so it is not parallel.
func TestAllocations(t *testing.T) {
	const runs = 200
	most := map[string]float64{"Get": 0.95, "Query": 0.15, "TransactCreate": 0.95}
	first, records := recordAt(0), newTrio()
	for name, do := range map[string]func(context.Context, library) error{
		"Get": func(ctx context.Context, lib library) error {
			_, err := lib.get(ctx, first.UserID, first.CreatedAt, first.ID)
			return err
		},
		"Query": func(ctx context.Context, lib library) error {
			_, _, err := lib.page(ctx, user)
			return err
		},
		"TransactCreate": func(ctx context.Context, lib library) error {
			return lib.transactPut(ctx, records)
		},
	} {
		t.Run(name, func(t *testing.T) {
			count := func(open func(*dynamodb.Client, string) library) float64 {
				p := stubPlace(t)
				lib := open(p.client, p.table)
				return testing.AllocsPerRun(runs, func() { must(t, do(t.Context(), lib)) })
			}
			own, base := count(openSingletable), count(openSDK)
			if own > most[name]*base {
				t.Errorf("singletable allocates %v times, sdk %v times; want at most %v × as often", own, base, most[name])
			}
			t.Logf("singletable %v, sdk %v: %.3f", own, base, own/base)
		})
	}
}
