package tabletest

import (
	"errors"
)

// TableName is tableName, for its test.
var TableName = tableName

// HowTo returns the text of the error on a platform.
func HowTo(goos, goarch string) string {
	return noEngine(packageFor(goos, goarch), errors.New("reason")).Error()
}
