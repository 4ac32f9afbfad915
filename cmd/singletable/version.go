package main

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/schema"
)

// checkVersion returns an error if the attribute of -version cannot be the version of the
// stored item. A write that is conditional on another attribute overwrites changes of
// others, and would replace a text by a new revision.
func checkVersion(name string, spec schema.Table, plan edit.Plan) error {
	if name == "" || plan.Old == nil {
		return nil
	}
	key := name == spec.PK || name == spec.SK
	key = key || slices.ContainsFunc(spec.Indexes, func(x schema.Index) bool { return hasKey(x, name) })
	switch text, _ := plan.Old[name].(*types.AttributeValueMemberS); {
	case key:
		return usageError("the attribute of -version is a key, and no version")
	case plan.Old[name] == nil:
		return usageError("the stored item does not have the attribute of -version")
	case plan.Guard != edit.ByVersion, text != nil && strings.ContainsFunc(text.Value, notInRevision):
		return usageError("the value of the attribute of -version is neither a revision nor a version")
	}
	return nil
}

// notInRevision reports whether a revision cannot have r. Revisions are drawn: they are
// base32 as of crypto/rand.Text, base64, hexadecimal or UUIDs.
func notInRevision(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_+/=", r)
}
