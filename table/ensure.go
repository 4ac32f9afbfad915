package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// creationTime bounds the wait for a new table, and then for its backups, when
// the context has no deadline. On AWS a table takes 5 to 60 seconds.
const creationTime = 5 * time.Minute

// The pauses between polls of a table that is not active yet grow from the first
// to the second.
const (
	minTablePause = 20 * time.Millisecond
	maxTablePause = 2 * time.Second
)

// backupsPause is the time between attempts to turn point-in-time recovery on
// while DynamoDB still prepares the backups of a new table.
const backupsPause = time.Second

// Ensure makes the table exist as the schema says. It creates the table if it is
// missing and waits until it is active. A table that is being deleted is created
// again as soon as it is gone. Ensure turns on TTL and point-in-time recovery if
// the schema has them and they are off. Then it verifies the table as
// [Schema.Verify] does. It alters nothing else of an existing table: where that
// differs from the schema, Ensure returns an error. Several processes may call it
// concurrently. If the context has no deadline, Ensure waits 5 minutes at most for
// the table, and as long for its backups.
//
// Errors:
//   - [ErrInvalid], before any request.
//   - [ErrSchemaMismatch], if the table differs from the schema.
//   - [*Error] with the SDK's error, if a request fails.
func (s Schema) Ensure(ctx context.Context, client AdminClient) error {
	in, err := s.CreateTableInput()
	if err != nil {
		return err
	}
	if missing(client) {
		return &Error{Op: "Ensure", Table: s.Name, Err: errNoClient}
	}
	if err := ensureTable(ctx, client, in); err != nil {
		return &Error{Op: "Ensure", Table: s.Name, Err: err}
	}
	if err := s.ensureTTL(ctx, client); err != nil {
		return err
	}
	if err := s.ensureRecovery(ctx, client); err != nil {
		return &Error{Op: "Ensure", Table: s.Name, Err: err}
	}
	return s.Verify(ctx, client)
}

// ensureTable creates the table if it is missing, and waits until DynamoDB has
// finished what it does to it.
func ensureTable(ctx context.Context, client AdminClient, in *dynamodb.CreateTableInput) error {
	ctx, cancel := creationContext(ctx)
	defer cancel()
	var status types.TableStatus
	for pause := time.Duration(0); ; pause = min(max(2*pause, minTablePause), maxTablePause) {
		live, err := liveTable(ctx, client, in.TableName)
		if gone := (*types.ResourceNotFoundException)(nil); errors.As(err, &gone) {
			status = "missing"
			_, err = client.CreateTable(ctx, in, bounded)
			// Another process was faster, or an earlier request shows late.
			if inUse := (*types.ResourceInUseException)(nil); errors.As(err, &inUse) {
				err = nil
			}
		} else if err == nil {
			switch status = live.TableStatus; status {
			case types.TableStatusCreating, types.TableStatusUpdating, types.TableStatusDeleting:
			default:
				return nil // Verify tells if it is not active.
			}
		}
		if err == nil {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if status != "" && ctx.Err() != nil {
			return fmt.Errorf("the table is %s: %w", status, err)
		}
		return err
	}
}

// creationContext returns a context that ends after [creationTime], unless ctx
// has a deadline.
func creationContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, creationTime)
}

// liveTable describes the table.
func liveTable(ctx context.Context, client AdminClient, name *string) (*types.TableDescription, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name}, bounded)
	if err != nil {
		return nil, err
	}
	if out.Table == nil {
		return nil, errors.New("the response describes no table")
	}
	return out.Table, nil
}

func (s Schema) ensureTTL(ctx context.Context, client AdminClient) error {
	if s.TTL == "" {
		return nil
	}
	for attempt := 1; ; attempt++ {
		have, err := liveTTL(ctx, client, s.Name)
		if err != nil {
			return &Error{Op: "Ensure", Table: s.Name, Err: err}
		}
		if have != "" {
			return nil // right or wrong: Verify tells
		}
		_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: aws.String(s.Name),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{
				AttributeName: aws.String(s.TTL), Enabled: aws.Bool(true),
			},
		}, bounded)
		if err == nil {
			return nil
		}
		// A second process that enables it at the same time gets a validation
		// error; looking again tells whether that is what happened.
		if attempt == 2 {
			return &Error{Op: "Ensure", Table: s.Name, Err: err}
		}
	}
}

// ensureRecovery turns point-in-time recovery on. DynamoDB refuses that for a
// while after it has created a table.
func (s Schema) ensureRecovery(ctx context.Context, client AdminClient) error {
	if !s.PointInTimeRecovery {
		return nil
	}
	ctx, cancel := creationContext(ctx)
	defer cancel()
	for failed := false; ; {
		on, err := liveRecovery(ctx, client, s.Name)
		if on || err != nil {
			return err
		}
		_, err = client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
			TableName: aws.String(s.Name),
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
				PointInTimeRecoveryEnabled: aws.Bool(true),
			},
		}, bounded)
		if preparing := (*types.ContinuousBackupsUnavailableException)(nil); errors.As(err, &preparing) {
			select {
			case <-time.After(backupsPause):
				continue
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", ctx.Err(), err)
			}
		}
		if err == nil || failed {
			return err
		}
		failed = true // A concurrent process may have turned it on: look again.
	}
}

// bounded is an option of the requests about the table itself. Their responses are
// read as those about items are: up to a size, never empty, and without a panic.
func bounded(o *dynamodb.Options) {
	if o.Protocol != nil && o.Protocol.ID() == protocol {
		o.Protocol = &direct{ClientProtocol: o.Protocol, r: &request{}, off: true}
	}
}

// liveRecovery reports whether point-in-time recovery is on.
func liveRecovery(ctx context.Context, client AdminClient, name string) (bool, error) {
	out, err := client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: aws.String(name)}, bounded)
	if err != nil {
		return false, err
	}
	d := out.ContinuousBackupsDescription
	if d == nil {
		return false, errors.New("the response does not describe the backups")
	}
	return d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, nil
}

// liveTTL returns the table's TTL attribute, "" if TTL is off.
func liveTTL(ctx context.Context, client AdminClient, name string) (string, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)}, bounded)
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil {
		return "", errors.New("the response does not describe the TTL")
	}
	if d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return aws.ToString(d.AttributeName), nil
}

// Verify compares the schema with the live table: key attributes and their
// types, indexes, their projections, TTL and, where the schema sets them, the
// stream's view, the billing mode, deletion protection and point-in-time
// recovery. A table that is being created or deleted, is archived, or has an
// inaccessible encryption key is a difference. So is an index that is being created
// or deleted: queries of it fail. Indexes that the schema does not name are not a
// difference. Neither are throughput, table class and tags, which operators change
// at any time.
//
// Errors:
//   - [ErrInvalid], before any request.
//   - [ErrSchemaMismatch], as a [*SchemaError] that lists every difference.
//   - [*Error] with the SDK's error, if a request fails.
func (s Schema) Verify(ctx context.Context, client AdminClient) error {
	want, err := s.CreateTableInput()
	if err != nil {
		return err
	}
	if missing(client) {
		return &Error{Op: "Verify", Table: s.Name, Err: errNoClient}
	}
	have, err := liveTable(ctx, client, want.TableName)
	if absent := (*types.ResourceNotFoundException)(nil); errors.As(err, &absent) {
		return schemaError(s.Name, fmt.Errorf("%w: %w", ErrSchemaMismatch, err), []string{"the table does not exist"})
	}
	if err != nil {
		return &Error{Op: "Verify", Table: s.Name, Err: err}
	}
	switch have.TableStatus {
	case types.TableStatusCreating, types.TableStatusDeleting, types.TableStatusArchiving, types.TableStatusArchived,
		types.TableStatusInaccessibleEncryptionCredentials: // Other requests can fail.
		return schemaError(s.Name, ErrSchemaMismatch, []string{fmt.Sprintf("the table is %s", have.TableStatus)})
	}
	problems := append(differences(want, have), s.settingsDifferences(have)...)
	ttl, err := liveTTL(ctx, client, s.Name)
	if err != nil {
		return &Error{Op: "Verify", Table: s.Name, Err: err}
	}
	if ttl != s.TTL {
		problems = append(problems, fmt.Sprintf("TTL: is %s, the schema wants %s", orNone(ttl), orNone(s.TTL)))
	}
	if s.PointInTimeRecovery {
		on, err := liveRecovery(ctx, client, s.Name)
		if err != nil {
			return &Error{Op: "Verify", Table: s.Name, Err: err}
		}
		if !on {
			problems = append(problems, "PointInTimeRecovery: is off, the schema wants it on")
		}
	}
	return schemaError(s.Name, ErrSchemaMismatch, problems)
}

func orNone(attribute string) string {
	if attribute == "" {
		return "off"
	}
	return fmt.Sprintf("on %q", attribute)
}

// layout is what an index or the table itself looks like, in words. The status
// is empty unless the index cannot be queried.
type layout struct{ keys, projection, status string }

// differences lists where the live table is not as want says.
func differences(want *dynamodb.CreateTableInput, have *types.TableDescription) []string {
	var problems []string
	wantTypes, haveTypes := typesOf(want.AttributeDefinitions), typesOf(have.AttributeDefinitions)
	if w, h := keysText(want.KeySchema, wantTypes), keysText(have.KeySchema, haveTypes); w != h {
		problems = append(problems, fmt.Sprintf("keys: are %s, the schema wants %s", h, w))
	}
	live := map[string]layout{}
	for _, x := range have.GlobalSecondaryIndexes {
		l := layout{keys: keysText(x.KeySchema, haveTypes), projection: projectionText(x.Projection)}
		if x.IndexStatus == types.IndexStatusCreating || x.IndexStatus == types.IndexStatusDeleting {
			l.status = string(x.IndexStatus)
		}
		live["global index "+aws.ToString(x.IndexName)] = l
	}
	for _, x := range have.LocalSecondaryIndexes {
		live["local index "+aws.ToString(x.IndexName)] = layout{keys: keysText(x.KeySchema, haveTypes), projection: projectionText(x.Projection)}
	}
	check := func(name string, w layout) {
		h, ok := live[name]
		if h.status != "" {
			problems = append(problems, name+": is "+h.status)
		}
		switch {
		case !ok:
			problems = append(problems, name+": is missing")
		case h.keys != w.keys:
			problems = append(problems, fmt.Sprintf("%s: keys are %s, the schema wants %s", name, h.keys, w.keys))
			fallthrough
		default:
			if h.projection != w.projection {
				problems = append(problems, fmt.Sprintf("%s: projects %s, the schema wants %s", name, h.projection, w.projection))
			}
		}
	}
	for _, x := range want.GlobalSecondaryIndexes {
		check("global index "+*x.IndexName, layout{keys: keysText(x.KeySchema, wantTypes), projection: projectionText(x.Projection)})
	}
	for _, x := range want.LocalSecondaryIndexes {
		check("local index "+*x.IndexName, layout{keys: keysText(x.KeySchema, wantTypes), projection: projectionText(x.Projection)})
	}
	return problems
}

// settingsDifferences lists where the live table is not operated as the schema
// says. Settings that the schema leaves zero are not compared.
func (s Schema) settingsDifferences(have *types.TableDescription) []string {
	var problems []string
	if s.Stream != "" {
		live := "off"
		if spec := have.StreamSpecification; spec != nil && aws.ToBool(spec.StreamEnabled) {
			live = string(spec.StreamViewType)
		}
		if live != string(s.Stream) {
			problems = append(problems, fmt.Sprintf("Stream: is %s, the schema wants %s", live, s.Stream))
		}
	}
	if s.BillingMode != "" {
		live := types.BillingModeProvisioned // of a table that never was on demand
		if have.BillingModeSummary != nil {
			live = have.BillingModeSummary.BillingMode
		}
		if live != s.BillingMode {
			problems = append(problems, fmt.Sprintf("BillingMode: is %s, the schema wants %s", live, s.BillingMode))
		}
	}
	if s.DeletionProtection && !aws.ToBool(have.DeletionProtectionEnabled) {
		problems = append(problems, "DeletionProtection: is off, the schema wants it on")
	}
	return problems
}

func typesOf(definitions []types.AttributeDefinition) map[string]types.ScalarAttributeType {
	all := make(map[string]types.ScalarAttributeType, len(definitions))
	for _, d := range definitions {
		all[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	return all
}

func keysText(elements []types.KeySchemaElement, attributes map[string]types.ScalarAttributeType) string {
	text := ""
	for i, e := range elements {
		if i > 0 {
			text += " and "
		}
		name := aws.ToString(e.AttributeName)
		text += fmt.Sprintf("%s %s (%s)", e.KeyType, name, attributes[name])
	}
	return text
}

func projectionText(p *types.Projection) string {
	if p == nil {
		return "nothing"
	}
	if p.ProjectionType != types.ProjectionTypeInclude {
		return string(p.ProjectionType)
	}
	include := slices.Sorted(slices.Values(p.NonKeyAttributes))
	return fmt.Sprintf("INCLUDE %q", include)
}
