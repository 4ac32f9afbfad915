package tabletest

import (
	"errors"
	"testing"
)

// EndpointVariable is endpointVariable, and ErrNoEngine errNoEngine.
const EndpointVariable = endpointVariable

var ErrNoEngine = errNoEngine

// TableName is tableName, for its test.
var TableName = tableName

// Explored is Explore, and returns what it logs and its failure. reduce is whether
// it leaves out orders with the same result.
func Explored(t *testing.T, c Case, reduce bool) (report string, err error) {
	t.Helper()
	return explore(t, c, reduce)
}

// HowTo returns the text of the error on a platform.
func HowTo(goos, goarch string) string {
	return noEngine(packages[goos+"/"+goarch], errors.New("reason")).Error()
}
