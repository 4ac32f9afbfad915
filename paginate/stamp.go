package paginate

import "time"

// Sort keys of a single table mostly carry a timestamp of fixed width, and a
// position on an index often carries it twice. Its 24 bytes fit in six, which
// is what keeps a cursor short enough for a URL.
const (
	stampLayout = "2006-01-02T15:04:05.000Z"
	stampSize   = len(stampLayout)
	millisSize  = 6 // 48 bits of milliseconds since 1970 reach beyond year 9999.
)

// findStamp finds the first timestamp in s that six bytes can hold. Only text
// that formats back to itself counts, so packing never alters a key.
func findStamp(s string) (at int, millis int64, ok bool) {
	for at = 0; at+stampSize <= len(s); at++ {
		text := s[at : at+stampSize]
		// The cheap test first: Parse allocates when it fails.
		if text[4] != '-' || text[10] != 'T' || text[19] != '.' || text[23] != 'Z' {
			continue
		}
		t, err := time.Parse(time.RFC3339, text) // Takes fractions, and has a fast path.
		if err != nil || t.UnixMilli() < 0 {
			continue
		}
		var buf [2 * stampSize]byte // Formatting needs room beyond its result.
		if string(t.AppendFormat(buf[:0], stampLayout)) == text {
			return at, t.UnixMilli(), true
		}
	}
	return 0, 0, false
}

// insertStamp returns data with the timestamp at index at.
func insertStamp(data []byte, at int, millis int64) string {
	buf := make([]byte, 0, 128) // Enough for most keys without the heap.
	buf = append(buf, data[:at]...)
	buf = time.UnixMilli(millis).UTC().AppendFormat(buf, stampLayout)
	buf = append(buf, data[at:]...)
	return string(buf)
}

// appendMillis appends the low 48 bits of ms, big-endian.
func appendMillis(b []byte, ms int64) []byte {
	return append(b, byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8), byte(ms))
}

// readMillis reads what appendMillis wrote.
func readMillis(b []byte) int64 {
	var ms int64
	for _, x := range b[:millisSize] {
		ms = ms<<8 | int64(x)
	}
	return ms
}
