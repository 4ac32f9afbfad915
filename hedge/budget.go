package hedge

import (
	"sync"
	"time"
)

// budget decides which reads are sent a second time: those that are late, if there is a token.
// Reads that succeed earn tokens. A hedge costs one, and so does a request that fails. It is
// safe for concurrent use.
type budget struct {
	mu        sync.Mutex
	latencies map[string]*latencies // by operation
	parts     int                   // of tokens
	stats     Stats
}

const (
	// partsOfToken is the number of requests that earn a token.
	partsOfToken = 20
	maxTokens    = 10
)

// unknown returns latencies of which nothing is known yet.
func unknown() map[string]*latencies {
	all := make(map[string]*latencies, len(reads))
	for _, operation := range reads {
		all[operation] = &latencies{}
	}
	return all
}

// begin counts a read. It returns the time after which it is late, false if that is not known.
func (b *budget) begin(operation string) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Reads++
	return b.latencies[operation].late()
}

// allow takes the token of a hedge. It returns false if none is left.
func (b *budget) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	//mutants:guard a hedge costs a token | TestOutage/later_and_later
	if b.parts < partsOfToken {
		return false
	}
	b.parts -= partsOfToken
	b.stats.Hedges++
	return true
}

// succeeded counts a success, of a hedge or of the first request.
func (b *budget) succeeded(operation string, after time.Duration, hedge bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latencies[operation].add(after)
	b.parts = min(b.parts+1, maxTokens*partsOfToken)
	if hedge {
		b.stats.Won++
	}
}

func (b *budget) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = max(b.parts-partsOfToken, 0)
}
