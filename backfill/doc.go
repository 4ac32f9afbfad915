// Package backfill changes the items of a live table. It walks the table while
// programs read and write it, and brings every item of an entity to the
// entity's present description.
//
//	job := backfill.Job{Name: "2026-11 currency index", Table: tbl, Entities: []backfill.Entity{orders, users}}
//	report, err := job.DryRun(ctx) // counts and prices, and writes nothing
//	report, err = job.Run(ctx)
//	report, err = job.DryRun(ctx) // verifies: report.Complete()
//
// [repo.Repo.RefreshOps] determines what an item lacks: upgrades of its shape,
// index keys, copies, a version. Complete items are read and not written.
//
// With Source and Map, a job copies the items of another table, of any layout.
//
// # What it promises
//
// Writers win: every write is guarded by the version of the item that was read, or
// by its attributes. An item that changes in between is read again.
//
// Nothing is lost. Some items cannot be changed, because they do not decode, or
// because another entity has the key of their copy. Such an item stays as it
// is, and is set aside: another item in the table names it and the reason. See
// [SetAside].
//
// It continues: the table is walked in segments. Each has an item in the table
// that holds its checkpoint, and a lease. A killed job continues there, and
// several processes share the segments. Repeated work has no effect: the second
// time there is nothing to write.
//
// It is complete when a [Job.DryRun] after it finds nothing to do. That is a proof
// only if no program writes items of a former description any more: deploy the new
// program everywhere first.
//
// # Unique values of other programs
//
// [Job.CheckUnique] reports where entities of a shared table and the items that keep their
// values unique do not agree. It writes nothing.
//
// # Costs
//
// Reading costs one read unit for 4 KB, since items are read consistently. Each
// copy of an entity adds two more such reads: the main item is compared with
// the copy, and the copy with the main item. Writing an item costs a write unit
// for each KB, and twice that for an entity with copies, plus what indexes
// cost. [Job].ReadUnits and [Job].WriteUnits bound both per second.
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
//
// # Without a scan
//
// A [Transfer] changes a table on its way to a new one, between an export to S3 and an
// import. It consumes no read or write units, and the programs that write have to stop
// for it.
//
// AWS: "Scanning tables in DynamoDB", "DynamoDB data import from Amazon S3: how it works"
// and "DynamoDB data export to Amazon S3: how it works", Amazon DynamoDB Developer Guide.
package backfill
