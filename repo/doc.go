// Package repo stores the entities of an application in a [table.Table].
//
// An [Entity] describes how values of a Go type are stored: a type name, and
// functions from a value to its keys. The Go type needs no methods. [New] makes
// a [Repo] from the description, with Get, Query, Create, Save, Update and
// Delete for values of that type.
//
// An entity can have several items. A payment may have one item under its user,
// for lists, and a copy under its id, to be found by it. Every write changes
// all items in one DynamoDB transaction, so they cannot drift apart. When a
// change alters a key, the old item is deleted in the same transaction. If
// another program has removed a copy, or has written it with another version,
// the next change of the entity restores it. If another program changes a copy
// without its version, that is not noticed: the next change writes only its own
// attributes.
//
// With [Entity].Version, writes are guarded by a revision or a version.
// [Repo.Update] and [Repo.Save] then write only the changes. They keep
// everything that the Go type does not know: attributes, index keys and
// expiries of another release. [Repo.Update] loses no concurrent update of a program
// that writes the version. One that does not, as [table.Update] does not, is not noticed:
// what both change is overwritten. [Repo.Patch] and [Repo.Upsert] set and count without a read.
//
// When T changes, [Entity].Upgrades convert items of earlier releases. Reads
// apply them, and the next write stores the result. [Repo.Refresh] brings one
// entity to its present description, and package backfill does so for all.
//
// A method that stores a version in the value that it is given takes a pointer: Create, Save,
// the forms of these, and the new value of UpdateOps. Every other method takes values.
//
// The same writes exist as ops, which are made of the values that are given and read nothing:
// [Repo.CreateOps], [Repo.UpdateOps], [Repo.PatchOps], [Repo.DeleteOps], and [Repo.PutOps]
// without a Version. One [table.Table.Transact] runs ops of several entities. [Repo.UpdateWith]
// adds ops to an update.
//
// What is read into an interface, such as an any, is what attributevalue makes of it: a
// number is a float64, a set a slice. Written again, a set becomes a list, and a number of
// more than 15 digits may be rounded. All writes of an entity with a Version leave such an
// attribute as it is stored unless it changed; those without one write all that T has. Give
// sets and long numbers fields of their own types.
//
// The name of a stored attribute may differ from a field's in case only. It is read into the
// field if the item has none of the field's own name, and the next write that reads, as Update or
// a backfill, stores it under that name. Writes that read nothing do not see it: Patch, ops, and
// Save without a Version. If the item has both, the other one is another program's, and stays.
//
// An entity can keep numbers in other items, such as how many lines an order has: see [Counter].
//
// For a partition with entities of several types, [Collect] reads a query into
// a slice for each type, and [Stream] reads it in the order of the partition.
package repo
