package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// maxClients bounds the clients that a [Limiter] remembers, and so its memory.
const maxClients = 10_000

// Limits is how much each client may ask of one process.
type Limits struct {
	// PerSecond is how many requests a second a client may send on average. Zero
	// means no limit.
	PerSecond float64
	// Burst is how many requests it may send at once. It is at least 1 if there is a
	// limit.
	Burst int
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Limiter limits the requests of each client with a token bucket. It counts the
// requests of its process only. It is safe for concurrent use; nil limits nothing.
//
// A Limiter remembers the 10,000 clients that were seen last. A client that it has
// forgotten starts with a full bucket.
type Limiter struct {
	limits  Limits
	buckets *lru.Cache[string, *rate.Limiter]
}

// NewLimiter returns a limiter, nil if the limits are zero. It returns an error if
// they are invalid.
func NewLimiter(limits Limits) (*Limiter, error) {
	switch {
	case math.IsNaN(limits.PerSecond), math.IsInf(limits.PerSecond, 0), limits.PerSecond < 0:
		return nil, fmt.Errorf("the requests per second of a client must be a number from 0: %v", limits.PerSecond)
	case limits.PerSecond == 0:
		return nil, nil
	case limits.Burst < 1:
		return nil, errors.New("the burst of a client must be at least 1")
	}
	if limits.Now == nil {
		limits.Now = time.Now
	}
	buckets, err := lru.New[string, *rate.Limiter](maxClients)
	if err != nil {
		return nil, err
	}
	return &Limiter{limits: limits, buckets: buckets}, nil
}

// Check counts a request of a client. If it is over the limit, Check sets the
// Retry-After of the response and returns a [rest.Failure] with status 429.
func (l *Limiter) Check(w http.ResponseWriter, client string) error {
	if l == nil {
		return nil
	}
	now, bucket := l.limits.Now(), l.bucket(client)
	if bucket.AllowN(now, 1) {
		return nil
	}
	missing := 1 - bucket.TokensAt(now)
	// A client that comes back a moment early would be refused again.
	seconds := max(1, math.Ceil(missing/l.limits.PerSecond))
	w.Header().Set("Retry-After", strconv.FormatFloat(seconds, 'f', 0, 64))
	return errTooMany
}

func (l *Limiter) bucket(client string) *rate.Limiter {
	if bucket, found := l.buckets.Get(client); found {
		return bucket
	}
	bucket := rate.NewLimiter(rate.Limit(l.limits.PerSecond), l.limits.Burst)
	// Of two first requests at once, both count in one bucket.
	if first, found, _ := l.buckets.PeekOrAdd(client, bucket); found {
		return first
	}
	return bucket
}
