package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// faultyWorld is a world with faults under its client, and under that of its stream.
func faultyWorld(t *testing.T, options ...func(*dynamodb.Options)) (world, *tabletest.Faults) {
	t.Helper()
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, append(options, faults.Install)...)
	w := world{client: client, table: tabletest.NewWith(t, client, spec, nil)}
	w.notes = newRepo(t, w.table, noteEntity)
	return w, faults
}

// notesReader returns a reader that logs the changes of notes.
func (w world) notesReader(t *testing.T, l *log, handle func(stream.Change[Note]) error) stream.Reader {
	t.Helper()
	router := newRouter(t, w.table, nil, stream.On(w.notes, func(_ context.Context, c stream.Change[Note]) error {
		if handle != nil {
			if err := handle(c); err != nil {
				return err
			}
		}
		text := ""
		if c.New != nil {
			text = c.New.Text
		}
		l.add("%s %s", c.Key.PK, text)
		return nil
	}), stream.IgnoreOther())
	return stream.Reader{Name: "notes", Router: router, Client: streamtest.Client(w.client), Interval: 5 * time.Millisecond}
}

// runUntil runs a reader until a condition holds, and checks that it ends then.
func runUntil(t *testing.T, r stream.Reader, holds func() bool) {
	t.Helper()
	run := start(t, r)
	run.await(holds)
	run.end()
}

// run is a reader that runs.
type run struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, r stream.Reader) run {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return run{t, cancel, done}
}

// end ends the reader.
func (r run) end() {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		r.t.Errorf("Run: %v", err)
	}
}

// await waits until a condition holds, as long as the reader runs.
func (r run) await(holds func() bool) {
	r.t.Helper()
	for !holds() {
		select {
		case err := <-r.done:
			r.t.Fatalf("Run: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (w world) writeNotes(t *testing.T, from, to int) {
	t.Helper()
	for version := from; version < to; version++ {
		for user := range 3 {
			n := Note{User: fmt.Sprint(user), Text: fmt.Sprint(version)}
			expect.OK(t, w.notes.Save(t.Context(), &n))
		}
	}
}

// mortal is a transport whose process is killed after some requests: none gets through
// any more.
type mortal struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	left atomic.Int64
	die  func()
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	if m.left.Add(-1) < 0 {
		m.die()
		return nil, errors.New("the process was killed")
	}
	return m.next.Do(r)
}

// TestReaderTakesOver kills a process at each of its requests. Another one delivers the
// rest, in order.
func TestReaderTakesOver(t *testing.T) {
	t.Parallel()
	for after := int64(0); ; after += 2 {
		client := tabletest.Client(t)
		w := world{client: client, table: tabletest.NewWith(t, client, spec, nil)}
		w.notes = newRepo(t, w.table, noteEntity)
		w.writeNotes(t, 0, 2)

		var l log
		ctx, cancel := context.WithCancel(t.Context())
		m := &mortal{die: cancel}
		m.left.Store(after)
		dying := tabletest.Client(t, func(o *dynamodb.Options) { m.next, o.HTTPClient = o.HTTPClient, m })
		killed := world{client: dying, notes: w.notes, table: expect.Value(table.New(dying, w.table.Schema(), nil))(t)}
		first := killed.notesReader(t, &l, nil)
		first.Progress = func(stream.Progress) {
			if len(l.all()) == 6 {
				cancel() // before the lease is released
			}
		}
		if err := first.Run(ctx); err == nil {
			t.Fatal("the reader ended without an error")
		}
		cancel()
		w.writeNotes(t, 2, 4)

		// By this clock the lease of the dead process has ended.
		late := &table.Options{Now: func() time.Time { return time.Now().Add(time.Minute) }}
		w.table = expect.Value(table.New(client, w.table.Schema(), late))(t)
		runUntil(t, w.notesReader(t, &l, nil), func() bool {
			lines := l.all()
			return slices.Contains(lines, "USER#0 3") && slices.Contains(lines, "USER#1 3") && slices.Contains(lines, "USER#2 3")
		})
		inOrder(t, l.all(), 3, 4)
		if m.left.Load() >= 0 {
			if after < 10 {
				t.Errorf("a run of %d requests", after)
			}
			return
		}
	}
}

// TestReaderReleasesItsLease ends the context of a reader while it stores a position, and
// drops this response and the next one. The lease is released nevertheless, though the client
// would repeat the requests only after longer than there is time.
func TestReaderReleasesItsLease(t *testing.T) {
	t.Parallel()
	w, faults := faultyWorld(t, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Minute, nil })
		})
	})
	w.writeNotes(t, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	lose := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		cancel()
		return tabletest.DropResponse()(r, next)
	}
	faults.Next("UpdateItem", lose, lose)
	var l log
	if err := w.notesReader(t, &l, nil).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v", err)
	}
	page := expect.Value(table.ScanPage[table.Item](t.Context(), w.table.OfType("").Consistent(), table.Scan{}))(t)
	for _, item := range page.Items {
		key := w.table.KeyOf("", item)
		if owner, held := item["leaseOwner"]; held && strings.HasPrefix(string(key.SK), "SHARD#") {
			t.Errorf("%v is held by %v", key, owner)
		}
	}
}

func TestReaderSetsAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeNotes(t, 0, 3)
	var l log
	tries := 0
	r := w.notesReader(t, &l, func(c stream.Change[Note]) error {
		if c.Key == noteKey("1") && c.New.Text == "1" {
			tries++
			return errors.New(strings.Repeat("poisön\xff", 1000)) // not UTF-8, and too long
		}
		return nil
	})
	r.Attempts = 2
	runUntil(t, r, func() bool { return len(l.all()) == 8 })
	expect.Equal(t, "tries", tries, 2)
	var got []stream.Aside
	for a, err := range r.SetAside(t.Context()) {
		expect.OK(t, err)
		got = append(got, a)
	}
	expect.Equal(t, "set aside", len(got), 1)
	if a := got[0]; a.Key != noteKey("1") || a.Type != "NOTE" || a.Sequence == "" || a.EventID == "" || a.Reason == "" || a.At.IsZero() {
		t.Errorf("set aside: %+v", a)
	}
	expect.OK(t, r.Forget(t.Context()))
	for a, err := range r.SetAside(t.Context()) {
		t.Errorf("after Forget: %+v, %v", a, err)
	}
	runUntil(t, r, func() bool { return len(l.all()) == 16 })
}

// Forget asks for no process that runs. One that runs all the same reads again, and does
// not end.
func TestReaderOutlivesAForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeNotes(t, 0, 3)
	var l log
	r := w.notesReader(t, &l, nil)
	run := start(t, r)
	run.await(func() bool { return len(l.all()) == 9 })
	expect.OK(t, r.Forget(t.Context()))
	w.writeNotes(t, 3, 4) // so that it looks at its position
	run.await(func() bool {
		page := expect.Value(table.ScanPage[table.Item](t.Context(), w.table.OfType("").Consistent(), table.Scan{}))(t)
		return len(l.all()) >= 9+12 && slices.ContainsFunc(page.Items, func(item table.Item) bool {
			return strings.HasPrefix(string(w.table.KeyOf("", item).SK), "PROCESS#")
		})
	})
	run.end()
}

// TestReaderSince has an engine whose records have seconds, and one whose records have
// minutes.
func TestReaderSince(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tabletest.Fault{"seconds": nil, "minutes": inMinutes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, faults := faultyWorld(t)
			faults.Always("GetRecords", fault)
			readsSince(t, w)
		})
	}
}

// inMinutes rounds the times of records down to their minute, as DynamoDB Local does.
var inMinutes = rewritten(func(body []byte) []byte {
	return recordTime.ReplaceAllFunc(body, func(member []byte) []byte {
		text := recordTime.FindSubmatch(member)
		seconds, _ := strconv.ParseFloat(string(text[2]), 64)
		return fmt.Appendf(nil, "%s%d", text[1], int64(seconds)/60*60)
	})
})

// rewritten changes the bodies of responses.
func rewritten(change func([]byte) []byte) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		return expect.Response(r, resp.StatusCode, "", string(change(body))), nil
	}
}

var recordTime = regexp.MustCompile(`("ApproximateCreationDateTime":)([0-9.E+]+)`)

func readsSince(t *testing.T, w world) {
	t.Helper()
	w.writeNotes(t, 0, 3)
	var l log
	r := w.notesReader(t, &l, nil)
	r.Since = time.Now().Add(time.Hour)
	var passed atomic.Int64
	r.Progress = func(p stream.Progress) { passed.Add(int64(p.Records)) }
	runUntil(t, r, func() bool { return passed.Load() >= 9 })
	expect.Equal(t, "changes", len(l.all()), 0)

	r.Name, r.Since = "from now on", time.Now()
	w.writeNotes(t, 3, 4) // in the same second, or minute
	runUntil(t, r, func() bool { return slices.Contains(l.all(), "USER#2 3") })
}

// TestReaderDoesNotFeedItself shows that an idle reader writes nothing: its positions
// are in the table whose stream it reads.
func TestReaderDoesNotFeedItself(t *testing.T) {
	t.Parallel()
	w, faults := faultyWorld(t)
	w.writeNotes(t, 0, 1)
	var l log
	polls := func() int { return len(faults.Requests("GetRecords")) }
	written := func() int { return len(faults.Requests("PutItem", "UpdateItem", "TransactWriteItems")) }
	reader := start(t, w.notesReader(t, &l, nil))
	reader.await(func() bool { return len(l.all()) == 3 })
	idle := polls() + 5
	reader.await(func() bool { return polls() > idle })
	before, more := written(), polls()+30
	reader.await(func() bool { return polls() > more })
	expect.Equal(t, "writes of an idle reader", written()-before, 0)
	reader.end()
}

// TestReaderStopsWhenRequestsHang ends a reader none of whose requests has a response.
func TestReaderStopsWhenRequestsHang(t *testing.T) {
	t.Parallel()
	w, faults := faultyWorld(t)
	w.writeNotes(t, 0, 1)
	var l log
	reader := start(t, w.notesReader(t, &l, nil))
	reader.await(func() bool { return len(l.all()) == 3 })
	// Which request is the next one depends on where the reader is.
	var hung atomic.Bool
	for _, operation := range []string{"GetRecords", "DescribeStream", "Query", "UpdateItem", "DeleteItem"} {
		faults.Always(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			hung.Store(true)
			return tabletest.Block(nil)(r, next)
		})
	}
	reader.await(hung.Load)
	reader.end()
	for _, operation := range []string{"GetRecords", "DescribeStream", "Query", "UpdateItem", "DeleteItem"} {
		faults.Always(operation, nil)
	}
}

// TestReaderDoesNotTrustEmptyResponses gets responses without members, as a proxy may send
// them. They end no shard.
func TestReaderDoesNotTrustEmptyResponses(t *testing.T) {
	t.Parallel()
	w, faults := faultyWorld(t)
	empty := func(*http.Request, http.RoundTripper) (*http.Response, error) { return respond(200, map[string]any{}) }
	for _, operation := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		faults.Next(operation, empty)
	}
	w.writeNotes(t, 0, 2)
	var l log
	runUntil(t, w.notesReader(t, &l, nil), func() bool {
		if len(faults.Requests("DescribeStream")) > 100 {
			t.Fatal("the shard is read no more")
		}
		return len(l.all()) == 6
	})
}

// An engine without streams is named as the cause.
func TestReaderOfAnEngineWithoutStreams(t *testing.T) {
	t.Parallel()
	w, faults := faultyWorld(t)
	faults.Always("ListStreams", tabletest.Status(http.StatusBadRequest, "UnknownOperationException", "Injected."))
	var l log
	expect.Err(t, w.notesReader(t, &l, nil).Run(t.Context()), schema.ErrUnsupported)
}

// TestReaderHandlerEndsItsGoroutine lets a handler do what a failed test does.
func TestReaderHandlerEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeNotes(t, 0, 2)
	var l log
	gone := false
	r := w.notesReader(t, &l, func(stream.Change[Note]) error {
		if !gone {
			gone = true
			runtime.Goexit()
		}
		return nil
	})
	runUntil(t, r, func() bool { return len(l.all()) == 6 })
}

// TestReaderEndsInAFailure ends a reader whose handler fails: it is not called again.
func TestReaderEndsInAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeNotes(t, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var l log
	calls := 0
	r := w.notesReader(t, &l, func(stream.Change[Note]) error {
		calls++
		cancel()
		return errors.New("no")
	})
	expect.Err(t, r.Run(ctx), context.Canceled)
	expect.Equal(t, "calls", calls, 1)
}

// A handler may take an attribute out of an item, and is given it again after its failure.
func TestReaderGivesTheWholeItemAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	router := newRouter(t, w.table, nil, stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
		l.add("%t", (*c.New)["text"] != nil)
		delete(*c.New, "text")
		if len(l.all()) < 3 {
			return errors.New("no")
		}
		return nil
	}))
	expect.OK(t, w.notes.Save(t.Context(), &Note{User: "1", Text: "x"}))
	r := w.notesReader(t, &l, nil)
	r.Router = router
	var failures atomic.Int32
	r.Progress = func(p stream.Progress) {
		if p.Err != nil {
			failures.Add(1)
		}
	}
	runUntil(t, r, func() bool { return len(l.all()) == 3 })
	expect.Equal(t, "with the attribute", l.all(), []string{"true", "true", "true"})
	expect.Equal(t, "failures that are reported", failures.Load(), 2)
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l log
	good := w.notesReader(t, &l, nil)
	numeric := schema.Table{Name: "numeric", SKType: types.ScalarAttributeTypeN}
	for name, change := range map[string]func(*stream.Reader){
		"no name":       func(r *stream.Reader) { r.Name = "" },
		"a long name":   func(r *stream.Reader) { r.Name = string(make([]byte, 201)) },
		"no router":     func(r *stream.Reader) { r.Router = nil },
		"a zero router": func(r *stream.Reader) { r.Router = new(stream.Router) },
		"a zero table":  func(r *stream.Reader) { r.Table = new(table.Table) },
		"no client":     func(r *stream.Reader) { r.Client = nil },
		"another table": func(r *stream.Reader) { r.StreamARN = "arn:aws:dynamodb:us-east-1:1:table/x/stream/y" },
		"no ARN":        func(r *stream.Reader) { r.StreamARN = "x" },
		"the ARN of a table": func(r *stream.Reader) {
			r.StreamARN = "arn:aws:dynamodb:us-east-1:1:table/" + w.table.Schema().Name
		},
		"negative Interval": func(r *stream.Reader) { r.Interval = -1 },
		"negative Attempts": func(r *stream.Reader) { r.Attempts = -1 },
		"numeric keys":      func(r *stream.Reader) { r.Table = tabletest.New(t, numeric, nil) },
	} {
		r := good
		change(&r)
		if err := r.Run(t.Context()); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for view, want := range map[types.StreamViewType]error{"": table.ErrNotFound, types.StreamViewTypeKeysOnly: table.ErrInvalid} {
		s := spec
		s.Stream = view
		tbl := tabletest.NewWith(t, w.client, s, nil)
		other := world{client: w.client, table: tbl, notes: newRepo(t, tbl, noteEntity)}
		if err := other.notesReader(t, &l, nil).Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("view %q: %v, want %v", view, err, want)
		}
	}
}

// sharded returns a world whose stream has the records of 4 notes with 5 versions in
// two shards and their children: the records of a note are in one shard and its child.
func sharded(t *testing.T) (world, *shards) {
	t.Helper()
	w := newWorld(t)
	parts := recordsOf(t, w.busyEvent(t), 2)
	s := &shards{table: w.table.Schema().Name}
	for i, records := range parts {
		parent, child := fmt.Sprintf("shard-%d", i), fmt.Sprintf("shard-%d-child", i)
		s.all = append(s.all, &shard{id: child, parent: parent, records: records[4:]})
		s.all = append(s.all, &shard{id: parent, parent: "gone", closed: true, records: records[:4]})
	}
	return w, s
}

func (w world) shardReader(t *testing.T, s *shards, l *log) stream.Reader {
	t.Helper()
	r := w.notesReader(t, l, nil)
	r.Client = s.client()
	return r
}

func TestParentsBeforeChildren(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]map[string]bool{"": nil, "iterators expire": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := sharded(t)
			s.expired = expired
			var l log
			runUntil(t, w.shardReader(t, s, &l), func() bool { return len(l.all()) >= 20 })
			inOrder(t, l.all(), 4, 5)
			expect.Equal(t, "changes", len(l.all()), 20)
			s.change(func() {
				for i := range 2 {
					parent := fmt.Sprintf("shard-%d", i)
					if slices.Index(s.read, parent) > slices.Index(s.read, parent+"-child") {
						t.Errorf("order: %v", s.read)
					}
				}
			})
		})
	}
}

func TestDisabledStreamEnds(t *testing.T) {
	t.Parallel()
	w, s := sharded(t)
	s.disabled = true
	for _, sh := range s.all {
		sh.closed = true
	}
	var l log
	expect.OK(t, w.shardReader(t, s, &l).Run(t.Context()))
	inOrder(t, l.all(), 4, 5)
	expect.OK(t, w.shardReader(t, s, &l).Run(t.Context()))
	expect.Equal(t, "changes", len(l.all()), 20)
}

// TestLossIsReported lets the stream delete what a consumer has not read.
func TestLossIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trim func(*shards)
		// left is how many changes are left.
		left int
	}{
		"records of a shard": {func(s *shards) { s.all[0].first = 5 }, 1},
		"a whole shard": {func(s *shards) { // it was replaced by a child
			next := &shard{id: "next", parent: s.all[0].id, records: s.all[0].records[5:]}
			s.all[0] = next
		}, 1},
		"a shard without a child": {func(s *shards) {
			s.all[0] = &shard{id: "fresh", records: s.all[0].records[5:]}
		}, 1},
		"a shard that was never seen": {func(s *shards) {
			s.all[0].closed = true
			s.all = append(s.all, &shard{id: "last", parent: "between", records: s.all[0].records[5:]})
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			part := recordsOf(t, w.busyEvent(t), 1)[0][:6]
			s := &shards{table: w.table.Schema().Name, all: []*shard{{id: "first", records: part[:2:2]}}}
			var l log
			r := w.shardReader(t, s, &l)
			runUntil(t, r, func() bool { return len(l.all()) == 2 })
			s.all[0].records = part
			c.trim(s)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := r.Run(ctx); !errors.Is(err, stream.ErrTrimmed) {
				t.Fatalf("Run: %v", err)
			}
			l.take()

			r.AcceptLoss = true
			var mu sync.Mutex
			var reported []error
			r.Progress = func(p stream.Progress) {
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(p.Err, stream.ErrTrimmed) {
					reported = append(reported, p.Err)
				}
			}
			runUntil(t, r, func() bool { return len(l.all()) >= c.left })
			mu.Lock()
			expect.Equal(t, "reports", len(reported), 1)
			mu.Unlock()
			r.AcceptLoss = false
			reader := start(t, r) // it goes on
			s.change(func() { s.all[len(s.all)-1].records = append(s.all[len(s.all)-1].records, part[0]) })
			reader.await(func() bool { return slices.Contains(l.all(), "USER#0 0") })
			reader.end()
		})
	}
}

// TestLossBeforeTheFirstRecord lets the stream delete the first records of a shard after
// more than a day in which the consumer was off.
func TestLossBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]func(*shards, []json.RawMessage){
		"of a shard that was empty": func(s *shards, records []json.RawMessage) {
			s.all[0].records, s.all[0].first = records, 1
		},
		"of its child": func(s *shards, records []json.RawMessage) {
			s.all[0].closed = true
			s.all = append(s.all, &shard{id: "child", parent: s.all[0].id, records: records, first: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			records := recordsOf(t, w.busyEvent(t), 1)[0]
			s := &shards{table: w.table.Schema().Name, all: []*shard{{id: "first"}}}
			var l log
			var polled atomic.Int32
			r := w.shardReader(t, s, &l)
			r.Client = streamClient(s, func() { polled.Add(1) })
			runUntil(t, r, func() bool { return polled.Load() > 10 })

			s.change(func() { writes(s, records) })
			late := expect.Value(table.New(w.client, w.table.Schema(), &table.Options{Now: func() time.Time { return time.Now().Add(25 * time.Hour) }}))(t)
			r.Table = late
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.Client = streamClient(s, func() {
				if len(l.all()) > 0 {
					cancel()
				}
			})
			if err := r.Run(ctx); !errors.Is(err, stream.ErrTrimmed) {
				t.Fatalf("Run: %v", err)
			}
			r.AcceptLoss = true
			runUntil(t, r, func() bool { return len(l.all()) == 19 })
		})
	}
}

// TestParentIsListedLate lists a parent only after its child was read.
func TestParentIsListedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	records := recordsOf(t, w.busyEvent(t), 1)[0]
	s := &shards{table: w.table.Schema().Name, all: []*shard{{id: "child", parent: "parent", records: records[10:]}}}
	var l log
	reader := start(t, w.shardReader(t, s, &l))
	reader.await(func() bool { return len(l.all()) == 10 })
	s.change(func() { s.all = append(s.all, &shard{id: "parent", closed: true, records: records[:10]}) })
	reader.await(func() bool { return len(l.all()) == 20 })
	reader.end()
}

// TestReadersShare runs two readers, each of which gets one of two shards, and ends
// one: the other one reads both.
func TestReadersShare(t *testing.T) {
	t.Parallel()
	w, s := sharded(t)
	s.all = slices.DeleteFunc(s.all, func(sh *shard) bool { return !sh.closed })
	rest := [][]json.RawMessage{s.all[0].records[2:], s.all[1].records[2:]}
	for _, sh := range s.all {
		sh.closed, sh.records = false, sh.records[:2:2]
	}
	var l log
	var mu sync.Mutex
	readers := map[string]map[string]bool{"a": {}, "b": {}}
	running := map[string]run{}
	for _, name := range []string{"a", "b"} {
		r := w.shardReader(t, s, &l)
		r.Progress = func(p stream.Progress) {
			mu.Lock()
			defer mu.Unlock()
			readers[name][p.Shard] = true
		}
		running[name] = start(t, r)
		if name == "a" {
			running[name].await(func() bool { return len(l.all()) == 4 })
		}
	}
	running["a"].end()
	s.change(func() {
		for i, sh := range s.all {
			sh.records = append(sh.records, rest[i]...)
		}
	})
	running["b"].await(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(l.all()) >= 8 && len(readers["b"]) == 2
	})
	running["b"].end()
	inOrder(t, l.all(), 4, 2)
}
