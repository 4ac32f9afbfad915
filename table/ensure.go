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

// creationTime bounds the wait for a new table when the context has no
// deadline. On AWS a table takes 5 to 60 seconds.
const creationTime = 5 * time.Minute

// Ensure makes the table exist as the schema says: it creates it if it is
// missing, waits until it is active, switches TTL on, and then verifies it (see
// [Schema.Verify]), so a table that was there already and differs is an error
// and is not altered. It may be called by several processes at once.
func (s Schema) Ensure(ctx context.Context, client AdminClient) error {
	in, err := s.CreateTableInput()
	if err != nil {
		return err
	}
	if missing(client) {
		return &Error{Op: "Ensure", Table: s.Name, Err: errNoClient}
	}
	describe := &dynamodb.DescribeTableInput{TableName: in.TableName}
	_, err = client.DescribeTable(ctx, describe)
	if absent := (*types.ResourceNotFoundException)(nil); errors.As(err, &absent) {
		_, err = client.CreateTable(ctx, in)
		// Another process was faster.
		if inUse := (*types.ResourceInUseException)(nil); errors.As(err, &inUse) {
			err = nil
		}
	}
	if err != nil {
		return &Error{Op: "Ensure", Table: s.Name, Err: err}
	}
	active := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, 2*time.Second
	})
	if err := active.Wait(ctx, describe, creationTime); err != nil {
		return &Error{Op: "Ensure", Table: s.Name, Err: err}
	}
	if err := s.ensureTTL(ctx, client); err != nil {
		return err
	}
	return s.Verify(ctx, client)
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
		})
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

// liveTTL returns the table's TTL attribute, "" if TTL is off.
func liveTTL(ctx context.Context, client AdminClient, name string) (string, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return aws.ToString(d.AttributeName), nil
}

// Verify compares the schema with the live table: key attributes and their
// types, indexes, their projections, TTL. It returns a [*SchemaError] that
// lists every difference and matches [ErrSchemaMismatch], or nil. Indexes that
// the schema does not name are not a difference.
func (s Schema) Verify(ctx context.Context, client AdminClient) error {
	want, err := s.CreateTableInput()
	if err != nil {
		return err
	}
	if missing(client) {
		return &Error{Op: "Verify", Table: s.Name, Err: errNoClient}
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: want.TableName})
	if absent := (*types.ResourceNotFoundException)(nil); errors.As(err, &absent) {
		return schemaError(s.Name, fmt.Errorf("%w: %w", ErrSchemaMismatch, err), []string{"the table does not exist"})
	}
	if err == nil && out.Table == nil {
		err = errors.New("the answer describes no table")
	}
	if err != nil {
		return &Error{Op: "Verify", Table: s.Name, Err: err}
	}
	problems := differences(want, out.Table)
	ttl, err := liveTTL(ctx, client, s.Name)
	if err != nil {
		return &Error{Op: "Verify", Table: s.Name, Err: err}
	}
	if ttl != s.TTL {
		problems = append(problems, fmt.Sprintf("TTL: is %s, the schema wants %s", orNone(ttl), orNone(s.TTL)))
	}
	return schemaError(s.Name, ErrSchemaMismatch, problems)
}

func orNone(attribute string) string {
	if attribute == "" {
		return "off"
	}
	return fmt.Sprintf("on %q", attribute)
}

// layout is what an index or the table itself looks like, in words.
type layout struct{ keys, projection string }

// differences lists where the live table is not as want says.
func differences(want *dynamodb.CreateTableInput, have *types.TableDescription) []string {
	var problems []string
	wantTypes, haveTypes := typesOf(want.AttributeDefinitions), typesOf(have.AttributeDefinitions)
	if w, h := keysText(want.KeySchema, wantTypes), keysText(have.KeySchema, haveTypes); w != h {
		problems = append(problems, fmt.Sprintf("keys: are %s, the schema wants %s", h, w))
	}
	live := map[string]layout{}
	for _, x := range have.GlobalSecondaryIndexes {
		live["global index "+aws.ToString(x.IndexName)] = layout{keysText(x.KeySchema, haveTypes), projectionText(x.Projection)}
	}
	for _, x := range have.LocalSecondaryIndexes {
		live["local index "+aws.ToString(x.IndexName)] = layout{keysText(x.KeySchema, haveTypes), projectionText(x.Projection)}
	}
	check := func(name string, w layout) {
		switch h, ok := live[name]; {
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
		check("global index "+*x.IndexName, layout{keysText(x.KeySchema, wantTypes), projectionText(x.Projection)})
	}
	for _, x := range want.LocalSecondaryIndexes {
		check("local index "+*x.IndexName, layout{keysText(x.KeySchema, wantTypes), projectionText(x.Projection)})
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
