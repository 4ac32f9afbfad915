package stream_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// shipped returns a record of Kinesis Data Streams, in the form of AWS's documented example, of a
// change of the value of an item; 0 is no item.
func shipped(table, item string, micros, old, new int) map[string]any {
	image := func(value int) any {
		if value == 0 {
			return nil
		}
		return map[string]any{"pk": map[string]string{"S": item}, "sk": map[string]string{"S": "METADATA"}, "value": map[string]string{"N": fmt.Sprint(value)}}
	}
	name := map[[2]bool]string{{true, false}: "INSERT", {false, true}: "REMOVE"}[[2]bool{old == 0, new == 0}]
	if name == "" {
		name = "MODIFY"
	}
	change := map[string]any{
		"ApproximateCreationDateTime": micros, "ApproximateCreationDateTimePrecision": "MICROSECOND",
		"Keys": map[string]any{"pk": map[string]string{"S": item}, "sk": map[string]string{"S": "METADATA"}}, "SizeBytes": 26,
	}
	if old != 0 {
		change["OldImage"] = image(old)
	}
	if new != 0 {
		change["NewImage"] = image(new)
	}
	data, _ := json.Marshal(map[string]any{
		"awsRegion": "eu-west-1", "eventID": fmt.Sprint(item, " ", micros, " ", new), "eventName": name, "userIdentity": nil,
		"recordFormat": "application/json", "tableName": table, "dynamodb": change, "eventSource": "aws:dynamodb",
	})
	sequence := fmt.Sprintf("4954%d%d%d", micros, old, new)
	return map[string]any{
		"kinesis":     map[string]any{"kinesisSchemaVersion": "1.0", "partitionKey": "a", "sequenceNumber": sequence, "data": base64.StdEncoding.EncodeToString(data)},
		"eventSource": "aws:kinesis", "eventID": "shardId-0:" + sequence, "eventName": "aws:kinesis:record",
		"eventSourceARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/changes",
	}
}

// edit changes the record of DynamoDB in one of shipped.
func edit(t *testing.T, shipped map[string]any, change func(record map[string]any)) {
	t.Helper()
	of := shipped["kinesis"].(map[string]any)
	var record map[string]any
	expect.OK(t, json.Unmarshal(expect.Value(base64.StdEncoding.DecodeString(of["data"].(string)))(t), &record))
	change(record)
	of["data"] = base64.StdEncoding.EncodeToString(expect.Value(json.Marshal(record))(t))
}

// flat returns the record as EventBridge Pipes gives it.
func flat(record map[string]any) map[string]any {
	all := map[string]any{}
	for name, value := range record {
		if name != "kinesis" {
			all[name] = value
		}
	}
	for name, value := range record["kinesis"].(map[string]any) {
		all[name] = value
	}
	return all
}

func event(records ...map[string]any) json.RawMessage {
	all, _ := json.Marshal(map[string]any{"Records": records})
	return all
}

func piped(records ...map[string]any) json.RawMessage {
	all, _ := json.Marshal(records)
	return all
}

// values returns a router that notes the values of items in the order of their changes, and fails at
// one.
func values(t *testing.T, tbl *table.Table, got *[]string, bad string) *stream.Router {
	t.Helper()
	return newRouter(t, tbl, nil, stream.OnOther(func(_ context.Context, c stream.Change[table.Item]) error {
		is := string(c.Key.PK) + " gone"
		if c.New != nil {
			var v struct{ Value int }
			if err := c.New.Decode(&v); err != nil {
				return err
			}
			is = fmt.Sprint(c.Key.PK, " ", v.Value)
		}
		if is == bad {
			return errors.New("oh")
		}
		*got = append(*got, is)
		return nil
	}))
}

// Records that are there twice, or out of order, are handled once, and in the order of the changes
// of each item, in whatever order they come.
func TestKinesisRecordsAreArranged(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	var got []string
	r := values(t, tbl, &got, "")
	of := func(item string, micros, old, new int) map[string]any { return shipped(name, item, micros, old, new) }
	all := []map[string]any{
		of("A", 1700000001000001, 0, 1), of("A", 1700000001000001, 1, 2), of("A", 1700000001000001, 2, 3), // at one time
		of("B", 1700000001000000, 0, 1), of("A", 1700000001000002, 3, 0), of("A", 1700000001000003, 0, 1), of("B", 1700000001000009, 1, 4),
	}
	all = append(all, all[1], all[4], all[6])
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got = nil
		deliver(t, r, event(all...))
		for item, want := range map[string][]string{"A": {"A 1", "A 2", "A 3", "A gone", "A 1"}, "B": {"B 1", "B 4"}} {
			is := slices.DeleteFunc(slices.Clone(got), func(v string) bool { return !strings.HasPrefix(v, item) })
			expect.Equal(t, item, is, want)
		}
	}
}

// Changes of one item and time are in the order of their images, whatever order they come in: also
// those of an item that returns to what it was, which is no repetition, and those of several lives.
func TestKinesisChangesOfOneTime(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for what, c := range map[string]struct {
		changes [][3]int // the time, and the values before and after
		want    []string
	}{
		"back and forth":               {[][3]int{{1, 0, 1}, {2, 1, 2}, {2, 2, 1}, {2, 1, 2}}, []string{"A 1", "A 2", "A 1", "A 2"}},
		"back to an image before":      {[][3]int{{1, 0, 1}, {2, 1, 2}, {2, 2, 1}}, []string{"A 1", "A 2", "A 1"}},
		"back to an image after":       {[][3]int{{1, 1, 2}, {1, 2, 1}, {2, 1, 3}}, []string{"A 2", "A 1", "A 3"}},
		"a circuit between":            {[][3]int{{1, 0, 1}, {1, 1, 2}, {1, 2, 3}, {1, 3, 1}, {1, 1, 0}}, []string{"A 1", "A 2", "A 3", "A 1", "A gone"}},
		"created and deleted":          {[][3]int{{1, 0, 1}, {1, 1, 0}}, []string{"A 1", "A gone"}},
		"deleted and created again":    {[][3]int{{1, 1, 0}, {1, 0, 2}}, []string{"A gone", "A 2"}},
		"created again as it was":      {[][3]int{{1, 0, 1}, {1, 1, 0}, {1, 0, 1}}, []string{"A 1", "A gone", "A 1"}},
		"created again, not as it was": {[][3]int{{1, 0, 1}, {1, 1, 0}, {1, 0, 2}}, []string{"A 1", "A gone", "A 2"}},
	} {
		var all []map[string]any
		for i, change := range c.changes {
			one := shipped(tbl.Schema().Name, "A", change[0], change[1], change[2])
			edit(t, one, func(record map[string]any) { record["eventID"] = fmt.Sprint("e", i) })
			all = append(all, one, one)
		}
		for range 50 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var got []string
			deliver(t, values(t, tbl, &got, ""), event(all...))
			expect.Equal(t, what, got, c.want)
		}
	}
}

// Changes of one time are in the order of the entity's version where the event does not have what
// was between them.
func TestKinesisChangesWithVersions(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	type Meter struct {
		ID      string `dynamodbav:"id"`
		Value   int    `dynamodbav:"value"`
		Version int64  `dynamodbav:"version"`
	}
	meters := expect.Value(repo.New(tbl, repo.Entity[Meter]{
		Type: "METER", Version: "version",
		Key: func(m Meter) keys.Key { return keys.Key{PK: keys.Prefix("METER").PK(m.ID), SK: keys.Metadata} },
	}))(t)
	var got []string
	r := newRouter(t, tbl, nil, stream.On(meters, func(_ context.Context, c stream.Change[Meter]) error {
		got = append(got, fmt.Sprint(c.Kind, " ", cmp.Or(c.New, c.Old).Value))
		return nil
	}))
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		changes [][2]int // the values before and after, which are the versions
		want    []string
	}{
		{[][2]int{{0, 1}, {2, 3}, {9, 10}}, []string{"insert 1", "modify 3", "modify 10"}},
		{[][2]int{{2, 3}, {3, 4}, {9, 10}, {10, 0}}, []string{"modify 3", "modify 4", "modify 10", "remove 10"}},
	} {
		var all []map[string]any
		for _, change := range c.changes {
			one := shipped(tbl.Schema().Name, "METER#a", 1, change[0], change[1])
			edit(t, one, func(record map[string]any) {
				change := record["dynamodb"].(map[string]any)
				for _, name := range []string{"OldImage", "NewImage"} {
					if image, _ := change[name].(map[string]any); image != nil {
						image["entityType"], image["id"], image["version"] = map[string]string{"S": "METER"}, map[string]string{"S": "a"}, image["value"]
					}
				}
			})
			all = append(all, one)
		}
		for range 50 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			got = nil
			deliver(t, r, event(all...))
			expect.Equal(t, "changes", got, c.want)
		}
	}
}

// A batch is arranged before a function of Lambda ends, whatever its times are.
func TestManyKinesisChangesOfOneTime(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	var all []map[string]any
	var got, want []string
	for i := range 5000 { // in a time that grows with the cube of it, this takes hours
		all = append(all, shipped(tbl.Schema().Name, "A", 1, i, i+1))
		want = append(want, fmt.Sprint("A ", i+1))
	}
	slices.Reverse(all)
	deliver(t, values(t, tbl, &got, ""), event(all...))
	expect.Equal(t, "changes", got, want)
}

// The error of a record says which one it is, in the source that it has come from.
func TestFailureOfKinesisNamesItsRecord(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	one := shipped(tbl.Schema().Name, "A", 5, 0, 1)
	var got []string
	response, err := values(t, tbl, &got, "A 1").Handle(t.Context(), event(one))
	expect.OK(t, err)
	sequence := one["kinesis"].(map[string]any)["sequenceNumber"].(string)
	if response.Err == nil || !strings.Contains(response.Err.Error(), "record "+sequence+":") {
		t.Errorf("the error does not name record %s: %v", sequence, response.Err)
	}
}

// A response names a record as the service wants it: Lambda the first that was not handled, by its
// sequence number in the stream; EventBridge Pipes all of these, by their event IDs.
func TestFailuresOfEachForm(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	kinesis := []map[string]any{shipped(name, "A", 5, 0, 1), shipped(name, "B", 6, 0, 2), shipped(name, "A", 4, 0, 3)}
	image := `"NewImage": {"pk": {"S": "R#1"}, "sk": {"S": "METADATA"}, "value": {"N": "%d"}},`
	var own []map[string]any
	for i := range 3 {
		text := record("INSERT", fmt.Sprint("e", i), fmt.Sprint("11", i), fmt.Sprintf(image, i+1))
		var one map[string]any
		expect.OK(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "TABLE", name)), &one))
		own = append(own, one)
	}
	flats := []map[string]any{flat(kinesis[0]), flat(kinesis[1]), flat(kinesis[2])}
	for what, c := range map[string]struct {
		event json.RawMessage
		bad   string
		want  []string
	}{
		"Lambda":                    {event(own...), "R#1 2", []string{"111"}},
		"Pipes":                     {piped(own...), "R#1 2", []string{"e1", "e2"}},
		"Kinesis":                   {event(kinesis...), "B 2", []string{"4954501"}},
		"Kinesis, out of order":     {event(kinesis...), "A 1", []string{"4954501"}},
		"Kinesis, the whole":        {event(kinesis...), "A 3", []string{"4954501"}},
		"Pipes of Kinesis":          {piped(flats...), "B 2", []string{"shardId-0:4954501", "shardId-0:4954602"}},
		"Pipes of Kinesis, nothing": {piped(flats...), "", nil},
		"an empty array":            {json.RawMessage("[]"), "", nil},
	} {
		var got []string
		response, err := values(t, tbl, &got, c.bad).Handle(t.Context(), c.event)
		expect.OK(t, err)
		var failed []string
		for _, f := range response.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}
		expect.Equal(t, what, failed, c.want)
	}
}

// shownKey is where a consumer shows the latest value of an item.
func shownKey(of keys.Key) keys.Key { return keys.Key{PK: "SHOWN#" + of.PK, SK: of.SK} }

// shown is what a consumer shows of an item, and the time of its change.
type shown struct {
	Value int64 `dynamodbav:"value"`
	At    int64 `dynamodbav:"at"`
}

// show stores what a change has made, unless a later one was stored. A value that is gone leaves its
// time: see the Example of Kinesis.
func show(ctx context.Context, tbl *table.Table, key keys.Key, value, micros int64) error {
	newest := table.Put(shownKey(key), shown{value, micros}).
		If(table.If("attribute_not_exists(at) OR at < ?", micros))
	if err := tbl.Do(ctx, newest); !errors.Is(err, table.ErrConditionFailed) {
		return err
	}
	return nil
}

// A consumer that compares times never goes back, however records are doubled, swapped and
// replayed over many events.
func TestAConsumerOfKinesisNeverGoesBack(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	latest := map[string]int64{}
	r := newRouter(t, tbl, nil, stream.OnOther(func(ctx context.Context, c stream.Change[table.Item]) error {
		value := struct{ Value int64 }{}
		if c.New != nil {
			if err := c.New.Decode(&value); err != nil {
				return err
			}
		}
		return show(ctx, tbl, c.Key, value.Value, c.At.UnixMicro())
	}))
	var all []map[string]any
	for i := range 20 {
		for _, item := range []string{"A", "B"} {
			all = append(all, shipped(name, item, 1700000001000000+i, i, i+1))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		from := random.IntN(len(all) - 5)
		batch := slices.Clone(all[from : from+1+random.IntN(5)])
		batch = append(batch, batch[random.IntN(len(batch))])
		random.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		deliver(t, r, event(batch...))
		for _, item := range []string{"A", "B"} {
			key := keys.Key{PK: keys.PK(item), SK: keys.Metadata}
			is, err := table.Get[shown](t.Context(), tbl, shownKey(key))
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				t.Fatal(err)
			}
			if is.At < latest[item] {
				t.Errorf("%s went back from %d to %d", item, latest[item], is.At)
			}
			if latest[item] = is.At; err == nil && is.Value != is.At-1700000001000000+1 {
				t.Errorf("%s has the value %d of another time", item, is.Value)
			}
		}
	}
}

func TestInvalidKinesisRecords(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	name := tbl.Schema().Name
	var got []string
	r := values(t, tbl, &got, "")
	for what, change := range map[string]func(r map[string]any){
		"no base64": func(r map[string]any) { r["kinesis"].(map[string]any)["data"] = "?" },
		"no data":   func(r map[string]any) { delete(r["kinesis"].(map[string]any), "data") },
		"data of another kind": func(r map[string]any) {
			r["kinesis"].(map[string]any)["data"] = base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))
		},
		"no JSON": func(r map[string]any) {
			r["kinesis"].(map[string]any)["data"] = base64.StdEncoding.EncodeToString([]byte(`{`))
		},
		"no time": func(r map[string]any) {
			data, _ := base64.StdEncoding.DecodeString(r["kinesis"].(map[string]any)["data"].(string))
			untimed := strings.Replace(string(data), `"ApproximateCreationDateTime":1,`, "", 1)
			r["kinesis"].(map[string]any)["data"] = base64.StdEncoding.EncodeToString([]byte(untimed))
		},
		"no ARN": func(r map[string]any) { delete(r, "eventSourceARN") },
	} {
		one := shipped(name, "A", 1, 0, 1)
		change(one)
		for _, event := range []json.RawMessage{event(one), piped(flat(one))} {
			if _, err := r.Handle(t.Context(), event); !errors.Is(err, table.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	_, err := r.Handle(t.Context(), event(shipped("Another", "A", 1, 0, 1)))
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "handled", got, nil)
}
