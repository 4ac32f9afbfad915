package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
)

// Plan says what makes a live table as its schema says. Get one from
// [Table.Plan]. If Changes and Manual are empty, [Table.Verify] succeeds, or returns
// [ErrUnsupported] for what is among Notes.
type Plan struct {
	// Table is the table's name.
	Table string `json:"table"`
	// Changes are what [Table.Ensure] does, in its order. A change that DynamoDB
	// makes already, such as an index that is being created, is among them.
	Changes []Change `json:"changes"`
	// Manual are the differences that a person has to resolve. Ensure changes
	// nothing while there is one.
	Manual []Change `json:"manual"`
	// Notes are what nobody has to resolve: indexes of the live table that the schema does
	// not name, and settings of the schema whose operation this engine does not have. A note
	// of the second kind ends in "(this engine cannot)".
	Notes []Change `json:"notes"`
}

// Change is one difference between a schema and a live table.
type Change struct {
	// Difference is the difference in the words of [Table.Verify].
	Difference string `json:"difference"`
	// Action is what resolves it. If a person has to do it, it says why Ensure
	// does not.
	Action string `json:"action"`
	// WriteUnits is an upper bound of what the change consumes: for an index one
	// unit for each item and each KB of the table. DynamoDB updates its count of
	// items and bytes about every six hours, so the table may have more by now. Zero
	// means nothing, or that DynamoDB has not counted yet; Action says which. AWS:
	// TableDescription, Amazon DynamoDB API Reference.
	WriteUnits int64 `json:"writeUnits,omitzero"`
}

// String returns the change in one line.
func (c Change) String() string { return c.Difference + "; " + c.Action }

// Plan compares the schema with the live table and says what resolves each
// difference. It changes nothing. Nothing in a plan drops an index, an item or a
// record of a stream.
//
// A table has at most 20 global indexes, unless AWS has raised the quota of the
// account. Plan cannot see the quota. The action of an index beyond 20 says that it
// needs a higher one; [Table.Ensure] tries, and returns DynamoDB's refusal.
//
// Errors:
//   - [keys.ErrInvalid], before any request.
//   - [*Error] with the SDK's error, if a request fails.
//
// AWS: "Quotas in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func (t Table) Plan(ctx context.Context, client Client) (Plan, error) {
	all, err := t.inspect(ctx, client, "Plan")
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Table: t.Name, Changes: []Change{}, Manual: []Change{}, Notes: []Change{}}
	for _, d := range inOrder(all) {
		switch d.kind {
		case byEnsure:
			p.Changes = append(p.Changes, d.Change)
		case byHand:
			p.Manual = append(p.Manual, d.Change)
		case noted, unsupported:
			p.Notes = append(p.Notes, d.Change)
		}
	}
	return p, nil
}

// Verify compares the schema with the live table: key attributes and their
// types, indexes, their projections, TTL and, where the schema sets them, the
// stream's view, the billing mode, deletion protection and point-in-time
// recovery. A table that is being created or deleted, is archived, or has an
// inaccessible encryption key is a difference. So is an index that is being created,
// filled or deleted: queries of it fail. Indexes that the schema does not name are
// not a difference. Neither are throughput, table class and tags, which operators
// change at any time. [Table.Plan] says what resolves each difference.
//
// Errors:
//   - [keys.ErrInvalid], before any request.
//   - [ErrMismatch], as a [*Error] that lists every difference.
//   - [ErrUnsupported], as a [*Error] that lists them, if the only differences are
//     settings whose operation this engine does not have. One that it refuses or ignores is
//     ErrMismatch: only [Table.Ensure] finds that out.
//   - [*Error] with the SDK's error, if a request fails.
func (t Table) Verify(ctx context.Context, client Client) error {
	all, err := t.inspect(ctx, client, "Verify")
	if err != nil {
		return err
	}
	return mismatch(t.Name, all)
}

// missingTable is [ErrMismatch] with the SDK's error, whose long text says no more than the
// difference that is listed.
type missingTable struct{ reported error }

func (missingTable) Error() string { return ErrMismatch.Error() }

func (m missingTable) Unwrap() []error { return []error{ErrMismatch, m.reported} }

// mismatch returns the error that lists the differences, nil if there are none.
func mismatch(name string, all []difference) error {
	err := ErrMismatch
	if !slices.ContainsFunc(all, difference.open) {
		err = errUnsupported
	}
	var problems []string
	for _, d := range all {
		if d.kind == noted {
			continue
		}
		if d.missing != nil {
			err = missingTable{d.missing}
		}
		problems = append(problems, d.Difference)
	}
	return listed(name, err, problems)
}

// inspect returns the differences for an operation that changes nothing.
func (t Table) inspect(ctx context.Context, client Client, op string) ([]difference, error) {
	i, err := t.inspector(client, op)
	if err != nil {
		return nil, err
	}
	all, err := i.look(ctx)
	if err != nil {
		return nil, &Error{Op: op, Table: t.Name, Err: err}
	}
	return all, nil
}

// Client is the part of the DynamoDB API that [Table.Ensure], [Table.Plan] and
// [Table.Verify] use. A *[dynamodb.Client] satisfies it. A running service needs none of
// these permissions.
type Client interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error)
}

// missing reports whether client is nil, also when the nil is inside a
// *dynamodb.Client.
func missing(client Client) bool {
	sdk, ok := client.(*dynamodb.Client)
	return client == nil || ok && sdk == nil
}

// difference is a [Change], and how Ensure makes it.
type difference struct {
	Change
	kind kind
	// index is the name of the index that it is about.
	index string
	// missing is the SDK's error if the table does not exist.
	missing error
	// beyond means that the table would have more global indexes than it can have by
	// default.
	beyond bool
	// request makes the change. It is nil if DynamoDB makes it already.
	request func(context.Context) error
	// update means that the request is an UpdateTable, of which DynamoDB accepts
	// one at a time. AWS: UpdateTable, Amazon DynamoDB API Reference.
	update bool
}

// kind says who resolves a difference.
type kind int

const (
	byEnsure kind = iota
	byHand
	noted
	unsupported // nobody: the engine does not have it
)

// open reports whether somebody has to resolve the difference.
func (d difference) open() bool { return d.kind == byEnsure || d.kind == byHand }

// beyondEngine returns the difference as one that the engine cannot resolve.
func (d difference) beyondEngine() difference {
	d.kind, d.request = unsupported, nil
	d.Difference += " (this engine cannot)"
	d.Action = "leave it on this engine: DynamoDB has it"
	return d
}

// unknownOperation reports whether an engine does not have the operation.
func unknownOperation(err error) bool {
	api, _ := response.Of(err)
	return api != nil && api.ErrorCode() == "UnknownOperationException"
}

// inOrder returns the differences in the order in which Ensure resolves them:
// indexes take hours, and come last.
func inOrder(all []difference) []difference {
	var indexes, others []difference
	for _, d := range all {
		if d.index != "" {
			indexes = append(indexes, d)
		} else {
			others = append(others, d)
		}
	}
	return append(others, indexes...)
}

// inspector compares a schema with a live table.
type inspector struct {
	schema Table
	client Client
	want   *dynamodb.CreateTableInput // of the schema

	// have is the table as the last look has seen it; nil if it was missing.
	have *types.TableDescription
	// ttl and recovery mean that an earlier look has found no difference there. TTL
	// and backups have requests of their own, which are not repeated for hours while
	// an index is built.
	ttl, recovery bool
	// plain means that the engine refuses a table with indexes of the recent kinds.
	plain bool
}

// inspector returns the inspector of an operation whose input is valid.
func (t Table) inspector(client Client, op string) (inspector, error) {
	want, err := t.CreateTableInput()
	if err == nil && missing(client) {
		err = &Error{Op: op, Table: t.Name, Err: errNoClient}
	}
	return inspector{schema: t, client: client, want: want}, err
}

// look returns the differences between the schema and the live table.
func (i *inspector) look(ctx context.Context) ([]difference, error) {
	have, err := liveTable(ctx, i.client, i.want.TableName)
	if gone := (*types.ResourceNotFoundException)(nil); errors.As(err, &gone) {
		i.have, i.ttl, i.recovery = nil, false, false
		return []difference{{
			Change:  Change{Difference: "the table does not exist", Action: underQuota(len(i.want.GlobalSecondaryIndexes), "create it")},
			missing: err, request: i.create,
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	i.have = have
	if d, ok := unusable(have.TableStatus); ok { // Other requests can fail.
		return []difference{d}, nil
	}
	all := append(i.layoutDifferences(), i.settingsDifferences()...)
	ttl, err := i.ttlDifferences(ctx)
	if err != nil {
		return nil, err
	}
	recovery, err := i.recoveryDifferences(ctx)
	return slices.Concat(all, ttl, recovery), err
}

// unusable returns the difference of a table that cannot be read and written for
// its status.
func unusable(status types.TableStatus) (difference, bool) {
	var action string
	by := byHand
	switch status {
	case types.TableStatusCreating:
		by, action = byEnsure, "wait until it is ACTIVE"
	case types.TableStatusDeleting:
		by, action = byEnsure, "wait until it is gone, and create it"
	case types.TableStatusArchiving, types.TableStatusArchived:
		action = "restore it from its backup: only a person can tell whether it was meant to be archived"
	case types.TableStatusInaccessibleEncryptionCredentials:
		action = "give DynamoDB access to the encryption key again: that is a permission in AWS KMS"
	default:
		return difference{}, false
	}
	return differs("", by, action, "the table is %s", status), true
}

// liveTable describes the table.
func liveTable(ctx context.Context, client Client, name *string) (*types.TableDescription, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name}, response.Limit)
	if err != nil {
		return nil, err
	}
	if out.Table == nil {
		return nil, errors.New("the response describes no table")
	}
	return out.Table, nil
}

// ttlDifferences compares the TTL attribute.
func (i *inspector) ttlDifferences(ctx context.Context) ([]difference, error) {
	if i.ttl {
		return nil, nil
	}
	live, want := "", i.schema.TTLAttribute
	out, err := i.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: i.want.TableName}, response.Limit)
	if unknownOperation(err) {
		if i.ttl = want == ""; i.ttl {
			return nil, nil
		}
		return []difference{i.ttlDifference(live).beyondEngine()}, nil
	}
	if err != nil {
		return nil, err
	}
	switch d := out.TimeToLiveDescription; {
	case d == nil:
		return nil, errors.New("the response does not describe the TTL")
	case d.TimeToLiveStatus == types.TimeToLiveStatusEnabled, d.TimeToLiveStatus == types.TimeToLiveStatusEnabling:
		live = aws.ToString(d.AttributeName)
	}
	d := i.ttlDifference(live)
	switch {
	case live == want:
		i.ttl = true
		return nil, nil
	case live == "":
		d.kind, d.Action, d.request = byEnsure, "turn it on", i.turnTTLOn
	case want == "":
		d.Action = "name the attribute in the schema, or turn TTL off: items would stay for ever"
	default:
		d.Action = "turn TTL off, and let Ensure turn it on, which DynamoDB allows about an hour later: " +
			"items that only have the former attribute would stay for ever"
	}
	return []difference{d}, nil
}

// ttlDifference is the difference of a table whose TTL attribute is live.
func (i *inspector) ttlDifference(live string) difference {
	return differs("", byHand, "", "TTL: is %s, the schema wants %s", orNone(live), orNone(i.schema.TTLAttribute))
}

// recoveryDifferences compares point-in-time recovery.
func (i *inspector) recoveryDifferences(ctx context.Context) ([]difference, error) {
	if i.recovery || !i.schema.PointInTimeRecovery {
		return nil, nil
	}
	off := difference{
		Change:  Change{Difference: "PointInTimeRecovery: is off, the schema wants it on", Action: "turn it on"},
		request: i.turnRecoveryOn,
	}
	out, err := i.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: i.want.TableName}, response.Limit)
	if unknownOperation(err) {
		return []difference{off.beyondEngine()}, nil
	}
	if err != nil {
		return nil, err
	}
	if out.ContinuousBackupsDescription == nil {
		return nil, errors.New("the response does not describe the backups")
	}
	live := out.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	if i.recovery = live != nil && live.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled; i.recovery {
		return nil, nil
	}
	return []difference{off}, nil
}

func orNone(attribute string) string {
	if attribute == "" {
		return "off"
	}
	return fmt.Sprintf("on %q", attribute)
}
