package repo

import (
	"fmt"
	"strings"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Entity describes how values of a Go type are stored in a table. The type
// itself needs only the struct tags of the SDK's attributevalue package.
//
// T is a struct or a map. Type and Key are required. The functions must depend on
// their argument only; they are called from several goroutines at once.
type Entity[T any] struct {
	// Type is written to the type attribute of each item, and compared when items
	// are read.
	Type string

	// Key gives the key of the entity's item.
	Key func(T) keys.Key
	// Indexes returns that item's keys in indexes. An index whose keys have several
	// attributes ([table.Index].PKs) is not among them: an entity is in it if T has
	// a field for each of the attributes, of its type, and none is empty. An empty
	// field is left out of the item. Such an entity has no Copies, as they would be
	// in the index too.
	Indexes Indexes[T]

	// Copies are further items that hold the whole entity under other keys.
	// Every write of the entity writes them too, in one transaction. A copy
	// under a key made of an attribute, such as EMAIL#ana@example.com, makes the
	// attribute unique: a second entity with it is [table.ErrExists].
	Copies []Copy[T]

	// Version is the name of the attribute that guards the writes of an entity. A
	// write expects the value that the entity was read with, and stores another
	// one; a write of a stale value is [table.ErrStale]. Empty means no guard: the
	// last write wins, and there can be no Copies.
	//
	// If T's field for it is a string, it is a revision: drawn at random for each
	// write and never repeated. So it identifies one state of one life of the
	// entity, even if the entity is deleted and re-created. It can serve as an HTTP
	// ETag. Prefer it.
	//
	// If the field is an integer, it is a version, which counts the writes. The
	// first version of an entity is drawn at random below 2^52, so that an entity
	// that is re-created does not meet the versions of the former one.
	//
	// If the attribute of a stored item is missing, NULL or empty, the first write
	// expects that and sets it. An attribute of another type than the field is
	// [table.ErrInvalid].
	//
	// In a struct, the field is a plain string or integer, and not behind a pointer.
	Version string
	// VersionFromOne makes the first version 1. Then a stale writer can mistake a
	// re-created entity with the same version for the one that it has read, and
	// overwrite it, or remove the unique value of a copy. Use it only for entities
	// whose ids are never used again.
	VersionFromOne bool

	// Upgrades convert items that earlier releases have stored. The first one
	// brings an item from OldestShape to the next shape, and so on: the current
	// shape is OldestShape plus the number of Upgrades. To change T, append an
	// upgrade. An entity with upgrades needs a Version.
	//
	// Reads of the entity apply them; the next write that changes the entity stores
	// the result, under its guard. [Repo.RefreshOps] and package backfill store it
	// in all items. No write lowers the shape of an item.
	Upgrades []Upgrade
	// OldestShape is the shape of the oldest stored items; at first 0. Raise it,
	// and delete the upgrades before it, after a backfill has verified that there
	// are no older items. An older item is then [ErrOlderShape]. A table's stream
	// has older images for a day more.
	OldestShape int
	// FormerKeys return the keys of the main item in earlier releases. RefreshOps
	// moves such an item, or deletes it if an item is stored under the present key.
	// FormerCopies return the keys of copies in earlier releases. RefreshOps
	// deletes these copies. Reads do not look under these keys.
	FormerKeys, FormerCopies []func(T) keys.Key
}

// Copy is one more item in which an entity is stored.
type Copy[T any] struct {
	// Name is the copy's name in errors, after the entity's type: "USER by email".
	// The default is "copy 1" and so on.
	Name string
	// Key gives the key of the item. The zero key leaves the copy out, as for a
	// unique attribute that an entity does not have.
	Key func(T) keys.Key
	// Indexes returns this item's keys in indexes.
	Indexes Indexes[T]
}

// Indexes gives the keys of an item in indexes, by the name of the index. A
// zero key leaves the item out of the index. Each index belongs to one
// item of an entity, or a query of it would return the entity twice.
type Indexes[T any] map[string]func(T) keys.Key

// errInvalidEntity means that the description of an entity is invalid, or does
// not allow the operation. Nothing was sent.
var errInvalidEntity = fmt.Errorf("%w entity", table.ErrInvalid)

// ErrOrphan means that the item under a key is of the right type, and that its
// entity has no such copy: the main item is missing, or gives another key. So
// there is no entity under the key, and it matches [table.ErrNotFound] too. The
// item stays as it is; [table.Delete] removes it.
var ErrOrphan = fmt.Errorf("item is a copy that its entity does not have: %w", table.ErrNotFound)

// EntityError lists what is wrong with the description of an entity. It matches
// [table.ErrInvalid].
type EntityError struct {
	// Type is the entity's.
	Type     string
	Problems []string
}

// Error lists all problems in one line.
func (e *EntityError) Error() string {
	return fmt.Sprintf("singletable: %v %q: %s", errInvalidEntity, e.Type, strings.Join(e.Problems, "; "))
}

// Unwrap returns [table.ErrInvalid].
func (e *EntityError) Unwrap() error { return errInvalidEntity }
