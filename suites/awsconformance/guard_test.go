package awsconformance_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func newGuard(t *testing.T, prefix string) *awsconformance.Guard {
	t.Helper()
	g := expect.Value(awsconformance.NewGuard(tabletest.Client(t), prefix))(t)
	return g
}

// guarded returns a client that passes the guard, and what it sends.
func guarded(t *testing.T, g *awsconformance.Guard) (*dynamodb.Client, *tabletest.Faults) {
	t.Helper()
	faults := &tabletest.Faults{}
	return tabletest.Client(t, g.Install, faults.Install), faults
}

// tables returns the tables of the engine that begin with prefix.
func tables(t *testing.T, prefix string) []string {
	t.Helper()
	var names []string
	pages := dynamodb.NewListTablesPaginator(tabletest.Client(t), &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page := expect.Value(pages.NextPage(t.Context()))(t)
		names = append(names, page.TableNames...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// drop deletes tables.
func drop(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		expect.OK(t, expect.ErrOf(tabletest.Client(t).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name})))
	}
}

func TestPrefixesAreRefused(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "a", "ab", "Prod", "1st", "-ab", "a b", "a_b", "a.b", "a*b", "ab\n", strings.Repeat("a", 32)} {
		if g, err := awsconformance.NewGuard(tabletest.Client(t), prefix); !errors.Is(err, awsconformance.ErrRefused) || g != nil {
			t.Errorf("%q: %v", prefix, err)
		}
		if names, err := awsconformance.Leftovers(t.Context(), tabletest.Client(t), prefix); !errors.Is(err, awsconformance.ErrRefused) || names != nil {
			t.Errorf("leftovers of %q: %v, %v", prefix, names, err)
		}
	}
}

// everyRequest are the requests of the suite about a table, and others of
// DynamoDB that it never sends.
func everyRequest(t *testing.T, client *dynamodb.Client, name string) map[string]error {
	t.Helper()
	ctx, n := t.Context(), aws.String(name)
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "A"}}
	second := func(_ any, err error) error { return err }
	spec := schema.Table{Name: name, TTLAttribute: "ttl"}
	tbl := expect.Value(table.New(client, spec, nil))(t)
	k := keys.Key{PK: "A", SK: "A"}
	one := table.Put(k, nil)
	_, batch := table.BatchGet[table.Item](ctx, tbl, []keys.Key{k})
	_, transact := table.TransactGet[table.Item](ctx, tbl, []keys.Key{k})
	return map[string]error{
		"UpdateTimeToLive": second(client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               n,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("x"), Enabled: aws.Bool(true)},
		})),
		"DeleteTable":    second(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: n})),
		"Put":            tbl.Do(ctx, one),
		"Update":         second(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: n, Key: key})),
		"Delete":         tbl.Do(ctx, table.Delete(k)),
		"Transact":       tbl.Transact(ctx, one),
		"BatchWrite":     tbl.BatchWrite(ctx, one),
		"BatchGet":       batch,
		"TransactGet":    transact,
		"Query":          second(table.QueryPage[table.Item](ctx, tbl, table.Query{PK: "A"})),
		"Scan":           second(table.ScanPage[table.Item](ctx, tbl, table.Scan{})),
		"ListTables":     second(client.ListTables(ctx, &dynamodb.ListTablesInput{})),
		"UpdateTable":    second(client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: n})),
		"PartiQL":        second(client.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: aws.String("SELECT * FROM x")})),
		"ExportTable":    second(client.ListBackups(ctx, &dynamodb.ListBackupsInput{TableName: n})),
		"empty batch":    second(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}})),
		"empty transact": second(client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{}}})),
	}
}

// TestOtherTablesAreLeftAlone offers the guard requests about tables that the
// run has not made, and shows that nothing goes out.
func TestOtherTablesAreLeftAlone(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "refuse")
	other := newGuard(t, "refuse")
	client, faults := guarded(t, g)
	for _, name := range []string{"production", "refuse", "refuse-production", g.TablePrefix() + "not-made", other.TablePrefix() + "x"} {
		for call, err := range everyRequest(t, client, name) {
			if !errors.Is(err, awsconformance.ErrRefused) {
				t.Errorf("%s on %s: %v", call, name, err)
			}
		}
	}
	spec := schema.Table{Name: "refuse-production"}
	for call, err := range map[string]error{
		"Ensure": spec.Ensure(t.Context(), client), "Verify": spec.Verify(t.Context(), client),
	} {
		if !errors.Is(err, awsconformance.ErrRefused) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if sent := faults.Requests(); len(sent) > 0 {
		t.Errorf("%d requests were sent, %s first", len(sent), sent[0].Operation)
	}
}

// TestTablesOfTheRun shows that what the run makes is tagged, usable, and
// deleted, and that what was there before under such a name is none of it.
func TestTablesOfTheRun(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "made")
	client, faults := guarded(t, g)
	lost := schema.Table{Name: g.TablePrefix() + "lost", TTLAttribute: "ttl"}
	faults.Next("CreateTable", tabletest.DropResponse())
	expect.OK(t, lost.Ensure(t.Context(), client))

	foreign := schema.Table{Name: g.TablePrefix() + "foreign"}
	expect.OK(t, foreign.Ensure(t.Context(), tabletest.Client(t)))
	expect.OK(t, foreign.Verify(t.Context(), client))
	in := expect.Value(foreign.CreateTableInput())(t)
	if _, err := client.CreateTable(t.Context(), in); err == nil {
		t.Error("a table was made twice")
	}
	if len(in.Tags) > 0 {
		t.Error("the caller's request was changed")
	}
	for call, err := range everyRequest(t, client, foreign.Name) {
		if !errors.Is(err, awsconformance.ErrRefused) {
			t.Errorf("%s on a table that was there before: %v", call, err)
		}
	}

	tbl := expect.Value(table.New(client, lost, nil))(t)
	expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "A", SK: "A"}, nil)))
	expect.OK(t, g.Sweep(t.Context()))
	defer drop(t, []string{foreign.Name})
	if left := tables(t, g.TablePrefix()); !slices.Equal(left, []string{foreign.Name}) {
		t.Errorf("left: %q", left)
	}
	if err := lost.Ensure(t.Context(), client); !errors.Is(err, awsconformance.ErrRefused) {
		t.Errorf("after the end: %v", err)
	}
}
