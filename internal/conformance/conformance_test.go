package conformance_test

import (
	"testing"

	"github.com/singletable/singletable/internal/conformance"
	"github.com/singletable/singletable/table/tabletest"
)

// dynoxide is where the default engine is less than the service.
var dynoxide = conformance.Capabilities{NoContinuousBackups: true}

func TestDefaultEngine(t *testing.T) {
	h := conformance.Harness{Client: tabletest.Client, Capabilities: dynoxide}
	conformance.NoGoroutineIsLeft(t, h)
	conformance.Run(t, h)
}

// TestSDKDecoding shows that nothing depends on who decodes the responses.
func TestSDKDecoding(t *testing.T) {
	conformance.Run(t, conformance.Harness{Client: tabletest.Client, Capabilities: dynoxide, SDKDecoding: true})
}
