package streamtest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type note struct{ Text string }

func noteKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("NOTE").PK(id), SK: keys.Metadata} }

// changed returns the kinds of an event's records with the ids of their notes.
func changed(t *testing.T, event json.RawMessage) (all []string) {
	t.Helper()
	var e struct {
		Records []struct {
			EventName string
			Dynamodb  struct {
				Keys struct{ PK struct{ S string } }
			}
		}
	}
	expect.OK(t, json.Unmarshal(event, &e))
	for _, r := range e.Records {
		all = append(all, r.EventName+" "+r.Dynamodb.Keys.PK.S)
	}
	return all
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	var recorder streamtest.Recorder
	var faults tabletest.Faults
	client := tabletest.Client(t, recorder.Install, faults.Install)
	tbl, other := tabletest.NewWith(t, client, schema.Table{}, nil), tabletest.NewWith(t, client, schema.Table{}, nil)
	name := aws.String(tbl.Schema().Name)
	oh := errors.New("oh")
	ctx := t.Context()
	attributes := func(id string) table.Item {
		item := expect.Value(tbl.IndexKey("", noteKey(id)))(t)
		item["Text"] = &types.AttributeValueMemberS{Value: "sdk"}
		return item
	}
	put := func(id string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: attributes(id)}}
	}
	for _, test := range []struct {
		name  string
		write func(ctx context.Context) error
		want  []string
		err   error
	}{
		{"nothing", func(context.Context) error { return nil }, nil, nil},
		{"each op", func(ctx context.Context) error {
			return errors.Join(
				tbl.Do(ctx, table.Create(noteKey("1"), note{"a"})), tbl.Do(ctx, table.Patch(noteKey("1"), table.Item{"Text": &types.AttributeValueMemberS{Value: "b"}})),
				tbl.Do(ctx, table.Put(noteKey("1"), note{"b"})), // as it is
				tbl.Do(ctx, table.Delete(noteKey("1"))), tbl.Do(ctx, table.Delete(noteKey("1"))),
			)
		}, []string{"INSERT NOTE#1", "MODIFY NOTE#1", "REMOVE NOTE#1"}, nil},
		{"a transaction", func(ctx context.Context) error {
			return tbl.Transact(ctx, table.Create(noteKey("3"), note{"a"}), table.Check(noteKey("9"), table.If("attribute_not_exists(PK)")), table.Create(noteKey("2"), note{"a"}))
		}, []string{"INSERT NOTE#3", "INSERT NOTE#2"}, nil},
		{"what fails half-way", func(ctx context.Context) error {
			return errors.Join(tbl.Do(ctx, table.Delete(noteKey("3"))), oh)
		}, []string{"REMOVE NOTE#3"}, oh},
		{"a condition that fails", func(ctx context.Context) error {
			return tbl.Do(ctx, table.Create(noteKey("2"), note{"b"}))
		}, nil, table.ErrExists},
		{"another table", func(ctx context.Context) error { return other.Do(ctx, table.Create(noteKey("1"), note{"a"})) }, nil, nil},
		{"a lost response", func(ctx context.Context) error {
			faults.Next("TransactWriteItems", tabletest.DropResponse())
			return tbl.Transact(ctx, table.Create(noteKey("4"), note{"a"}))
		}, []string{"INSERT NOTE#4"}, nil},
		{"the SDK", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: attributes("5")})
			_, batch := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {put("6"), put("7")}}})
			return errors.Join(err, batch)
		}, []string{"INSERT NOTE#5", "INSERT NOTE#6", "INSERT NOTE#7"}, nil},
	} {
		event, err := recorder.Event(tbl, func() error { return test.write(ctx) })
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", test.name, err, test.err)
		}
		expect.Equal(t, test.name, changed(t, event), test.want)
	}
	expect.OK(t, tbl.Do(ctx, table.Delete(noteKey("2"))))
	expect.Equal(t, "what nobody asks for", changed(t, expect.Value(recorder.Event(tbl, func() error { return nil }))(t)), nil)
}

// An event without what a program has written would let each test of its handler pass.
func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	var recorder streamtest.Recorder
	tbl := tabletest.New(t, schema.Table{}, nil)
	if _, err := recorder.Event(tbl, func() error { return nil }); err == nil {
		t.Error("a Recorder without a client makes an event")
	}
	client := tabletest.Client(t, recorder.Install)
	_, err := recorder.Event(tbl, func() error {
		_, err := client.ExecuteStatement(t.Context(), &dynamodb.ExecuteStatementInput{
			Statement: aws.String(`INSERT INTO "` + tbl.Schema().Name + `" VALUE {'PK': 'NOTE#1', 'SK': 'METADATA'}`),
		})
		return err
	})
	if err == nil {
		t.Error("a statement is left out of the event, without an error")
	}
}

// members adds the paths of the members of a record, without those of images and keys.
func members(t *testing.T, of any, path string, all map[string]bool) {
	t.Helper()
	object, ok := of.(map[string]any)
	if !ok || strings.HasSuffix(path, "Image") || strings.HasSuffix(path, ".Keys") {
		all[path] = true
		return
	}
	for name, value := range object {
		if text, ok := value.(string); ok && name == "data" {
			decoded := map[string]any{}
			expect.OK(t, json.Unmarshal(expect.Value(base64.StdEncoding.DecodeString(text))(t), &decoded))
			value = decoded
		}
		members(t, value, path+"."+name, all)
	}
}

// first returns the members of the first record of an event.
func first(t *testing.T, event json.RawMessage) map[string]bool {
	t.Helper()
	all, records := map[string]bool{}, []any{}
	if event[0] == '{' {
		var of struct{ Records []any }
		expect.OK(t, json.Unmarshal(event, &of))
		records = of.Records
	} else {
		expect.OK(t, json.Unmarshal(event, &records))
	}
	members(t, records[0], "", all)
	return all
}

// Each form of an event gives a router the same changes, and has the members that AWS's has.
func TestRecorderForms(t *testing.T) {
	t.Parallel()
	var recorder streamtest.Recorder
	tbl := tabletest.NewWith(t, tabletest.Client(t, recorder.Install), schema.Table{}, nil)
	var got []string
	router := expect.Value(stream.New(tbl, nil, stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
		if c.At.IsZero() || c.Request("test").Key == "" {
			t.Errorf("a change without a time, or an id: %+v", c)
		}
		got = append(got, string(c.Kind)+" "+string(c.Key.PK))
		return nil
	})))(t)
	for name, event := range map[string]func(*table.Table, func() error) (json.RawMessage, error){
		"lambda.json": recorder.Event, "pipes.json": recorder.Pipe, "kinesis.json": recorder.Kinesis,
	} {
		got = nil
		made := expect.Value(event(tbl, func() error {
			return errors.Join(
				tbl.Do(t.Context(), table.Put(noteKey("1"), note{"a"})), tbl.Do(t.Context(), table.Put(noteKey("1"), note{"b"})),
				tbl.Do(t.Context(), table.Delete(noteKey("1"))),
			)
		}))(t)
		expect.OK(t, expect.Value(router.Handle(t.Context(), made))(t).Err)
		expect.Equal(t, name, got, []string{"insert NOTE#1", "modify NOTE#1", "remove NOTE#1"})
		expect.Equal(t, name, first(t, made), first(t, expect.Value(os.ReadFile("../testdata/"+name))(t)))
	}
}
