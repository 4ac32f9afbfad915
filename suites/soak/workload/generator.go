package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
)

// The prefixes of the soak's keys.
const (
	ownPrefix  keys.Prefix = "OWN"
	itemPrefix keys.Prefix = "ITEM"
	notePrefix keys.Prefix = "NOTE"
	listPrefix keys.Prefix = "LIST"
)

const (
	partitions = 4
	// perPartition is how many keys a worker has in each partition.
	perPartition = 24
)

// names are identifiers of clients, some of which mean no good.
var names = []string{"a", "b-2", "ITEM#x", "50%", "ünï", "a#b", "Z", "~"}

// partition returns a partition key of the worker's own. The last one is such as
// other programs write, with empty segments.
func (w *worker) partition(p int) keys.PK {
	if p == partitions-1 {
		return ownPrefix.PK(strconv.Itoa(w.id)) + "##user#"
	}
	return ownPrefix.PK(strconv.Itoa(w.id), names[p])
}

// key returns one of the worker's own keys.
func (w *worker) key(p, i int) keys.Key {
	var sk keys.SK
	name := names[i%len(names)]
	switch i % 4 {
	case 3: // of another program
		sk = keys.SK([]string{"#METADATA#", "A##", "$note_"}[i/4%3] + name + strings.Repeat("#", i%2) + strconv.Itoa(i))
	case 0:
		sk = itemPrefix.SK(keys.Time(epoch.Add(time.Duration(i/2)*time.Second)), keys.Str(name))
	case 1:
		sk = notePrefix.SK(keys.Int(i, 3), keys.Str(name))
	default:
		sk = notePrefix.SK(keys.Str(name), keys.Int(i, 3))
	}
	return keys.Key{PK: w.partition(p), SK: sk}
}

// foreign reports whether a key has the form of another program's.
func foreign(key keys.Key) bool {
	sk := string(key.SK)
	return strings.HasSuffix(string(key.PK), "##user#") ||
		strings.HasPrefix(sk, "#") || strings.HasPrefix(sk, "A##") || strings.HasPrefix(sk, "$")
}

// anyKey draws one of the worker's own keys.
func (w *worker) anyKey() keys.Key { return w.key(w.r.IntN(partitions), w.r.IntN(perPartition)) }

// anyKeys draws n different ones of them.
func (w *worker) anyKeys(n int) []keys.Key {
	ks := make([]keys.Key, 0, n)
	for _, i := range w.r.Perm(partitions * perPartition)[:min(n, partitions*perPartition)] {
		ks = append(ks, w.key(i/perPartition, i%perPartition))
	}
	return ks
}

// allKeys returns all keys that the worker has ever written to.
func (w *worker) allKeys() []keys.Key {
	var ks []keys.Key
	for p := range partitions {
		for i := range perPartition {
			ks = append(ks, w.key(p, i))
		}
	}
	for k := range w.model {
		ks = append(ks, k)
	}
	return unique(ks)
}

func unique(ks []keys.Key) []keys.Key {
	seen := make(map[keys.Key]bool, len(ks))
	out := ks[:0:0]
	for _, k := range ks {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// leap is what clocks jump and times to live are multiples of, so that a clock
// often shows the very second of an expiry.
const leap = 10 * time.Minute

// colors are what filters look for.
var colors = []string{"red", "green", "blue"}

// listPK is the worker's own partition of the list index.
func (w *worker) listPK() keys.PK { return listPrefix.PK(strconv.Itoa(w.id)) }

// shards is the worker's own sharded index, of 1 to 5 shards. Those of odd
// workers have bare timestamps, so that sort keys are shared.
func (w *worker) shards() spread {
	return spread{prefix: fmt.Sprintf("S%d", w.id), shards: 1 + w.id%5, ties: w.id%2 == 1}
}

// doc draws a value for a key.
func (w *worker) doc(key keys.Key) doc {
	d := doc{
		PK: key.PK, SK: key.SK, Type: "DOC", By: w.by,
		N: 1 + w.r.Int64N(5), Version: 1 + w.r.Int64N(3), Color: colors[w.r.IntN(len(colors))],
	}
	id := string(key.PK) + string(key.SK)
	at := epoch.Add(time.Duration(w.r.IntN(9)) * time.Minute)
	sk := keys.None.SK(keys.Time(at))
	unique := keys.None.SK(keys.Time(at), keys.Str(id))
	if foreign(key) {
		unique = sk + "##" + keys.SK(id)
	}
	if w.r.IntN(3) == 0 {
		d.Expires = w.clock.seconds() + int64(leap/time.Second)*(w.r.Int64N(12)-3)
	}
	if w.r.IntN(2) == 0 {
		d.ListPK, d.ListSK = w.listPK(), unique
	}
	if w.r.IntN(3) > 0 {
		if !w.shards().ties {
			sk = unique
		}
		w.shards().put(&d, id, sk)
	}
	if w.r.IntN(20) == 0 {
		d.Pad = strings.Repeat("x", 1+w.r.IntN(40_000))
	}
	return d
}
