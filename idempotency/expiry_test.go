package idempotency_test

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestExpiredRecordIsReplaced(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			old := s.first(t, "k")
			s.faults.Always("TransactWriteItems", engine)
			expect.OK(t, s.table.Do(t.Context(), table.Put(recordKey("k"), table.Item{
				"expiresAt": seconds(start), "old": str("x"), "attempt": str("x"), "resultPK": str("ORDER#x"),
			})))

			s.stock(t, 0)
			_, err := s.do(t, "k")
			wantErr(t, err, table.ErrConditionFailed)
			expect.NotErr(t, err, table.ErrConflict, table.ErrExists)
			expect.Equal(t, "events", s.kinds(), nil)
			s.stock(t, 10)

			result := expect.Value(s.do(t, "k"))(t)
			expect.Equal(t, "replayed", result.Replayed, false)
			if result.Value.ID == old.ID {
				t.Error("it is the old result")
			}
			expect.Equal(t, "events", s.kinds(), []idempotency.EventKind{idempotency.Replaced})
			s.wantEffects(t, "k", 2)
			record := expect.Value(s.store.Lookup(t.Context(), request("k")))(t)
			for _, attribute := range []string{"old", "resultPK"} {
				if _, ok := record.Item[attribute]; ok {
					t.Errorf("attribute %q is left of the old record", attribute)
				}
			}
			again := expect.Value(s.do(t, "k"))(t)
			expect.Equal(t, "again", again, idempotency.Result[order]{Value: result.Value, Replayed: true})
		})
	}
}

// The table and the store agree on the time of expiry.
func TestTimeOfExpiry(t *testing.T) {
	t.Parallel()
	now := start.Unix()
	for expires, live := range map[string]bool{
		strconv.FormatInt(now-1, 10):        false,
		strconv.FormatInt(now, 10):          false,
		strconv.FormatInt(now, 10) + ".5":   true,
		strconv.FormatInt(now+1, 10):        true,
		strconv.FormatInt(now-1, 10) + ".5": false,
		"1":                                 false,
		"0.5":                               true,
		"0":                                 true,
		"-5":                                true,
		"1e30":                              true,
		"-1e30":                             true,
		"1e-100":                            true,
	} {
		t.Run(expires, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.first(t, "k")
			record := expect.Value(s.store.Lookup(t.Context(), request("k")))(t)
			record.Item["expiresAt"] = &types.AttributeValueMemberN{Value: expires}
			expect.OK(t, s.table.Do(t.Context(), table.Put(recordKey("k"), record.Item)))

			s.wantRecord(t, "k", live)
			n := s.sent(func() {
				result := expect.Value(s.do(t, "k"))(t)
				expect.Equal(t, "replayed", result.Replayed, live)
			})
			expect.Equal(t, "requests", n, map[bool]int{true: 1, false: 2}[live])
		})
	}
}

// Another writer's record can hold a time that no clock reaches.
func TestTimeBeyondEveryClock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for at, want := range map[int64]time.Time{1<<50 - 1: time.Unix(1<<50-1, 0).UTC(), 1 << 50: {}} {
		expect.OK(t, s.table.Do(t.Context(), table.Put(recordKey("k"), table.Item{"expiresAt": seconds(time.Unix(at, 0))})))
		record := expect.Value(s.store.Lookup(t.Context(), request("k")))(t)
		expect.Equal(t, "expires", record.ExpiresAt, want)
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		now             time.Duration // after start
		store, own, ttl time.Duration
	}{
		{"by default", 0, 0, 0, 24 * time.Hour},
		{"from the store", 0, time.Minute, 0, time.Minute},
		{"the shortest of a store", 0, time.Second, 0, time.Second},
		{"from the request", 0, time.Minute, time.Second, time.Second},
		{"at least", 999 * time.Millisecond, time.Minute, time.Second, 2*time.Second - 999*time.Millisecond},
		{"parts of a second", 0, 0, 1500 * time.Millisecond, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.store = newStore(t, s.table, &idempotency.Options{TTL: tt.store})
			s.clock.move(tt.now)
			r := request("k")
			r.TTL = tt.own
			do := func(replayed bool) {
				t.Helper()
				result := expect.Value(idempotency.Do(t.Context(), s.store, r, s.snapshot("k")))(t)
				expect.Equal(t, "replayed", result.Replayed, replayed)
			}
			do(false)
			record := expect.Value(s.store.Lookup(t.Context(), r))(t)
			expect.Equal(t, "expires", record.ExpiresAt, s.clock.now().Add(tt.ttl))
			expect.Equal(t, "created", record.CreatedAt, s.clock.now())
			s.clock.move(tt.ttl - 1)
			do(true)
			s.clock.move(1)
			wantErr(t, expect.ErrOf(s.store.Lookup(t.Context(), r)), table.ErrNotFound)
			do(false)
			s.wantEffects(t, "k", 2)
		})
	}
}

// The longest TTL ends too.
func TestLongestTTL(t *testing.T) {
	t.Parallel()
	const longest = time.Duration(math.MaxInt64)
	last := start.Add(longest)
	for name, tt := range map[string]struct{ store, own time.Duration }{
		"from the store": {longest, 0}, "from the request": {0, longest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			r := request("k")
			r.TTL = tt.own
			for i, at := range []time.Time{start, last, last.Add(time.Second)} {
				store := s.storeAt(t, at, &idempotency.Options{TTL: tt.store})
				result := expect.Value(idempotency.Do(t.Context(), store, r, s.snapshot("k")))(t)
				expect.Equal(t, "replayed", result.Replayed, i == 1)
			}
		})
	}
}

// With such a clock, a record would never expire.
func TestInvalidClock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const day = 24 * 60 * 60 // the TTL
	for _, at := range []time.Time{
		{}, time.Unix(-100_000, 0), time.Unix(-day, 0), time.Unix(1<<50-day, 0), time.Unix(1<<50, 0), time.Unix(math.MaxInt64, 0),
	} {
		wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), s.storeAt(t, at, nil), request("k"), s.snapshot("k"))), table.ErrInvalid)
		s.wantEffects(t, "k", 0)
	}
	wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), s.storeAt(t, time.Unix(0, 0), nil), request("k"), s.snapshot("k"))), table.ErrInvalid)
	// This is the first second in which something can have expired, and the last one in which
	// a record can expire.
	for i, at := range []time.Time{time.Unix(1, 0), time.Unix(1<<50-1-day, 0)} {
		expect.OK(t, expect.ErrOf(idempotency.Do(t.Context(), s.storeAt(t, at, nil), request("k"), s.snapshot("k"))))
		s.wantEffects(t, "k", i+1)
	}
}

// storeAt returns a store whose clock shows a time.
func (s *shop) storeAt(t *testing.T, at time.Time, o *idempotency.Options) *idempotency.Store {
	t.Helper()
	tbl := expect.Value(table.New(tabletest.Client(t), s.table.Schema(), &table.Options{Now: func() time.Time { return at }}))(t)
	return newStore(t, tbl, o)
}

// A plan can take longer than the record is kept.
func TestTTLStartsAfterThePlan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := request("k")
	r.TTL = time.Second
	o := s.newOrder()
	_, err := idempotency.Do(t.Context(), s.store, r, planned(func() (idempotency.Plan[order], error) {
		s.clock.move(time.Hour)
		return idempotency.Snapshot(o, ops("k", o)...), nil
	}))
	expect.OK(t, err)
	s.wantRecord(t, "k", true)
}

// An attempt whose response was lost can take longer than the TTL of its record. The
// retry still recognizes the record as its own.
func TestOwnRecordExpiresBeforeTheRetry(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		for _, takeover := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", takeover"}[takeover], func(t *testing.T) {
				t.Parallel()
				s := newShop(t, once)
				before := 0
				if takeover {
					s.first(t, "k")
					s.clock.move(25 * time.Hour)
					s.faults.Next("TransactWriteItems", engine)
					before = 1
				}
				s.faults.Next("TransactWriteItems", both(s.lateResponse(25*time.Hour), tabletest.DropResponse()))
				s.faults.Always("TransactWriteItems", engine)
				result, err := s.do(t, "k")
				// The poorest engine cannot tell whose it is.
				if err != nil && !errors.Is(err, table.ErrOutcomeUnknown) {
					t.Errorf("error %v", err)
				}
				if engine == nil {
					expect.OK(t, err)
				}
				expect.Equal(t, "replayed", result.Replayed, false)
				s.wantEffects(t, "k", before+1)
			})
		}
	}
}

// lateResponse is a fault that lets time pass.
func (s *shop) lateResponse(d time.Duration) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		defer s.clock.move(d)
		return next.RoundTrip(r)
	}
}

func seconds(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}
