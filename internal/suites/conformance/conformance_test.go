package conformance_test

import (
	"flag"
	"testing"

	"github.com/singletable/singletable/internal/suites/conformance"
	"github.com/singletable/singletable/table/tabletest"
)

var (
	lives   = flag.Int("lives", 0, "how often entities are deleted and re-created; 0 for the default")
	records = flag.Int("records", 0, "about how many records of a stream are written and read; 0 for the default")
)

// dynoxide is where the default engine is less than the service.
var dynoxide = conformance.Capabilities{NoContinuousBackups: true}

func TestDefaultEngine(t *testing.T) {
	h := conformance.Harness{Client: tabletest.Client, Capabilities: dynoxide, Lives: *lives, Records: *records}
	conformance.NoGoroutineIsLeft(t, h)
	conformance.Run(t, h)
}

// TestSDKDecoding shows that nothing depends on who decodes the responses.
func TestSDKDecoding(t *testing.T) {
	conformance.Run(t, conformance.Harness{Client: tabletest.Client, Capabilities: dynoxide, SDKDecoding: true, Records: 1000})
}
