package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// consumer is one call of [Reader.Run].
type consumer struct {
	Reader
	owner     string
	partition keys.PK
	shards    group.Group
	end       context.CancelCauseFunc
	// changed is told when a shard was left or has ended.
	changed chan struct{}
	// joined is when the process has said last that it runs.
	joined time.Time

	// last is the context of the last writes. It ends lastTime after the others.
	last context.Context //nolint:containedctx // of one call of Run
	// members are the processes by their owners.
	members map[string]member
	// begun is what the consumer found when it began; nil until it is known.
	begun *start
	// seen is what was seen of the leases of others, and trimmed the shards whose loss was
	// reported.
	seen    map[string]*lease.Seen
	trimmed map[string]bool

	mu sync.Mutex
	// reading are the shards that this process reads. True means that it is to leave one to
	// another process.
	reading map[string]*atomic.Bool
	// report is held while Progress is called.
	report sync.Mutex
}

func newConsumer(r Reader, end context.CancelCauseFunc, last context.Context) *consumer { //nolint:revive // it is a field
	return &consumer{
		Reader: r, last: last, owner: rand.Text(), partition: partition(r.Name, r.StreamARN), end: end,
		reading: map[string]*atomic.Bool{}, seen: map[string]*lease.Seen{}, members: map[string]member{}, trimmed: map[string]bool{},
		changed: make(chan struct{}, 1),
	}
}

// member is what was seen of a process: until when it says that it runs, and when it has
// said so. Clocks differ, so only a change of the former counts.
type member struct {
	until int64
	seen  time.Time
}

// forgetAfter is how long a process that was killed has an item.
const forgetAfter = 10 * leaseLife

// checkpoint is how far a shard was read, as it is stored in its lease.
type checkpoint struct {
	Shard string `dynamodbav:"shard"`
	// Sequence is that of the last record that was handled, empty for none.
	Sequence string `dynamodbav:"sequence,omitempty"`
	// Done means that the shard was read to its end.
	Done bool `dynamodbav:"done"`
	// Tip is when there were no further records, in UTC milliseconds; at first that of the
	// shard's parent. It is 0 if that is not known.
	Tip int64 `dynamodbav:"tip,omitempty"`
}

// start is what a consumer found when it began.
type start struct {
	// Roots are the shards whose parents the stream had deleted already.
	Roots []string `dynamodbav:"roots,omitempty"`
}

// A consumer has one partition for each stream: its start, a lease for each shard, one
// for each process, and what it has set aside.
const (
	prefix       keys.Prefix = itemType
	shardPrefix  keys.Prefix = "SHARD"
	memberPrefix keys.Prefix = "PROCESS"
	startPrefix  keys.Prefix = "START"
)

// partition returns the partition of a consumer: its name, the table and the label of
// the stream.
func partition(name, arn string) keys.PK {
	_, label, _ := strings.Cut(arn, "/stream/")
	return prefix.PK(name, tableOf(arn), label)
}

func (c *consumer) lease(sk keys.SK) lease.Lease {
	return lease.Lease{Table: c.Table, Key: keys.Key{PK: c.partition, SK: sk}, Type: itemType, Owner: c.owner, Life: leaseLife}
}

// loop looks for shards to read until the context ends.
func (c *consumer) loop(ctx context.Context) error {
	for {
		var done bool
		err := retry(ctx, func() (err error) {
			done, err = c.look(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || done:
			return err
		}
		timer := time.NewTimer(min(10*c.Interval, maxLook))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.changed:
		}
		timer.Stop()
	}
}

// look takes and leaves shards, so that each process has its share. It returns true if
// the stream is disabled and was read to its end.
func (c *consumer) look(ctx context.Context) (done bool, err error) {
	// Positions are read first: a shard that has one is described then.
	q := table.Query{PK: c.partition, Range: shardPrefix.All()}
	stored, err := lease.List[checkpoint](ctx, c.Table, itemType, q)
	if err != nil {
		return false, err
	}
	stream, err := c.describe(ctx)
	if err != nil {
		return false, err
	}
	l := newLineage(stream.Shards, stored)
	if err := c.begin(ctx, l); err != nil {
		return false, err
	}
	if err := c.checkLoss(ctx, l); err != nil {
		return false, err
	}
	for _, shard := range l.obsolete() {
		if err := c.forget(ctx, shard); err != nil {
			return false, err
		}
	}
	if l.finished() && stream.StreamStatus == streamtypes.StreamStatusDisabled {
		return true, nil
	}
	processes, err := c.join(ctx)
	if err != nil {
		return false, err
	}
	return false, c.rebalance(ctx, l, processes)
}

// begin stores what the consumer finds when it begins.
func (c *consumer) begin(ctx context.Context, l *lineage) error {
	if c.begun != nil {
		return nil
	}
	item := c.lease(startPrefix.SK())
	begun, found, err := lease.Read[start](ctx, item)
	if err == nil && !found {
		var h *lease.Held[start]
		h, err = lease.Take(ctx, item, start{Roots: l.orphans()}, &lease.Seen{})
		if errors.Is(err, lease.ErrHeld) { // another process begins, too
			begun, _, err = lease.Read[start](ctx, item)
		} else if err == nil {
			begun = h.State
		}
	}
	if err == nil {
		c.begun = &begun
	}
	return err
}

// rebalance takes or leaves shards of those that are ready, until the process has its
// share.
func (c *consumer) rebalance(ctx context.Context, l *lineage, processes int) error {
	ready := l.ready()
	share := (len(ready) + processes - 1) / processes
	c.mu.Lock()
	held := 0
	for shard, leave := range c.reading {
		if !leave.Load() && slices.Contains(ready, shard) {
			held++
		}
	}
	for shard, leave := range c.reading {
		if held > share && slices.Contains(ready, shard) && leave.CompareAndSwap(false, true) {
			held--
		}
	}
	c.mu.Unlock()
	for _, shard := range ready {
		if held >= share {
			return nil
		}
		c.mu.Lock()
		_, mine := c.reading[shard]
		c.mu.Unlock()
		if mine {
			continue
		}
		c.seen[shard] = cmp.Or(c.seen[shard], &lease.Seen{})
		first := checkpoint{Shard: shard, Tip: l.checkpoints[l.parents[shard]].Tip}
		h, err := lease.Take(ctx, c.lease(shardPrefix.SK(keys.Str(shard))), first, c.seen[shard])
		switch {
		case errors.Is(err, lease.ErrHeld):
			continue
		case err != nil:
			return err
		}
		held++
		c.start(ctx, shard, h)
	}
	return nil
}

// start reads a shard in a goroutine of its own.
func (c *consumer) start(ctx context.Context, shard string, h *lease.Held[checkpoint]) {
	leave := &atomic.Bool{}
	c.mu.Lock()
	c.reading[shard] = leave
	c.mu.Unlock()
	c.shards.Go(func() {
		err := errGone
		defer func() {
			c.mu.Lock()
			delete(c.reading, shard)
			c.mu.Unlock()
			if err != nil && !errors.Is(err, lease.ErrHeld) {
				c.end(fmt.Errorf("shard %s: %w", shard, err))
			}
			select {
			case c.changed <- struct{}{}:
			default:
			}
		}()
		err = c.shard(ctx, h, leave)
	})
}

// join says that this process runs, and returns how many do.
func (c *consumer) join(ctx context.Context) (int, error) {
	if time.Since(c.joined) > leaseLife/3 {
		l := c.lease(memberPrefix.SK(keys.Str(c.owner)))
		if _, err := lease.Take(ctx, l, struct{}{}, &lease.Seen{}); err != nil {
			return 0, err
		}
		c.joined = time.Now()
	}
	entries, err := lease.List[struct{}](ctx, c.Table, itemType, table.Query{PK: c.partition, Range: memberPrefix.All()})
	if err != nil {
		return 0, err
	}
	processes, known := 1, false // this one
	for _, e := range entries {
		if e.Owner == c.owner {
			known = true
			continue
		}
		m := c.members[e.Owner]
		if m.until != e.Until {
			m = member{e.Until, time.Now()}
			c.members[e.Owner] = m
		}
		switch gone := time.Since(m.seen); {
		case gone < leaseLife:
			processes++
		case gone > forgetAfter:
			if err := c.Table.Do(ctx, table.Delete(c.lease(memberPrefix.SK(keys.Str(e.Owner))).Key)); err != nil {
				return 0, err
			}
		}
	}
	if !known { // deleted, as by a Forget: the next look writes it again
		c.joined = time.Time{}
	}
	return processes, nil
}

// leave deletes what says that this process runs.
func (c *consumer) leave() {
	if c.joined.IsZero() {
		return
	}
	_ = c.Table.Do(c.last, table.Delete(c.lease(memberPrefix.SK(keys.Str(c.owner))).Key))
}

// checkLoss reports shards that the stream has deleted before they were read to their
// end.
func (c *consumer) checkLoss(ctx context.Context, l *lineage) error {
	unread, unknown := l.trimmed(c.begun.Roots)
	all := slices.Concat(unread, unknown)
	if len(all) == 0 {
		return nil
	}
	if !c.AcceptLoss {
		return fmt.Errorf("%w: shards %s", ErrTrimmed, strings.Join(all, ", "))
	}
	for _, shard := range all {
		if !c.trimmed[shard] {
			c.trimmed[shard] = true
			c.progress(Progress{Shard: shard, Err: ErrTrimmed})
		}
	}
	for _, shard := range unread {
		if err := c.forget(ctx, shard); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes the checkpoint in a shard that the stream has deleted.
func (c *consumer) forget(ctx context.Context, shard string) error {
	return c.Table.Do(ctx, table.Delete(c.lease(shardPrefix.SK(keys.Str(shard))).Key))
}

func (c *consumer) progress(p Progress) {
	if c.Progress == nil {
		return
	}
	c.report.Lock()
	defer c.report.Unlock()
	c.Progress(p)
}
