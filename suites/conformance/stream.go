package conformance

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table/tabletest"
)

func streamTests() tests {
	return tests{
		"delivers every change as it was written":          streamsAll,
		"an idle minute costs what the documentation says": streamIdle,
	}
}

// streamed is the table of these tests.
func streamed() schema.Table {
	s := appCore()
	s.Stream = types.StreamViewTypeNewAndOldImages
	return s
}

// coupon is an entity of one item, without a version.
type coupon struct {
	ID string `dynamodbav:"id"`
	N  int    `dynamodbav:"n"`
}

// voucher is another type of entity, under the keys of coupons.
type voucher struct {
	ID   string `dynamodbav:"id"`
	Cent int    `dynamodbav:"cent"`
}

func couponKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("COUPON").PK(id), SK: keys.Metadata}
}

var (
	couponEntity  = repo.Entity[coupon]{Type: "COUPON", Key: func(v coupon) keys.Key { return couponKey(v.ID) }}
	voucherEntity = repo.Entity[voucher]{Type: "VOUCHER", Key: func(v voucher) keys.Key { return couponKey(v.ID) }}
)

// streamIdle counts the requests of a reader of a stream to which nothing else is
// written.
func streamIdle(t *testing.T, h Harness) {
	const minutes = 10
	plain := h.newTable(t, streamed())
	var x outside
	var faults tabletest.Faults
	client := h.prompt(t, promptRetries, x.install(t), faults.Install)
	counts := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		begun, opts := time.Now(), options()
		opts.Now = func() time.Time { return now.Add(time.Since(begun)) }
		tbl := h.open(t, client, plain.Schema(), opts)
		router := expect.Value(stream.New(tbl, nil, stream.IgnoreOther(),
			stream.On(newRepo(t, tbl, couponEntity), func(context.Context, stream.Change[coupon]) error { return nil })))(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var group sync.WaitGroup
		group.Go(func() { _ = stream.Reader{Name: "idle", Router: router, Client: streamtest.Client(client)}.Run(ctx) })
		time.Sleep(time.Minute)
		before := len(faults.Requests())
		time.Sleep(minutes * time.Minute)
		for _, r := range faults.Requests()[before:] {
			counts[r.Operation]++
		}
		stop()
		group.Wait()
	})
	// The figures of the package's documentation. A reader of an idle stream reads its
	// own writes: each of them can cost another GetRecords.
	writes := counts["PutItem"] + counts["UpdateItem"]
	t.Logf("in %d minutes: %v", minutes, counts)
	if n := counts["GetRecords"]; n < 59*minutes || n > 60*minutes+writes+1 {
		t.Errorf("%d GetRecords and %d writes in %d minutes", n, writes, minutes)
	}
	for what, tt := range map[string]struct{ got, want int }{
		"descriptions":           {counts["DescribeStream"], 6 * minutes},
		"queries":                {counts["Query"], 12 * minutes},
		"reads of the lease":     {counts["GetItem"], 3 * minutes},
		"writes, of both leases": {writes, (6 + 3) * minutes},
	} {
		if tt.got > tt.want+1 || tt.got < tt.want*9/10 {
			t.Errorf("%s: %d in %d minutes, want about %d", what, tt.got, minutes, tt.want)
		}
	}
}
