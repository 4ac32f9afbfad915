package main

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// checkVersion returns an error if the attribute of -version cannot be the version of an item: of
// the stored one, or of a new one. A write that is conditional on another attribute overwrites
// changes of others, and would replace a text by a new revision. A new item without a version
// would have none, and services would read one that they have not written.
func checkVersion(name string, spec schema.Table, stored, given table.Item) error {
	if name == "" || stored == nil && given == nil {
		return nil
	}
	item, missing := stored, "the stored item does not have the attribute of -version"
	if stored == nil {
		item, missing = given, "no item is stored, and the new one does not have the attribute of -version: give it the number 1 if it counts, or any text if it is a revision"
	}
	key := name == spec.PK || name == spec.SK
	key = key || slices.ContainsFunc(spec.Indexes, func(x schema.Index) bool { return hasKey(x, name) })
	switch text, _ := item[name].(*types.AttributeValueMemberS); {
	case key:
		return usageError("the attribute of -version is a key, and no version")
	case item[name] == nil:
		return usageError(missing)
	case !edit.IsVersion(item[name]), text != nil && strings.ContainsFunc(text.Value, notInRevision):
		return usageError("the value of the attribute of -version is neither a revision nor a version")
	}
	return nil
}

// notInRevision reports whether a revision cannot have r. Revisions are drawn: they are
// base32 as of crypto/rand.Text, base64, hexadecimal or UUIDs.
func notInRevision(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_+/=", r)
}
