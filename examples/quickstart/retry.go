package main

import (
	"context"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/idempotency"
)

// retriedCreate is a write that a client repeats because it got no response: it
// takes effect once, and both calls get the same result.
func retriedCreate(ctx context.Context, r repos, out report.Report) error {
	request := idempotency.Request{
		Scope:   "u-456:CreateTransaction",
		Key:     "req-uuid-xxxx",
		Payload: idempotency.JSON(map[string]any{"amount": 500, "currency": "ARS"}),
	}
	out.Title("5. A create that is repeated, done once")
	out.Line("  the record of the request is in the same DynamoDB transaction as the items")
	for _, id := range []string{"tx-first", "tx-second"} {
		result, err := idempotency.Do(ctx, r.requests, request, func(context.Context) (idempotency.Plan[Transaction], error) {
			// A service would draw the id at random: each call has another one.
			t := Transaction{
				ID: id, UserID: "u-456", Amount: 500, Currency: "ARS", Status: "PENDING",
				CreatedAt: time.Date(2024, 1, 14, 9, 0, 0, 0, time.UTC),
			}
			ops := r.transactions.CreateOps(&t)
			return idempotency.Snapshot(t, ops...), nil
		})
		if err != nil {
			return err
		}
		// DynamoDB reports no units for a refused transaction. AWS: ConsumedCapacity, Amazon
		// DynamoDB API Reference.
		requests, _ := out.Meter.Take()
		out.Line("  would create %s: the result is %s, replayed %t (requests %d)",
			id, result.Value.ID, result.Replayed, requests)
	}
	record, err := r.requests.Lookup(ctx, request)
	if err != nil {
		return err
	}
	out.Line("  record: pk = %s, sk = %s, until %s", record.Key.PK, record.Key.SK, record.ExpiresAt.Format(time.DateTime))
	return nil
}
