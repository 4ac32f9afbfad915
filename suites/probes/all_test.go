package probes_test

import (
	"slices"
	"testing"

	"github.com/singletable/singletable/table"
)

// all are the probes of every area.
func all() []claims {
	return slices.Concat(numbers(), sets(), sizes(), keyValues(), conditions(), updates(), queries(), operands(), transactions(), tables(), vectors())
}

func TestNumberSizes(t *testing.T) {
	t.Parallel()
	for literal, size := range numberSizes {
		if got := (table.Item{"n": n(literal)}).Size() - len("n"); got != size {
			t.Errorf("%s has %d bytes, DynamoDB counts %d", literal, got, size)
		}
	}
}
