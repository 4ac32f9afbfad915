// Package migrate moves entities from tables of their own into the single table
// while the application goes on reading and writing them.
//
// # Phases
//
// An application that is migrating writes through [Records], which do what the
// phase asks for:
//
//   - [Old]: the old table has everything.
//   - [Dual]: the old table is the truth; each write is copied to the single
//     table after it. The backfill copies what nobody writes.
//   - [Switching]: the old table is frozen and the single table is the truth. An
//     entity is caught up from the old table when it is asked for, while the
//     last verification catches up all others.
//   - [New]: the old table is not looked at any more.
//
// # Why nothing is lost
//
// The phase is stored in the old table, in fence items. A write to the old table
// is a transaction with a check that the fence still has the phase that the
// writer believes in; if not, the writer looks again. So after a fence has moved
// on, no write of the phase before can arrive, and nobody has to stop for it. An
// id belongs to one of several fences, so that the check is not a hot spot, and
// each fence may move at its own time.
//
// # Why nothing goes back
//
// Every write of an entity counts its version up. A copy, whoever makes it, is
// stored on the condition that the single table has no version at least as new,
// so copies may be late, repeated and out of order. A deletion leaves a mark in
// the single table, first of all, and copies check that there is no mark, so
// nothing deleted comes back. For that, ids must not be used again, as those
// drawn at random are not; and what the keys are made of must not change.
//
// # What a crash leaves
//
// A writer that ends between the old table and the copy leaves the single table
// behind, until the backfill, a verification or the next write of the entity
// catches up. One that ends between the mark and the old table leaves a deletion
// half done, which a verification completes. The backfill stores its progress
// after each page and goes on from there.
//
// # Scans
//
// The old tables are read to the end by package backfill. That is what a scan is for: a
// migration reads everything, once. "No Scan" is a rule for the access patterns of the
// application, and the single table is never scanned, not here either.
package migrate
