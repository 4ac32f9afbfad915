// Package conformance holds the behaviour that the library promises, as tests
// that run on any DynamoDB engine. An engine that differs from the service says
// so in its [Capabilities]; the tests adapt and are never skipped.
//
// The requests are replayed from the first one on. With the flag -replay=false, the SDK's client
// makes every call.
package conformance

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/suites/internal/warm"
)

// Harness is an engine to run the suite on.
type Harness struct {
	// Client returns a new client of the engine.
	Client func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client
	// Tables makes the tables whose requests are replayed from the first one on; nil for tables
	// that replay what they send themselves often enough.
	Tables *warm.Tables
	// TablePrefix begins the name of every table of the suite; empty by default.
	TablePrefix string
	// Capabilities say where the engine is less than the service.
	Capabilities Capabilities
	// Rewritten means that the clients have middleware that may encrypt, so that errors
	// of transactions hold no items: see "Values" in the documentation of package table.
	Rewritten bool
	// Records is about how many records of a stream are written and read; 2,000 by
	// default, fewer with a Lag.
	Records int

	// prompt is Client, without the wait after writes.
	prompt newClient
}

// Capabilities are the ways in which an engine is less than the service. The
// zero value is an engine that behaves as AWS does, and whose reads all show what
// was written before.
type Capabilities struct {
	// WrongTransactionCapacity means that the consumed capacity which the engine
	// reports for transactions cannot be relied on.
	WrongTransactionCapacity bool
	// NoContinuousBackups means that the engine does not know the requests about
	// them, and so has no point-in-time recovery.
	NoContinuousBackups bool
	// NoMultiKeys means that the engine has no indexes whose keys have several
	// attributes.
	NoMultiKeys bool
	// Lag bounds how long global indexes and eventually consistent reads may
	// take to show a write. The suite reads what it has just written, so each of
	// its writes then waits until these reads show it, and fails the test after
	// that time. Zero means that they show it at once, as on local engines; AWS
	// promises no bound, and usually takes less than a second. AWS: "Using Global
	// Secondary Indexes in DynamoDB", Amazon DynamoDB Developer Guide.
	Lag time.Duration
}

// tests are behaviours by name.
type tests map[string]func(*testing.T, Harness)

// Run runs the suite as subtests of t, in parallel.
func Run(t *testing.T, h Harness) {
	h.prompt = h.Client
	if h.Capabilities.Lag > 0 {
		h.Client = settling(h.Client, h.Capabilities.Lag)
		h.Rewritten = true // its middleware may be anything to a table
	}
	groups := map[string]tests{
		"Schema":      schemaTests(),
		"Plan":        planTests(),
		"Get":         getTests(),
		"TransactGet": transactGetTests(),
		"BatchGet":    batchGetTests(),
		"Create":      createTests(),
		"Write":       writeTests(),
		"Value":       valueTests(),
		"UpdateValue": updateTests(),
		"Expression":  expressionTests(),
		"Version":     versionTests(),
		"Outcome":     outcomeTests(),
		"Transact":    transactTests(),
		"Counter":     counterTests(),
		"BatchWrite":  batchWriteTests(),
		"Query":       queryTests(),
		"Page":        pageTests(),
		"Count":       countTests(),
		"MultiKey":    multiKeyTests(),
		"Project":     projectTests(),
		"DeleteAll":   deleteAllTests(),
		"Foreign":     foreignTests(),
		"Filter":      filterTests(),
		"Cursor":      cursorTests(),
		"Sparse":      sparseTests(),
		"Observe":     observeTests(),
		"Rows":        rowTests(),
		"Repo":        repoTests(),
		"Release":     releaseTests(),
		"Adoption":    adoptionTests(),
		"Shape":       shapeTests(),
		"Backfill":    backfillTests(),
		"Life":        lifeTests(),
		"Returning":   returningTests(),
		"Idempotency": idempotencyTests(),
		"Names":       nameTests(),
		"Shard":       shardTests(),
		"Stream":      streamTests(),
	}
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, h)
				})
			}
		})
	}
}
