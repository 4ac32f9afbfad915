// Command benchmarks measures the figures of the documentation: see docs/performance.md
// and docs/network.md. Its subcommands are what takes a program of its own:
//
//	go run ./suites/benchmarks coldstart
//
// Its tests have benchmarks of what singletable costs next to the code that it
// saves writing: the AWS SDK with attributevalue, and github.com/guregu/dynamo.
//
// BenchmarkJob does each job with each library, in one run:
//
//   - Get reads one item of eleven attributes, 550 bytes.
//   - Query reads a page of 100 such items, newest first, of a partition that
//     holds more, and learns where the next page begins.
//   - Create stores an item and its copy, if both are new, in one transaction.
//   - Update reads an item consistently and changes one field, provided that the
//     item still has the revision that was read.
//   - UpdateBoth does so for an item with a copy, in one transaction.
//   - CreateOps creates 100 items in one transaction.
//   - TransactPut stores three items in one transaction, without a condition.
//   - Transact creates an item and its copy, and takes from the number in another
//     item on a condition, in one transaction.
//
// Each write but the one that takes from a number draws a revision for the item.
//
// sdk is the SDK with expressions written by hand, the cheapest way there is and
// the one that ratios refer to. sdk-maps makes items of records and records of items by
// hand, so that is what the SDK costs without attributevalue. singletable is package
// repo, the layer that the README recommends.
//
// All libraries share the SDK's client and the Go type that items become. With
// on=stub the client's HTTP transport returns from memory what the engine responded
// to the first request of each kind. That leaves the CPU time and the memory of the
// client's side. With on=engine a local engine responds; it is another process, so
// that the wall time is the latency and the CPU time is still the client's.
//
// cpu-ns/op is the CPU time of the whole process, the garbage collector's
// included, on whichever core it ran.
//
// StreamEvent has Router.Handle of package stream decode a Lambda event of 100 changes,
// old and new images of a kilobyte each, next to aws-lambda-go with attributevalue.
// StreamReader has a Reader read 1,000 changes from the engine. Neither is in the table.
//
// Middleware has the same jobs with middleware of which the table does not know that it
// changes nothing.
//
// Run them with make bench, which writes the table in docs/performance.md. It
// runs all of them several times over. With -count, every repetition of one
// library would run before those of the next, and passing noise would look like
// a difference.
package main
