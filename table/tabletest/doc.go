// Package tabletest runs code that uses DynamoDB against a real engine on this
// machine, and breaks its requests on purpose.
//
// # Tables
//
// A test asks for a table and gets an empty one of its own, on an engine that
// all tests of the process share. There is nothing to set up, nothing to clean
// up, and tests may run in parallel:
//
//	func TestPlaceOrder(t *testing.T) {
//		t.Parallel()
//		tbl := tabletest.New(t, orders.Schema, nil)
//		store := orders.NewStore(tbl)
//		// …
//	}
//
// Without an engine the test fails, and the failure says how to get one.
// [Client] is for code that is on the SDK alone. A program or an Example, which
// has no [testing.TB], uses [Start].
//
// # The engine
//
// The first of these is used:
//
//  1. What the environment variable AWS_ENDPOINT_URL_DYNAMODB names, whatever it
//     is: DynamoDB Local, another engine, or AWS itself with an account for
//     tests. Nothing is started then. If nothing responds there, the error names
//     the variable and the address.
//  2. The program dynoxide on PATH.
//  3. The copy of dynoxide in the user's cache directory ([os.UserCacheDir]),
//     under singletable.
//  4. On linux/amd64, dynoxide from npm, which is installed into the cache once,
//     with a line on standard error saying so.
//
// The version is pinned, and the copy in the cache is compared with a pinned
// sha256 before each start: a copy that differs is never run, and is installed
// again. A program on PATH is the user's own choice and is not compared.
//
// An engine that was started listens on this machine only, on a free port of a
// random address of 127.0.0.0/8, or on the port of 127.0.0.1 that [Options] names.
// It accepts any credentials: other programs and users of the machine, and web
// pages in a browser on it that find the engine, can read and change its data.
// Give it test data only. SECURITY.md says what is known of the pinned version.
//
// The engine keeps its data in memory, or in the file of [Options], which only its
// owner can read on Unix. On Unix it ends with the process that started it, also
// when that process panics or is killed. So it does on 64-bit Windows, by code
// that is compiled but was never run. On other platforms it ends by [Engine.Close]
// only. It does not end by Ctrl-C in the terminal, so a program can finish its
// requests first.
//
// # Faults
//
// A local engine is never busy, never in conflict and never out of reach. So a
// test does not show how a program handles that. [Faults] is between the SDK's
// client and the engine. It records every request, and applies faults to the
// next requests of an operation:
//
//	var faults tabletest.Faults
//	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), orders.Schema, nil)
//
//	// The first attempt is committed, but its response is lost.
//	faults.Next("TransactWriteItems", tabletest.DropResponse())
//
// A [Fault] is a function. The faults of this package differ in what has
// happened to the request when the caller sees the error:
//
//	                                   not executed     executed
//	the connection breaks              DropRequest()    DropResponse()
//	… in the middle of the response                     Truncate()
//	an unreadable response                              Corrupt()
//	a damaged response                                  BadChecksum()
//	an error response                  Status(…)        After(Status(…))
//	throttled                          Throttle()       After(Throttle())
//	a cancelled transaction            CancelTransaction(…)
//	no response until the context ends Block(nil)       After(Block(nil))
//	a part of a batch is left over     Unprocessed(n)
//
// For a process that dies between two requests, let three requests pass before
// everything fails:
//
//	faults.Next("", nil, nil, nil)
//	faults.Always("", tabletest.DropRequest())
//
// Tests of such faults often need a client without the SDK's own retries: set
// o.Retryer = aws.NopRetryer{}.
//
// # Schedules
//
// [Explore] runs concurrent operations under every order of their requests, and
// with every fault at every request, on a real engine. An example is two
// requests for the last seat of a show, and a lost response: it finds that two
// handlers can both read one free seat. The guide docs/testing.md of this repository
// has this test.
//
// A failure prints a schedule: the requests in their order, as A for the next one
// of the first operation, and their faults. [Case].Replay runs it again.
//
//	A            the request is executed, and its response arrives
//	A-  A+       the connection breaks before or after the execution
//	A~  a1       the connection breaks, the request is executed at a1 at last
//	A.500- A.500+
//	             a response 500, before or after the execution
//	A.conflict   the request meets another transaction
//	A.throttle   the request is throttled
//	A.cancel     the context ends after the execution
//	A.truncate   the response ends too early
//	A/2          the second of the requests that A sends concurrently
//	once         in front: the client does not retry
//
// Without a violation, an invariant is tested, not proved: the engine is not
// AWS, there are at most two faults, and the operations are few. A bound that
// is "not all" was only sampled.
//
// # Golden requests
//
// Requests show what results do not, such as a query that has become a scan.
// [Transcript] makes a text of the requests that [Faults] has recorded, to
// compare with a file:
//
//	got := tabletest.Transcript(faults.Requests(), strings.NewReplacer(tbl.Schema().Name, "Orders"))
//	want, err := os.ReadFile("testdata/placeorder.json")
//	// …
//	if diff := cmp.Diff(string(want), got); diff != "" {
//		t.Errorf("requests (-want +got):\n%s", diff)
//	}
//
// # Continuous integration
//
// A runner needs Go and npm, and no container: the first test installs the
// engine. Keeping the directory singletable of the user's cache directory, which
// is ~/.cache/singletable on Linux, from one run to the next saves the download.
//
// The tests of several packages are several processes, each with an engine of its
// own on a port of its own. On an empty cache they may install it all at the same
// time; each puts the same program into place in one step.
//
// The directory examples/ledger of this repository is a small package with such
// tests, and a workflow for GitHub Actions to copy.
//
// # Caveats
//
// A local engine is not AWS. It is consistent at once, also its indexes, and counts
// capacity in its own way. It keeps expired items for ever, as the pinned dynoxide does, or
// deletes them within seconds by the time of day, as DynamoDB Local does. Do not rely on
// the behavior of one engine, such as the order of index items with equal keys
// or the wording of errors.
//
// DynamoDB Local needs -sharedDb if clients differ in region or credentials. New fails on an
// engine that cannot have what the schema says, such as a vector index: see
// [schema.ErrUnsupported].
//
// A scan with segments skips items of the pinned dynoxide if the item at its position was
// deleted since. So a job that deletes or moves items can leave some, and finds them when
// it is run again.
//
// With an engine that the variable names, tables are left behind by a test that
// is killed. Their names begin with the test's.
//
// The engine that [New] and [Client] share is never closed. On a platform where an
// engine ends by [Engine.Close] only, which is neither Unix nor 64-bit Windows, it
// outlives the tests: name a running engine by the variable instead.
//
// On Unix, /bin/sh watches the processes. A container without it can only use
// an engine that runs already.
package tabletest
