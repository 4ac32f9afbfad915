package telemetry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

func put(pk keys.PK, units float64) table.Event {
	return table.Event{Operation: "PutItem", Table: "T", Partitions: []keys.PK{pk}, Attempts: 1, Capacity: units}
}

// TestHottest has a million keys of which three are hot, and shows that these are
// found with their numbers, in fixed memory.
func TestHottest(t *testing.T) {
	t.Parallel()
	if telemetry.SketchSize > 64<<10 {
		t.Errorf("a sketch has %d bytes", telemetry.SketchSize)
	}
	var s telemetry.Summary
	random := rand.New(rand.NewPCG(1, 2))
	share := map[keys.PK]int{"TENANT#big": 20, "TENANT#next": 5, "TENANT#third": 2} // of a hundred
	want := map[keys.PK]int{}
	for range 200_000 {
		at, pk := random.IntN(100), keys.PK(fmt.Sprint("TENANT#", random.IntN(1_000_000)))
		for _, hot := range []keys.PK{"TENANT#big", "TENANT#next", "TENANT#third"} {
			if at -= share[hot]; at < 0 {
				pk = hot
				break
			}
		}
		want[pk]++
		s.Observe(t.Context(), put(pk, 1))
	}
	for i, pk := range []keys.PK{"TENANT#big", "TENANT#next", "TENANT#third"} {
		k := s.Hottest(3)[i]
		if k.Hash != telemetry.HashKey(pk) || k.Key != "" {
			t.Errorf("%d: %+v is not %s by its hash", i, k, pk)
		}
		if n := want[pk]; k.Requests < n || k.Requests-k.Over > n {
			t.Errorf("%s: %d requests, at most %d too many, want %d", pk, k.Requests, k.Over, n)
		}
	}
}

// TestHotKeyOf shows what is known of a key: its units, its peak and its shards.
func TestHotKeyOf(t *testing.T) {
	t.Parallel()
	s := telemetry.Summary{PlainKeys: true}
	refused := put("USER#1", 0)
	refused.Throttles = []types.ThrottlingReason{{}, {}}
	s.Observe(t.Context(), refused)
	s.Observe(t.Context(), put("USER#1", 2500))
	both := put("USER#1", 4)
	both.Operation, both.Partitions = "TransactWriteItems", []keys.PK{"USER#1", "USER#2"}
	s.Observe(t.Context(), both)
	s.Observe(t.Context(), table.Event{Operation: "Query", Index: "GSI1", Partitions: []keys.PK{"USER#1"}, Capacity: 6500})
	s.Observe(t.Context(), table.Event{Operation: "Scan", Capacity: 9})

	got := s.Hottest(10)
	for i := range got {
		// The second of the peak may have ended between two requests.
		if k := &got[i]; k.PeakWrite == 2500 {
			k.PeakWrite = 2502
		}
	}
	want := []telemetry.HotKey{
		{Key: "USER#1", Requests: 3, Throttled: 2, WriteUnits: 2502, PeakWrite: 2502, Shards: 3},
		{Key: "USER#1", Index: "GSI1", Requests: 1, ReadUnits: 6500, PeakRead: 6500, Shards: 3},
		{Key: "USER#2", Requests: 1, WriteUnits: 2, PeakWrite: 2, Shards: 1},
	}
	for i := range want {
		want[i].Hash = telemetry.HashKey(want[i].Key)
	}
	byKey := cmp.Transformer("byKey", func(all []telemetry.HotKey) map[string]telemetry.HotKey {
		m := map[string]telemetry.HotKey{}
		for _, k := range all {
			m[string(k.Key)+" "+k.Index] = k
		}
		return m
	})
	if diff := cmp.Diff(want, got, byKey); diff != "" {
		t.Errorf("hottest (-want +got):\n%s", diff)
	}
	text := s.String()
	if !strings.Contains(text, "hot partition key") || !strings.Contains(text, "USER#1") || strings.Contains(text, "USER#2") {
		t.Errorf("the summary does not name the hot key only:\n%s", text)
	}
	var hidden telemetry.Summary
	hidden.Observe(t.Context(), refused)
	if text := hidden.String(); strings.Contains(text, "USER#1") || !strings.Contains(text, fmt.Sprintf("%016x", telemetry.HashKey("USER#1"))) {
		t.Errorf("the summary shows the key, or not its hash:\n%s", text)
	}
}

// TestHotKeysAreQuoted has keys that would break a table or a terminal.
func TestHotKeysAreQuoted(t *testing.T) {
	t.Parallel()
	s := telemetry.Summary{PlainKeys: true}
	s.Observe(t.Context(), put("A\n\x1b[31m\tB", 5000))
	if text := s.String(); !strings.Contains(text, `"A\n\x1b[31m\tB"`) || strings.Contains(text, "\x1b") {
		t.Errorf("a key is not quoted:\n%q", text)
	}
}

func BenchmarkHotKeys(b *testing.B) {
	var s telemetry.Summary
	events := make([]table.Event, 1000)
	for i := range events {
		events[i] = put(keys.PK(fmt.Sprintf("TENANT#%08d", i)), 1)
		events[i].Capacity = 1
	}
	none := events[0]
	none.Partitions = nil
	ctx := context.Background()
	b.Run("without", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Observe(ctx, none)
		}
	})
	b.Run("with", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			s.Observe(ctx, events[i%len(events)])
		}
	})
}
