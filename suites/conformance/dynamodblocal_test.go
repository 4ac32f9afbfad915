package conformance_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/suites/conformance"
)

func TestStartDynamoDBLocalWithoutJava(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := conformance.StartDynamoDBLocal(t.Context())
	if err == nil || !strings.Contains(err.Error(), "apt-get install openjdk-17-jre-headless") {
		t.Errorf("without Java: %v; want the command that installs it", err)
	}
}
