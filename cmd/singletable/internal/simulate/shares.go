package simulate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// shares says which share of the requests each key has, from the most asked for on.
type shares struct {
	count    float64
	exponent float64 // of a zipf distribution; 0 is uniform
	sum      float64
	first    float64 // of one key with a share of its own
	// measured are those of the hottest keys, and rest is that of each other key.
	measured []float64
	rest     float64
}

func newShares(k Keys) (shares, error) {
	kind, text, _ := strings.Cut(k.Distribution, ":")
	number, err := strconv.ParseFloat(text, 64)
	s := shares{count: float64(k.Count)}
	switch {
	case len(k.Shares) > 0:
		return measuredShares(k)
	case kind == uniform && text == "":
		return s, nil
	case kind == "zipf" && err == nil && number > 0 && number <= 4:
		s.exponent = number
		s.sum = harmonic(s.count, number)
		return s, nil
	case kind == "one" && err == nil && number >= 1/s.count && number <= 1 && (s.count > 1 || number == 1):
		s.first = number
		return s, nil
	}
	return s, fmt.Errorf("%q is not uniform, zipf:EXPONENT of at most 4, or one:SHARE of at least that of an even load", k.Distribution)
}

// measuredShares returns those of the hottest keys as they were measured.
func measuredShares(k Keys) (shares, error) {
	s := shares{count: float64(k.Count), measured: k.Shares}
	n, sum, last := float64(len(k.Shares)), 0.0, 1.0
	for _, share := range k.Shares {
		if !(share > 0 && share <= last) {
			return s, errors.New("shares must be above 0, at most 1, and descend")
		}
		sum, last = sum+share, share
	}
	const most = 1 + 1e-6 // they may have been rounded
	switch {
	case k.Distribution != uniform && k.Distribution != "":
		return s, fmt.Errorf("%q has no place next to shares", k.Distribution)
	case n > maxHot || n > s.count:
		return s, fmt.Errorf("there are %d shares, and at most %d, and the count of keys, have a place", len(k.Shares), maxHot)
	case sum > most || n == s.count && sum < 0.99:
		return s, fmt.Errorf("the shares come to %g", sum)
	}
	if n < s.count {
		s.rest = max(0, 1-sum) / (s.count - n)
	}
	if s.rest > last*most {
		return s, fmt.Errorf("each other key has a share of %g, more than a hottest one", s.rest)
	}
	return s, nil
}

// of returns the share of the nth key, from 0.
func (s shares) of(n int) float64 {
	switch {
	case float64(n) >= s.count:
		return 0
	case n < len(s.measured):
		return s.measured[n]
	case len(s.measured) > 0:
		return s.rest
	case s.exponent > 0:
		return math.Pow(float64(n+1), -s.exponent) / s.sum
	case s.first > 0 && n == 0:
		return s.first
	case s.first > 0:
		return (1 - s.first) / (s.count - 1)
	}
	return 1 / s.count
}

// even reports whether all keys have the same share.
func (s shares) even() bool { return s.exponent == 0 && s.first == 0 && len(s.measured) == 0 }

// harmonic returns the sum of n to the power of -s from 1 to count. Behind the first terms it
// is an integral, by the formula of Euler and Maclaurin.
func harmonic(count, s float64) float64 {
	const exact = 10_000
	sum := 0.0
	for n := 1.0; n <= min(count, exact); n++ {
		sum += math.Pow(n, -s)
	}
	if count <= exact {
		return sum
	}
	integral := math.Log(count / exact)
	if s != 1 {
		integral = (math.Pow(count, 1-s) - math.Pow(exact, 1-s)) / (1 - s)
	}
	return sum + integral + (math.Pow(count, -s)-math.Pow(exact, -s))/2
}
