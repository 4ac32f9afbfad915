package telemetry

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/singletable/singletable/keys"
)

// HotKey is a partition key that many requests were for. A partition of DynamoDB
// takes 3,000 read units and 1,000 write units a second; a key that needs more has
// to be spread, as package shard does. AWS: "Best practices for designing and using
// partition keys effectively in DynamoDB" and "DynamoDB burst and adaptive
// capacity", Amazon DynamoDB Developer Guide.
type HotKey struct {
	// Index is the index that was read; empty for the table.
	Index string
	// Hash is the FNV-1a hash of the key, see [HashKey]. Key is the key itself if
	// [Summary].PlainKeys is set, and empty otherwise.
	Hash uint64
	Key  keys.PK
	// Requests is how many requests were for the key, and Throttled how many of
	// their attempts DynamoDB refused for lack of capacity. Requests may be too
	// high by at most Over, which is 0 for a key that is really hot.
	Requests, Throttled, Over int
	// ReadUnits and WriteUnits are what they consumed.
	ReadUnits, WriteUnits float64
	// PeakRead and PeakWrite are the most units in one second.
	PeakRead, PeakWrite float64
	// Shards is the number of partition keys that the peak needs, 1 if one key
	// takes it. Units that were refused are not in it, so take more for a key that
	// was throttled. It is that of this process: multiply it by the number of
	// processes that share the load.
	Shards int
}

// HashKey returns the hash by which a [HotKey] names a partition key: 64-bit
// FNV-1a. Who knows the candidates for a key can find it by its hash, so a hash
// hides a key from the eye and not from an attacker.
func HashKey(key keys.PK) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // it never fails
	return h.Sum64()
}

// The size of a sketch, 40 KB. A key with a hundredth of the requests stays in it.
const (
	sketchRows  = 128
	sketchWidth = 4
)

// What one partition takes in a second.
const (
	partitionReads  = 3000
	partitionWrites = 1000
)

// sketch counts requests by partition key in fixed memory. Each row counts the
// keys that fall into it with the Space-Saving algorithm: a new key takes over the
// counter with the least requests.
//
// A. Metwally, D. Agrawal, A. El Abbadi: "Efficient Computation of Frequent and
// Top-k Elements in Data Streams", ICDT 2005.
type sketch [sketchRows][sketchWidth]counter

type counter struct {
	hash        uint64 // of key and index
	index       string
	key         keys.PK
	keyHash     uint64
	requests    int32
	throttled   int32
	over        int32
	read        float64
	write       float64
	second      int64 // the latest one, with what it has so far
	secondRead  float32
	secondWrite float32
	peakRead    float32
	peakWrite   float32
}

// use is what one request did to one partition.
type use struct {
	index       string
	key         keys.PK
	throttled   int
	read, write float64
}

// add counts a request. plain keeps the key itself.
func (s *sketch) add(u use, at time.Time, plain bool) {
	keyHash := HashKey(u.key)
	hash := keyHash ^ HashKey(keys.PK(u.index))*31
	row := &s[hash%sketchRows]
	c := &row[0]
	for i := range row {
		if row[i].hash == hash && row[i].requests > 0 {
			c = &row[i]
			break
		}
		if row[i].requests < c.requests {
			c = &row[i]
		}
	}
	if c.hash != hash || c.requests == 0 {
		*c = counter{hash: hash, index: u.index, keyHash: keyHash, requests: c.requests, over: c.requests}
		if plain {
			c.key = u.key
		}
	}
	c.requests = min(c.requests, math.MaxInt32-1) + 1
	c.throttled += int32(u.throttled)
	c.read += u.read
	c.write += u.write
	if second := at.Unix(); second != c.second {
		c.second, c.secondRead, c.secondWrite = second, 0, 0
	}
	c.secondRead += float32(u.read)
	c.secondWrite += float32(u.write)
	c.peakRead, c.peakWrite = max(c.peakRead, c.secondRead), max(c.peakWrite, c.secondWrite)
}

// hottest returns the n keys with the most requests, the hottest first.
func (s *sketch) hottest(n int) []HotKey {
	var all []HotKey
	for i := range s {
		for _, c := range s[i] {
			if c.requests > 0 {
				all = append(all, c.hotKey())
			}
		}
	}
	slices.SortFunc(all, func(a, b HotKey) int {
		return cmp.Or(cmp.Compare(b.Requests-b.Over, a.Requests-a.Over), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Index, b.Index))
	})
	return all[:min(n, len(all))]
}

func (c counter) hotKey() HotKey {
	shards := math.Ceil(max(float64(c.peakRead)/partitionReads, float64(c.peakWrite)/partitionWrites))
	return HotKey{
		Index: c.index, Hash: c.keyHash, Key: c.key,
		Requests: int(c.requests), Throttled: int(c.throttled), Over: int(c.over),
		ReadUnits: c.read, WriteUnits: c.write,
		PeakRead: float64(c.peakRead), PeakWrite: float64(c.peakWrite),
		Shards: max(1, int(shards)),
	}
}
