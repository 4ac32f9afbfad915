package awsconformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// ErrRefused means that the guard did not send a request.
var ErrRefused = errors.New("awsconformance: refused")

// tagName is the tag of every table that a run makes. Its value is the prefix
// and the run's mark.
const tagName = "singletable-conformance"

// prefixes are short, since names of tests come behind them, and cannot begin
// the name of anything that was called otherwise by chance.
var prefixes = regexp.MustCompile(`^[a-z][a-z0-9-]{2,30}$`)

// Guard stands between clients and an account. It lets through what a run of the
// suite may do, and knows what the run has made. It is safe for concurrent use.
// Get one from [NewGuard].
type Guard struct {
	prefix string // of the user
	run    string // of this run's tables
	client *dynamodb.Client

	mu       sync.Mutex
	made     map[string]bool
	closed   bool
	creating sync.WaitGroup
}

// NewGuard returns a guard for one run. client is the one that the guard itself
// uses; it must not pass a guard. The prefix has 3 to 31 characters of a-z, 0-9
// and -, and begins with a letter.
func NewGuard(client *dynamodb.Client, prefix string) (*Guard, error) {
	if !prefixes.MatchString(prefix) {
		return nil, fmt.Errorf("%w: PREFIX %q is not 3 to 31 of a-z 0-9 -, a letter first", ErrRefused, prefix)
	}
	mark := strings.ToLower(rand.Text()[:8])
	return &Guard{prefix: prefix, run: prefix + "-" + mark + "-", client: client, made: map[string]bool{}}, nil
}

// TablePrefix returns what the names of this run's tables begin with.
func (g *Guard) TablePrefix() string { return g.run }

// Install puts the guard into a client. It is an option of the SDK's
// constructors.
func (g *Guard) Install(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("guard", g.handle), middleware.After)
	})
}

func (g *Guard) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	refuse := func(err error) (middleware.InitializeOutput, middleware.Metadata, error) {
		return middleware.InitializeOutput{}, middleware.Metadata{}, err
	}
	if create, ok := in.Parameters.(*dynamodb.CreateTableInput); ok {
		tagged := *create
		tagged.Tags = append(slices.Clone(create.Tags), types.Tag{Key: aws.String(tagName), Value: aws.String(g.run)})
		in.Parameters = &tagged
		return g.create(ctx, in, next, aws.ToString(create.TableName))
	}
	names, ours, err := tablesOf(middleware.GetOperationName(ctx), in.Parameters)
	if err != nil {
		return refuse(fmt.Errorf("%w: %w", ErrRefused, err))
	}
	if len(names) == 0 {
		return refuse(fmt.Errorf("%w: a %T is not a request of the suite", ErrRefused, in.Parameters))
	}
	for _, name := range names {
		if err := g.check(name, ours); err != nil {
			return refuse(err)
		}
	}
	return next.HandleInitialize(ctx, in)
}

// check reports why a request about a table is not sent.
func (g *Guard) check(name string, ours bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !strings.HasPrefix(name, g.run):
		return fmt.Errorf("%w: table %q does not begin with %q", ErrRefused, name, g.run)
	case ours && !g.made[name]:
		return fmt.Errorf("%w: table %q was not made by this run", ErrRefused, name)
	}
	return nil
}

// create sends a CreateTable and remembers the table.
func (g *Guard) create(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler, name string) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	if err := g.check(name, false); err != nil {
		return out, metadata, err
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return out, metadata, fmt.Errorf("%w: the run is over", ErrRefused)
	}
	g.creating.Add(1)
	g.mu.Unlock()
	defer g.creating.Done()

	out, metadata, err = next.HandleInitialize(ctx, in)
	// Whatever became of the request: what has the run's tag is the run's. A
	// response can be lost, and the SDK's next attempt be told that it exists.
	ours := err == nil
	if !ours {
		tag, tagErr := tagOf(context.WithoutCancel(ctx), g.client, name)
		ours = tagErr == nil && tag == g.run
	}
	if ours {
		g.mu.Lock()
		g.made[name] = true
		g.mu.Unlock()
	}
	return out, metadata, err
}

// tagOf returns the value of a table's tag, "" if it has none.
func tagOf(ctx context.Context, client *dynamodb.Client, name string) (string, error) {
	table, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return "", err
	}
	in := &dynamodb.ListTagsOfResourceInput{ResourceArn: table.Table.TableArn}
	for {
		out, err := client.ListTagsOfResource(ctx, in)
		if err != nil {
			return "", err
		}
		for _, tag := range out.Tags {
			if aws.ToString(tag.Key) == tagName {
				return aws.ToString(tag.Value), nil
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return "", nil
		}
	}
}

// Sweep deletes the tables of this run that are still there, and lets no further
// one be made.
func (g *Guard) Sweep(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.creating.Wait()
	g.mu.Lock()
	names := slices.Sorted(maps.Keys(g.made))
	g.mu.Unlock()
	return deleteAll(ctx, g.client, names)
}

// looking are the operations that change nothing; the suite looks for a table that is
// missing. changing are the others that it sends, about tables of its own.
var (
	looking  = []string{"DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups", "GetItem"}
	changing = []string{
		"UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "DeleteTable",
		"Query", "Scan", "PutItem", "UpdateItem", "DeleteItem",
		"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems",
	}
)

// tablesOf returns the tables that a request is about, none if it is not one of
// the suite's, and whether it takes a table of the run's own.
func tablesOf(operation string, parameters any) (names []string, ours bool, err error) {
	ours = slices.Contains(changing, operation)
	if !ours && !slices.Contains(looking, operation) {
		return nil, true, nil
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, true, err
	}
	var request any
	err = json.Unmarshal(text, &request)
	return tablesIn(request), ours, err
}

// tablesIn finds the names in a part of a request. A value of an item is an object in
// JSON, so an attribute is not taken for a name.
func tablesIn(part any) (names []string) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			names = append(names, tablesIn(p)...)
		}
	case map[string]any:
		for key, p := range part {
			if name, ok := p.(string); ok && key == "TableName" {
				names = append(names, name)
			}
			if items, ok := p.(map[string]any); ok && key == "RequestItems" {
				names = slices.AppendSeq(names, maps.Keys(items))
			}
			names = append(names, tablesIn(p)...)
		}
	}
	return names
}
