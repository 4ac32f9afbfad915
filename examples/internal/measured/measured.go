// Package measured compares the load of a system with what its patterns consume. The load is
// a file for the command singletable simulate, which computes the units of a pattern from its
// requests. This package measures them.
package measured

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Patterns are the patterns of a load, by their names. A function runs its pattern once. Only
// its requests with the context are measured.
type Patterns map[string]func(context.Context) error

// Load runs the patterns of a load in the order of the file. It fails the test unless each
// consumes the units that the file has as measured.
func Load(t *testing.T, file string, patterns Patterns) {
	t.Helper()
	var load struct {
		Patterns []struct {
			Name     string
			Measured units
		}
	}
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile(file))(t), &load))
	for _, p := range load.Patterns {
		run, ok := patterns[p.Name]
		if !ok {
			t.Errorf("%s: %q is not measured", file, p.Name)
			continue
		}
		var got meter
		if err := run(table.WithObserver(t.Context(), got.add)); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		check.Equal(t, "measured of "+p.Name, got.units, p.Measured)
	}
	check.Equal(t, "number of patterns", len(load.Patterns), len(patterns))
}

// Handle gives an event of a stream to a consumer.
func Handle(ctx context.Context, router *stream.Router, event json.RawMessage) error {
	response, err := router.Handle(ctx, event)
	return errors.Join(err, response.Err)
}

type units struct {
	Read, Write float64
}

// meter adds up the units of requests, which can be concurrent.
type meter struct {
	sync.Mutex
	units
}

func (m *meter) add(_ context.Context, e table.Event) {
	m.Lock()
	defer m.Unlock()
	switch e.Operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		m.Read += e.Capacity
	default:
		m.Write += e.Capacity
	}
}
