package keys_test

import (
	"math"
	"testing"

	"github.com/singletable/singletable/keys"
)

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
