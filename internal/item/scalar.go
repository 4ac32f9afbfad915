package item

import (
	"strconv"
	"time"
)

// parseInt parses an integer, most of which have few digits, as strconv does.
func parseInt(b []byte) (i int64, ok bool) {
	i, ok = digits(b)
	if ok && len(b) <= 18 {
		return i, true
	}
	i, err := strconv.ParseInt(string(b), 10, 64)
	return i, err == nil
}

// digits returns the number that nothing but digits, up to 18 of them, make.
func digits(b []byte) (i int64, ok bool) {
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		i = i*10 + int64(c)
	}
	return i, len(b) > 0
}

// parseTime parses a time: the text of RFC 3339, or the number of seconds since
// 1970.
func parseTime(k Kind, b []byte) (t time.Time, ok bool) {
	if k == N {
		seconds, ok := parseInt(b)
		return time.Unix(seconds, 0), ok
	}
	if t, ok = parseUTC(b); ok {
		return t, true
	}
	t, err := time.Parse(time.RFC3339, string(b))
	return t, err == nil
}

// parseUTC parses the times that are sent most: 2006-01-02T15:04:05.999999999Z, with
// or without a fraction. It leaves the last days of a month to package time, which
// knows how many there are.
func parseUTC(b []byte) (t time.Time, ok bool) {
	const layout = "2006-01-02T15:04:05"
	n := len(b) - 1
	if n < len(layout) || n > len(layout)+10 || b[n] != 'Z' {
		return time.Time{}, false
	}
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return time.Time{}, false
	}
	year, ok1 := digits(b[:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	hour, ok4 := digits(b[11:13])
	minute, ok5 := digits(b[14:16])
	second, ok6 := digits(b[17:19])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 ||
		month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	nanoseconds := int64(0)
	if n > len(layout) {
		if nanoseconds, ok = digits(b[len(layout)+1 : n]); !ok || b[len(layout)] != '.' {
			return time.Time{}, false
		}
		for range len(layout) + 10 - n {
			nanoseconds *= 10
		}
	}
	return time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second), int(nanoseconds), time.UTC), true
}
