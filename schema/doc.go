// Package schema says what one Amazon DynamoDB table looks like, and brings a live table
// there.
//
// A [Table] is a value, declared once: the name, the key attributes, the indexes, the
// attributes for an item's type and expiry, and how the table is operated. It has one
// JSON form, for files.
//
//	var payments = schema.Table{
//		Name:         "Payments",
//		TTLAttribute: "expiresAt",
//		Indexes:      []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
//	}
//
// [Table.Plan] lists what a live table lacks, and what each change takes. [Table.Ensure]
// makes those changes, and creates the table. [Table.Verify] fails if there is a
// difference. They need permissions that a running service does not: run them at a
// deployment, and give the service package table alone.
//
// SECURITY.md has the IAM actions of each.
//
// # Errors
//
// All are an [*Error]. Invalid input matches [keys.ErrInvalid] and is refused before a
// request is sent, a difference matches [ErrMismatch], and the SDK's own error is
// reachable with [errors.As]. Classify of package table says what to retry.
package schema
