package conformance

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
)

// consumer is a reader that adds all changes, and ends after a batch once it has a
// number of them and the last one.
type consumer struct {
	changes
	records int
	reader  stream.Reader
}

// lastKey is the key of the item that is written last.
var lastKey = keys.Key{PK: "other", SK: "last"}

func (w *streamWriter) consumer(name string, concurrency int, wanted func() (n int, known bool)) (c *consumer, run func() error) {
	c = &consumer{}
	ended := false
	other := stream.OnOther(func(_ context.Context, change stream.Change[table.Item]) error {
		number := func(item table.Item) any {
			var v note
			if err := item.Decode(&v); err != nil {
				return err
			}
			return v.N
		}
		if change.Key == lastKey {
			c.mu.Lock()
			ended = true
			c.mu.Unlock()
		}
		c.add(change.Key, change.Kind, shown(change.Old, number), shown(change.New, number))
		return nil
	})
	c.reader = stream.Reader{
		Name: name, Router: w.router(&c.changes, concurrency, other), Client: streamtest.Client(w.client),
		Interval: 200 * time.Millisecond,
	}
	ctx, stop := context.WithTimeout(w.t.Context(), 30*time.Minute)
	c.reader.Progress = func(p stream.Progress) {
		c.records += p.Records
		c.mu.Lock()
		defer c.mu.Unlock()
		if n, known := wanted(); p.Err == nil && ended && known && c.n >= n {
			stop()
		}
	}
	return c, func() error {
		defer stop()
		err := c.reader.Run(ctx)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return err
	}
}

// streamsAll writes at random and compares the changes that two consumers get
// with what was written: one that reads concurrently, and one that begins
// afterwards.
func streamsAll(t *testing.T, h Harness) {
	records, seed := cmp.Or(h.Records, 2_000), rand.Uint64()
	if h.Capabilities.Lag > 0 {
		records = cmp.Or(h.Records, 500) // they cost time, and money
	}
	t.Logf("seed %d", seed)
	w := newStreamWriter(t, h, seed)
	done := make(chan struct{})
	wanted := func() (int, bool) {
		select {
		case <-done:
			return w.want.n, true
		default:
			return 0, false
		}
	}
	first, runFirst := w.consumer("first", 8, wanted)
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- runFirst() }()
	for step := 0; w.records < records && !t.Failed(); step++ {
		w.step()
		if step%(records/10) == records/20 {
			w.backfill()
		}
	}
	must(t, w.table.Do(t.Context(), table.Put(lastKey, note{N: 1})))
	w.want.add(lastKey, stream.Insert, nil, 1)
	close(done)
	wrote := time.Since(begun)
	must(t, <-ended)
	caught := time.Since(begun)

	second, runSecond := w.consumer("second", 1, wanted)
	begun = time.Now()
	must(t, runSecond())
	t.Logf("%d records, %d changes of %d items, %d expiries; written in %v, read meanwhile in %v (%d records), afterwards in %v (%d records)",
		w.records, w.want.n, len(w.want.all), w.expired.n, wrote.Round(time.Millisecond), caught.Round(time.Millisecond), first.records,
		time.Since(begun).Round(time.Millisecond), second.records)
	equalChanges(t, "read meanwhile", &first.changes, &w.want)
	equalChanges(t, "read afterwards", &second.changes, &w.want)
	equalChanges(t, "expired", &w.gone, &w.expired)
}

// equalChanges compares the changes of each item.
func equalChanges(t *testing.T, what string, got, want *changes) {
	t.Helper()
	wrong := 0
	all := maps.Clone(want.all)
	maps.Copy(all, got.all)
	for key := range all {
		g, w := got.all[key], want.all[key]
		if slices.Equal(g, w) {
			continue
		}
		i := 0
		for i < min(len(g), len(w)) && g[i] == w[i] {
			i++
		}
		if wrong++; wrong <= 3 {
			t.Errorf("%s: %v has %d changes, want %d; they differ from the %dth on:\ngot  %.2q\nwant %.2q", what, key, len(g), len(w), i, g[i:min(len(g), i+2)], w[i:min(len(w), i+2)])
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d items have wrong changes", what, wrong, len(all))
	}
}
