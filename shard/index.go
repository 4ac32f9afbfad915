package shard

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Index describes a secondary index that is spread over several partitions, its
// shards, so that no single partition takes all writes. It is a plain value,
// declared once. Writers use [Index.Key], readers use [New].
type Index struct {
	// Index is the name of the table's index.
	Index string
	// Prefix is the beginning of all partition keys, such as GLOBAL_TX.
	Prefix keys.Prefix
	// Shards is the number of shards, 1 to 256. Shard 0 has the partition key
	// Prefix, the others have Prefix#1, Prefix#2 and so on: 16 shards are
	// GLOBAL_TX and GLOBAL_TX#1 to GLOBAL_TX#15. So an index of one partition
	// grows without losing sight of its items; see the package documentation.
	Shards int
	// Suffixes is the list of shards where partition keys have another form, as
	// in a table of another program. It replaces Shards. The partition key of
	// shard i is Prefix followed by Suffixes[i], unchanged:
	//
	//	"#0", "#1", "#2"    GLOBAL_TX#0, GLOBAL_TX#1, GLOBAL_TX#2
	//	"_1", "_2", "_3"    GLOBAL_TX_1, GLOBAL_TX_2, GLOBAL_TX_3
	//	"", "#0", "#1"      GLOBAL_TX, GLOBAL_TX#0, GLOBAL_TX#1
	//
	// Without a Prefix, suffixes are whole partition keys. A suffix without a
	// separator is refused, since "0" is more likely a mistake for "#0" than
	// meant as GLOBAL_TX0. Append new suffixes at the end.
	Suffixes []string
	// ShardFunc returns the number of the shard of an id, for tables whose other
	// writers use a rule of their own. With Suffixes, it is an index into them.
	// A number that no shard has makes the key invalid, so the item cannot be
	// written where no reader looks. By default the number is a hash of the id.
	ShardFunc func(id string) int
	// NonUniqueSortKeys means that different items may have the same sort key,
	// as when it is a bare timestamp. Readers then read all items of a sort key
	// before they return the first of them. They return these in the order of
	// their table keys or, with [Options].Dedupe, of their identities.
	//
	// By default sort keys must be unique. A reader that meets equal ones fails
	// with [table.ErrInvalid], since it could lose one of them between pages.
	NonUniqueSortKeys bool
}

// maxShards bounds the requests that one page takes.
const maxShards = 256

// errInvalidIndex means that the description of an index, or of a query of it,
// is not valid. No request was sent, except where equal sort keys show that
// [Index].NonUniqueSortKeys is missing.
var errInvalidIndex = fmt.Errorf("%w sharded index", table.ErrInvalid)

// Validate reports all problems of the description in one error, which matches
// [table.ErrInvalid]. It returns nil if there are none.
func (x Index) Validate() error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if x.Index == "" {
		bad("Index: is empty")
	}
	n := len(x.Suffixes)
	switch {
	case n > 0 && x.Shards != 0:
		bad("Suffixes: do not go together with Shards")
	case n > maxShards:
		bad("Suffixes: %d are more than %d", n, maxShards)
	case n == 0 && (x.Shards < 1 || x.Shards > maxShards):
		bad("Shards: %d is not 1 to %d", x.Shards, maxShards)
	}
	prefixErr := x.Prefix.PK().Validate()
	if prefixErr != nil && (x.Prefix != keys.None || n == 0) {
		bad("Prefix: %v", prefixErr)
		return x.invalid(problems)
	}
	seen := map[keys.PK]bool{}
	for i := range min(x.count(), maxShards) {
		pk := x.pk(i)
		switch err := pk.Validate(); {
		case err != nil && n == 0:
			bad("Shards: %d: %v", i, err)
		case err != nil:
			bad("Suffixes: %d: %v", i, err)
		case seen[pk]:
			bad("Suffixes: %d: is in the list twice", i)
		case n > 0 && glued(x.Prefix.PK(), x.Suffixes[i]):
			bad("Suffixes: %d: no separator from the Prefix; put it first, or list whole partition keys without a Prefix", i)
		}
		seen[pk] = true
	}
	return x.invalid(problems)
}

func (x Index) invalid(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("singletable: %w: %s", errInvalidIndex, strings.Join(problems, "; "))
}

// glued reports whether nothing separates a suffix from the prefix: one ends and
// the other begins with a letter or digit.
func glued(prefix keys.PK, suffix string) bool {
	alphanumeric := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	last, _ := utf8.DecodeLastRuneInString(string(prefix))
	first, _ := utf8.DecodeRuneInString(suffix)
	return alphanumeric(last) && alphanumeric(first)
}

// count returns the number of shards, 0 or less if the description is not valid.
func (x Index) count() int {
	if len(x.Suffixes) > 0 {
		return len(x.Suffixes)
	}
	return x.Shards
}

// pk returns the partition key of the i-th shard.
func (x Index) pk(i int) keys.PK {
	switch {
	case len(x.Suffixes) > 0:
		return x.Prefix.PK() + keys.PK(x.Suffixes[i])
	case i == 0:
		return x.Prefix.PK()
	}
	return x.Prefix.PK(strconv.Itoa(i))
}

// Shard returns the number of the shard that an id belongs to, counted from 0.
// By default this is the 64-bit FNV-1a hash of the id, finalized as in
// MurmurHash3, modulo the number of shards. It is the same in every process and
// in every version of this package.
//
// It is -1 if there are no shards, and any number if ShardFunc returns one.
func (x Index) Shard(id string) int {
	switch n := x.count(); {
	case n < 1:
		return -1
	case x.ShardFunc != nil:
		return x.ShardFunc(id)
	default:
		return int(hash(id) % uint64(n))
	}
}

// hash spreads ids evenly also over a number of shards that is a power of two.
// FNV-1a alone does not: its low bits depend on the low bits of each byte only,
// so ids that hold one number twice, such as u-7/o-7, would fill half of the
// shards.
func hash(id string) uint64 {
	fnv1a := fnv.New64a()
	_, _ = fnv1a.Write([]byte(id)) // it never fails
	h := fnv1a.Sum64()
	// The finalizer of MurmurHash3, fmix64.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Key returns the key of an item in the index: the partition key of the id's
// shard, and the sort key. Make the sort key unique unless the index has
// NonUniqueSortKeys:
//
//	index.Key(tx.ID, keys.None.SK(keys.Time(tx.At), keys.Str(tx.ID)))
//
// For items that are updated after the number of shards has changed, see
// [Index.KeyAt].
func (x Index) Key(id string, sk keys.SK) keys.Key {
	return x.KeyAt("", id, sk)
}

// KeyAt returns the key of an item that may be in the index already, under the
// partition key stored. It keeps a partition key of this index, so an update does
// not move the item to another shard after the number of shards has changed.
// Otherwise it is [Index.Key]: if stored is empty, or the partition key of another
// access pattern in the same index of the table, where no reader of this one looks.
//
// A partition key is of this index if it is the Prefix, or the Prefix, # and a number of
// 1 to 255, without zeros before it: that of a shard, now or with more shards. With
// Suffixes it must be that of one of them. So a program that does not know a suffix yet
// moves an item from there to a shard that it knows, where every reader finds it.
//
// KeyAt cannot tell another access pattern whose partition keys have this form, such as
// a pattern with the same Prefix and numbers for ids. Give each pattern its own Prefix.
//
// An entity gets the stored key from a field for the index's partition key
// attribute:
//
//	GlobalPK keys.PK `dynamodbav:"GSI1PK,omitempty"`
func (x Index) KeyAt(stored keys.PK, id string, sk keys.SK) keys.Key {
	if !x.owns(stored) {
		stored = x.Prefix.PK("") // an invalid key, which is refused before it is sent
		if i := x.Shard(id); i >= 0 && i < x.count() {
			stored = x.pk(i)
		}
	}
	return keys.Key{PK: stored, SK: sk}
}

// owns reports whether a stored partition key is one of this index's, of any
// number of shards.
func (x Index) owns(stored keys.PK) bool {
	suffix, ok := strings.CutPrefix(string(stored), string(x.Prefix.PK()))
	switch {
	case !ok || stored == "":
		return false
	case len(x.Suffixes) > 0:
		return slices.Contains(x.Suffixes, suffix)
	case suffix == "":
		return true
	}
	number, ok := strings.CutPrefix(suffix, "#")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n > 0 && n < maxShards && number == strconv.Itoa(n)
}
