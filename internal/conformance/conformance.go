// Package conformance holds the behaviour that the library promises, as tests
// that run on any DynamoDB engine. An engine that differs from the service says
// so in its [Capabilities]; the tests adapt and are never skipped.
package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Harness is an engine to run the suite on.
type Harness struct {
	// Client returns a new client of the engine.
	Client func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client
	// Capabilities say where the engine is less than the service.
	Capabilities Capabilities
	// SDKDecoding is that of [table.Options].
	SDKDecoding bool
}

// Capabilities are the ways in which an engine is less than the service. The
// zero value is an engine that behaves as AWS does.
type Capabilities struct {
	// MaxTransaction is how many items a transaction may touch; 100 if zero.
	MaxTransaction int
	// NoEmptyStrings means that attributes which are no keys cannot be empty.
	NoEmptyStrings bool
	// WrongTransactionCapacity means that the consumed capacity which the engine
	// reports for transactions cannot be relied on.
	WrongTransactionCapacity bool
}

// tests are behaviours by name.
type tests map[string]func(*testing.T, Harness)

// Run runs the suite as subtests of t, in parallel.
func Run(t *testing.T, h Harness) {
	groups := map[string]tests{
		"Schema":      schemaTests(),
		"Get":         getTests(),
		"TransactGet": transactGetTests(),
		"BatchGet":    batchGetTests(),
		"Create":      createTests(),
		"Write":       writeTests(),
		"Version":     versionTests(),
		"Outcome":     outcomeTests(),
		"Update":      updateOutcomeTests(),
		"Context":     contextTests(),
		"Transact":    transactTests(),
		"Retry":       retryTests(),
		"BatchWrite":  batchWriteTests(),
		"Query":       queryTests(),
		"Range":       rangeTests(),
		"Page":        pageTests(),
		"Filter":      filterTests(),
		"Cursor":      cursorTests(),
		"Sealed":      sealedTests(),
		"All":         allTests(),
		"Observe":     observeTests(),
		"Scan":        scanTests(),
		"Repo":        repoTests(),
		"Idempotency": idempotencyTests(),
		"Shard":       shardTests(),
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
