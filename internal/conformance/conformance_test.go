package conformance_test

import (
	"testing"

	"github.com/singletable/singletable/internal/conformance"
	"github.com/singletable/singletable/table/tabletest"
)

func TestDefaultEngine(t *testing.T) {
	h := conformance.Harness{Client: tabletest.Client}
	conformance.NoGoroutineIsLeft(t, h)
	conformance.Run(t, h)
}

// TestSDKDecoding shows that nothing depends on who decodes the responses.
func TestSDKDecoding(t *testing.T) {
	conformance.Run(t, conformance.Harness{Client: tabletest.Client, SDKDecoding: true})
}
