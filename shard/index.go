package shard

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Index describes a secondary index whose partition is spread over shards, so
// that no single partition takes all writes. It is a plain value, declared once
// and used by writers, for [Index.Key], and by readers, for [New].
type Index struct {
	// Index is the name of the table's index.
	Index string
	// Name is what the partition keys begin with: GLOBAL_TX#12.
	Name keys.Prefix
	// Shards is the number of shards, 1 to 256. They are called 0, 1, 2, …; a
	// single one has no number, and the partition key is the plain Name.
	//
	// To raise it, give the new number to all readers first and to writers
	// after that. To lower it, the other way round, and not before the items of
	// the higher shards are gone.
	Shards int
	// Labels are the names of the shards, for tables whose shards are called
	// otherwise. It takes the place of Shards.
	Labels []string
	// Of returns the label of the shard of an id, for tables that were written
	// by another rule. By default it is the FNV-1a hash of 64 bits of the id,
	// modulo the number of shards. If it returns what is none of Labels, the key
	// is invalid and cannot be written, since no reader would look there.
	Of func(id string) string
	// Ties means that several items may have the same sort key, as when it is a
	// bare timestamp. Readers then read all items of a timestamp before they
	// return the first of them, in the order of their table keys. Without it
	// sort keys must be unique.
	Ties bool
}

// maxShards bounds the requests that one page takes.
const maxShards = 256

// ErrInvalidIndex means that the description of an index, or of a query of it,
// cannot be right. Nothing was sent, except where it takes the items to see that
// [Index].Ties is missing.
var ErrInvalidIndex = fmt.Errorf("invalid sharded index: %w", table.ErrInvalidQuery)

// Validate reports everything that is wrong with the description, as an error
// that matches [ErrInvalidIndex], or nil.
func (x Index) Validate() error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if x.Index == "" {
		bad("Index: is empty")
	}
	nameErr := x.Name.PK().Validate()
	if nameErr != nil {
		bad("Name: %v", nameErr)
	}
	switch n := len(x.Labels); {
	case n > 0 && x.Shards != 0:
		bad("Labels: go without Shards")
	case n == 0 && (x.Shards < 1 || x.Shards > maxShards):
		bad("Shards: %d is not 1 to %d", x.Shards, maxShards)
	case n > maxShards:
		bad("Labels: %d are more than %d", n, maxShards)
	case n == 0 && x.Of != nil && x.Shards != 1:
		bad("Of: goes with Labels, which say what it can return")
	}
	seen := map[string]bool{}
	for i := range min(x.count(), maxShards) {
		label := x.label(i)
		err := x.pk(label).Validate()
		switch {
		case seen[label] || label == "" && x.count() > 1:
			bad("Labels: %q is there twice or empty", label)
		case err != nil && nameErr == nil:
			bad("Labels: %q: %v", label, err)
		}
		seen[label] = true
	}
	if len(problems) > 0 {
		return fmt.Errorf("singletable: %w: %s", ErrInvalidIndex, strings.Join(problems, "; "))
	}
	return nil
}

// count returns the number of shards, 0 or less if the description is not valid.
func (x Index) count() int {
	if len(x.Labels) > 0 {
		return len(x.Labels)
	}
	return x.Shards
}

// label returns the name of the i-th shard.
func (x Index) label(i int) string {
	switch {
	case len(x.Labels) > 0:
		return x.Labels[i]
	case x.Shards == 1:
		return ""
	}
	return strconv.Itoa(i)
}

// Shard returns the label of the shard that an id belongs to: "12" for tx-abc
// of 16. It is the same in every process and version of this package.
func (x Index) Shard(id string) string {
	switch {
	case x.Of != nil:
		return x.Of(id)
	case x.count() < 1:
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return x.label(int(h.Sum64() % uint64(x.count())))
}

// has reports whether readers know the shard.
func (x Index) has(label string) bool {
	for i := range x.count() {
		if x.label(i) == label {
			return true
		}
	}
	return false
}

// Key returns the key of an item in the index: the partition of the shard that
// the id belongs to, and the sort key. Unless the index has Ties, make the sort
// key unique:
//
//	index.Key(tx.ID, keys.None.SK(keys.Time(tx.At), keys.Str(tx.ID)))
//
// For items that are updated after the number of shards was raised, see
// [Index.Stored].
func (x Index) Key(id string, sk keys.SK) keys.Key {
	return x.Stored("", id, sk)
}

// Stored is [Index.Key] for an item that may be in the index already, under the
// partition key stored, so that an update does not move it to another shard when
// their number has changed. An entity gets at it with a field for the index's
// partition key attribute:
//
//	GlobalPK keys.PK `dynamodbav:"GSI1PK,omitempty"`
func (x Index) Stored(stored keys.PK, id string, sk keys.SK) keys.Key {
	if stored == "" {
		label := x.Shard(id)
		stored = x.pk(label)
		if x.Of != nil && !x.has(label) || x.count() < 1 {
			stored = x.Name.PK("") // its empty segment is found before it is sent
		}
	}
	return keys.Key{PK: stored, SK: sk}
}

func (x Index) pk(label string) keys.PK {
	if label == "" {
		return x.Name.PK()
	}
	return x.Name.PK(label)
}
