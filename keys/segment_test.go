package keys_test

import (
	"math"
	"testing"
	"time"

	"github.com/singletable/singletable/keys"
)

func TestTime(t *testing.T) {
	t.Parallel()
	kathmandu := time.FixedZone("+0545", 5*3600+45*60)
	tests := map[string]struct {
		time time.Time
		want string
	}{
		"UTC":                  {at, "2024-01-15T10:05:00.000Z"},
		"zone":                 {at.In(kathmandu), "2024-01-15T10:05:00.000Z"},
		"zone on another day":  {time.Date(2024, 3, 1, 0, 30, 0, 0, kathmandu), "2024-02-29T18:45:00.000Z"},
		"one nanosecond":       {at.Add(1), "2024-01-15T10:05:00.000Z"},
		"just below":           {at.Add(time.Millisecond - 1), "2024-01-15T10:05:00.000Z"},
		"one millisecond":      {at.Add(time.Millisecond), "2024-01-15T10:05:00.001Z"},
		"cut before 1970":      {time.Unix(-1, 999_999_999), "1969-12-31T23:59:59.999Z"},
		"cut downward":         {time.Unix(0, -1), "1969-12-31T23:59:59.999Z"},
		"zero":                 {time.Time{}, "0001-01-01T00:00:00.000Z"},
		"first year":           {time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "0000-01-01T00:00:00.000Z"},
		"last year":            {time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "9999-12-31T23:59:59.999Z"},
		"year 10000 elsewhere": {time.Date(10000, 1, 1, 0, 0, 0, 0, kathmandu), "9999-12-31T18:15:00.000Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := keys.Time(tt.time).String(); got != tt.want {
				t.Errorf("Time(%v) = %q, want %q", tt.time, got, tt.want)
			}
		})
	}
}

func TestTimeOutsideTheYears(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("-0800", -8*3600)
	tests := map[string]time.Time{
		"year -1":              time.Date(-1, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		"year 10000":           time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		"year 10000 in UTC":    time.Date(9999, 12, 31, 20, 0, 0, 0, west),
		"far past":             time.Unix(math.MinInt32*100_000, 0),
		"far future":           time.Unix(math.MaxInt32*100_000, 0),
		"greatest second":      time.Unix(math.MaxInt64, 0),
		"least second":         time.Unix(math.MinInt64, 0),
		"milliseconds as unit": time.Unix(time.Now().UnixMilli(), 0),
	}
	for name, tm := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const want = "time with a year outside 0000 to 9999"
			for _, invalid := range []interface{ Validate() error }{
				keys.Tx.SK(keys.Time(tm), keys.Str("tx-abc")),
				keys.Prefix("DAY").PK(keys.Time(tm).String()),
				keys.Tx.Since(tm), keys.Tx.Until(tm), keys.None.Since(tm), keys.None.Until(tm),
				keys.Tx.Between(tm, at), keys.Tx.Between(at, tm), keys.Tx.Between(tm, tm),
			} {
				if got := rule(t, invalid.Validate()); got != want {
					t.Errorf("Validate() of %q names rule %q, want %q", invalid, got, want)
				}
			}
		})
	}
}

type (
	shard    uint8
	sequence int64
)

func TestInt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		got  keys.Segment
		want string
	}{
		"int":           {keys.Int(42, 6), "000042"},
		"int8":          {keys.Int(int8(math.MaxInt8), 3), "127"},
		"int16":         {keys.Int(int16(math.MaxInt16), 5), "32767"},
		"int32":         {keys.Int(int32(math.MaxInt32), 10), "2147483647"},
		"int64":         {keys.Int(int64(math.MaxInt64), 19), "9223372036854775807"},
		"uint":          {keys.Int(uint(7), 1), "7"},
		"uint8":         {keys.Int(uint8(math.MaxUint8), 4), "0255"},
		"uint16":        {keys.Int(uint16(math.MaxUint16), 5), "65535"},
		"uint32":        {keys.Int(uint32(math.MaxUint32), 10), "4294967295"},
		"uint64":        {keys.Int(uint64(math.MaxUint64), 20), "18446744073709551615"},
		"uintptr":       {keys.Int(uintptr(9), 2), "09"},
		"named":         {keys.Int(shard(5), 2), "05"},
		"named, signed": {keys.Int(sequence(5), 20), "00000000000000000005"},
		"zero":          {keys.Int(0, 1), "0"},
		"zero, padded":  {keys.Int(0, 20), "00000000000000000000"},
		"just fits":     {keys.Int(999, 3), "999"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.got.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if err := keys.Tx.SK(tt.got).Validate(); err != nil {
				t.Errorf("Validate() = %v", err)
			}
		})
	}
}

func TestIntThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const (
		negative = "negative number"
		tooWide  = "number wider than its segment"
		width    = "number with a width outside 1 to 20"
	)
	tests := map[string]struct {
		segment keys.Segment
		want    string
	}{
		"negative":           {keys.Int(-1, 5), negative},
		"least int8":         {keys.Int(int8(math.MinInt8), 20), negative},
		"least int64":        {keys.Int(int64(math.MinInt64), 20), negative},
		"one digit too many": {keys.Int(1000, 3), tooWide},
		"max uint64 in 19":   {keys.Int(uint64(math.MaxUint64), 19), tooWide},
		"width 0":            {keys.Int(1, 0), width},
		"negative width":     {keys.Int(1, -1), width},
		"width 21":           {keys.Int(1, 21), width},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, invalid := range []interface{ Validate() error }{
				keys.Tx.SK(tt.segment),
				keys.Tx.SK(keys.Time(at), tt.segment, keys.Str("x")),
				keys.Tx.PK(tt.segment.String()),
				keys.Exactly(keys.Tx.SK(tt.segment)),
				keys.Tx.All(tt.segment),
				keys.Tx.Since(at, tt.segment),
			} {
				if got := rule(t, invalid.Validate()); got != tt.want {
					t.Errorf("Validate() of %q names rule %q, want %q", invalid, got, tt.want)
				}
			}
		})
	}
}
