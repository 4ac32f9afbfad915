// Package workload runs the clients of the soak: generators draw their operations,
// package nemesis breaks the requests, and the responses are compared with a model or
// recorded as histories for package checker.
package workload

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Config says how much is to be done. The zero value of Workers and Duration means a
// default.
type Config struct {
	// Seed is what operations and faults are drawn from.
	Seed uint64
	// Workers is how many of them run at a time; 4 by default.
	Workers int
	// Ops is how many operations a worker does in each phase. Zero means as many
	// as there is time for.
	Ops int
	// Duration is the time for all phases together where Ops is zero; 20 seconds
	// by default.
	Duration time.Duration
	// Patience is how long the consumers of the stream may take after the last write;
	// 30 seconds by default.
	Patience time.Duration
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 4)
	c.Duration = cmp.Or(c.Duration, 20*time.Second)
	c.Patience = cmp.Or(c.Patience, 30*time.Second)
	return c
}

// The indexes of the table: one for lists, one that is spread over shards.
const (
	listIndex  = "GSI1"
	shardIndex = "GSI2"
)

var spec = schema.Table{
	// Each name looks like a path to a part of an attribute.
	PK: "p.k", SK: "s.k[0]", TTLAttribute: "expires.at", Stream: types.StreamViewTypeNewAndOldImages,
	Indexes: []schema.Index{
		{Name: listIndex, PK: "GSI1PK", SK: "GSI1SK"},
		{Name: shardIndex, PK: "GSI2PK", SK: "GSI2SK"},
	},
}

// world is an engine, a table on it, and the connections to it.
type world struct {
	Config
	report *report.Report
	schema schema.Table
	cursor paginate.Key

	// plant is a fault of the consumers; empty for none.
	plant Plant
	// around is put around the fault of every request; nil for nothing.
	around func(tabletest.Fault) tabletest.Fault

	engine atomic.Pointer[tabletest.Engine]
	// down is set before the engine is killed, until it has been started again.
	down atomic.Bool
	http *http.Transport
	open atomic.Int64 // connections
	// tables are those of the sessions.
	tables warm.Tables
}

// newWorld returns a world of a table that need not exist yet.
func newWorld(c Config, name string, engine *tabletest.Engine, r *report.Report) *world {
	w := &world{Config: c, report: r, schema: spec, cursor: paginate.NewKey()}
	w.schema.Name = name
	w.engine.Store(engine)
	dialer := &net.Dialer{}
	w.http = &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			w.open.Add(1)
			return &counted{Conn: conn, open: &w.open}, nil
		},
	}
	return w
}

// newTable returns a world of a new table.
func newTable(ctx context.Context, c Config, engine *tabletest.Engine, r *report.Report) (*world, error) {
	w := newWorld(c, "soak-"+rand.Text()[:12], engine, r)
	return w, w.schema.Ensure(ctx, w.dynamoDB())
}

// close drops the table and ends the connections.
func (w *world) close() error {
	_, err := w.dynamoDB().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(w.schema.Name)})
	w.http.CloseIdleConnections()
	return err
}

// dynamoDB returns a client of the engine without faults.
func (w *world) dynamoDB(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return w.engine.Load().Client(append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: w.http}
		// As often as the SDK's client by default, but without its budget, which
		// so many faults would use up, and without its pauses.
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = nemesis.Resends
			o.RateLimiter = ratelimit.None
			o.MaxBackoff = time.Millisecond
		})
	}}, optFns...)...)
}

// counted is a connection that is counted as long as it is open.
type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

// Close closes the connection.
func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// epoch is when the clocks of the workers begin: far in the future, so that no
// engine deletes by itself what has expired by these clocks.
var epoch = time.Date(2100, 1, 15, 10, 0, 0, 0, time.UTC)

// clock is a clock that goes by being set. It is safe for concurrent use.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time            { return epoch.Add(time.Duration(c.since.Load())) }
func (c *clock) jump(d time.Duration)      { c.since.Add(int64(d)) }
func (c *clock) seconds() int64            { return c.now().Unix() }
func (c *clock) expired(expiry int64) bool { return expiry >= 1 && expiry <= c.seconds() }

// session is a table behind a script of faults, and the same table without
// faults.
type session struct {
	*world
	script *nemesis.Script
	clock  *clock
	table  *table.Table
	calm   *table.Table
	raw    *dynamodb.Client
	// watched says that the table has an observer, and hedges reads through a client. attempts
	// is how many requests the observer was told of.
	watched  bool
	attempts atomic.Int64
	hedges   *hedge.Client
}

// newSession returns a session, with an observer and hedges or without, whose requests are
// replayed or not.
func (w *world) newSession(c *clock, watched, replayed bool) (*session, error) {
	s := &session{world: w, clock: c, raw: w.dynamoDB(), watched: watched}
	s.script = &nemesis.Script{Count: func(k nemesis.Fault) { w.report.Fault(string(k)) }}
	var faults tabletest.Faults
	fault := tabletest.Fault(s.script.RoundTrip)
	if w.around != nil {
		fault = w.around(fault)
	}
	faults.Always("", fault)
	codec, err := paginate.New([]paginate.Key{w.cursor}, &paginate.Options{Now: c.now})
	if err != nil {
		return nil, err
	}
	options := table.Options{Now: c.now, Cursors: codec}
	if s.calm, err = table.New(s.raw, w.schema, &options); err != nil {
		return nil, err
	}
	client := w.dynamoDB(faults.Install, func(o *dynamodb.Options) {
		s.hedges = hedge.New(o.HTTPClient)
		if watched {
			o.HTTPClient = s.hedges
		}
	})
	if watched {
		options.Observe = s.observe
	}
	options.DisableReplay = !replayed
	s.table, err = w.tables.New(client, w.schema, &options)
	return s, err
}

func (s *session) observe(_ context.Context, e table.Event) {
	s.attempts.Add(int64(e.Attempts))
}

// try runs one operation under a script and counts it.
func (s *session) try(ctx context.Context, name string, script []nemesis.Fault, run func(context.Context) error) (met []nemesis.Fault, err error) {
	s.attempts.Store(0)
	before := s.hedges.Stats().Hedges
	err = run(s.script.Begin(ctx, script))
	met, sent := s.script.End()
	hedges := s.hedges.Stats().Hedges - before
	s.report.Op(name, err)
	mended := 0
	if err == nil {
		mended = nemesis.Own(met)
	}
	s.report.Requests(sent.Requests, sent.Again, sent.Replayed, mended)
	if err != nil && len(met) > 0 {
		s.report.Check(report.Bounded, fmt.Sprintf("seed %d", s.Seed), bounded(name, met, int(hedges)))
	}
	if told := s.attempts.Load() + hedges; s.watched && err == nil {
		var complaint error
		if told != int64(sent.Requests) {
			complaint = fmt.Errorf("%s: told of %d requests of %d, after %q", name, told, sent.Requests, met)
		}
		s.report.Check(report.Observed, fmt.Sprintf("seed %d", s.Seed), complaint)
	}
	return met, err
}

// bounded checks that a call has not met more failures than the default of
// [table.Options].MaxAttempts. Part of a batch is no failure, nor is a transaction that
// DynamoDB still works on: time bounds how often that is asked for. Each shard is asked
// in a call of its own, and each hedge can fail as well as its read.
func bounded(name string, met []nemesis.Fault, hedges int) error {
	const maxAttempts, maxShards = 10, 16
	most := maxAttempts
	switch {
	case strings.HasPrefix(name, "shard "):
		most *= maxShards
	case name == "idempotency Do", name == "idempotency Once":
		most++ // it looks for the record once more
	}
	most += hedges
	n := 0
	for _, k := range met {
		switch k {
		case nemesis.Unprocessed, nemesis.Slow, nemesis.InProgress:
		default:
			n++
		}
	}
	if n > most {
		return fmt.Errorf("%s: %d failures, after %q", name, n, met)
	}
	return nil
}

// itemKey returns the attributes of a key.
func itemKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		spec.PK: &types.AttributeValueMemberS{Value: pk},
		spec.SK: &types.AttributeValueMemberS{Value: sk},
	}
}
