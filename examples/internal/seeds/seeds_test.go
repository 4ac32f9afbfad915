package seeds

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheSeed -update

const folder = "../../../cmd/singletable/internal/seed/"

// maxFile keeps a file small enough to be read in a review.
const maxFile = 200 << 10

// begun is the first day of what the seeds tell, which takes three months.
var begun = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// maker makes a seed. Nothing in it is random: what it makes is the same each time.
type maker struct {
	t      *testing.T
	table  *table.Table
	schema schema.Table // with the example's own name
	now    time.Time
	rand   *rand.Rand

	raw *table.Table // with the expired items
	// before is what the consumers of the stream know of.
	before    map[keys.Key]table.Item
	consumers []*stream.Router
	sequence  int
}

func newMaker(t *testing.T, spec schema.Table) *maker {
	t.Helper()
	m := &maker{t: t, schema: spec, now: begun, rand: rand.New(rand.NewPCG(1, 2)), before: map[keys.Key]table.Item{}}
	m.table = tabletest.NewWith(t, tabletest.Client(t, ownTokens), spec, &table.Options{Now: func() time.Time { return m.now }})
	without := m.table.Schema()
	without.TTLAttribute = ""
	m.raw = check.Must(table.New(tabletest.Client(t), without, nil))(t)
	// Ids and revisions are random. It is set last, since the start of an engine draws, too.
	// So the tests of this package are not parallel.
	cryptotest.SetGlobalRandom(t, 1)
	return m
}

// ownTokens gives each transaction another token. The library's is random, and so the same
// one in each run, which the engine of an earlier run knows.
func ownTokens(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("OwnTokens", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if write, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				write.ClientRequestToken = aws.String(strconv.FormatInt(time.Now().UnixNano(), 10))
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

// day returns a time of a day, from 0.
func day(n, hour, minute int) time.Time {
	return begun.AddDate(0, 0, n).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// at runs an operation at a time, and then the consumers of the stream.
func (m *maker) at(at time.Time, do func() error) {
	m.t.Helper()
	m.now = at
	check.OK(m.t, do())
	for m.follow() {
		m.now = m.now.Add(2 * time.Second)
	}
}

// follow gives the consumers the changes since its last call, in the order of the keys,
// and reports whether there were any. An engine's own stream has other times and
// numbers each time.
func (m *maker) follow() bool {
	m.t.Helper()
	if len(m.consumers) == 0 {
		return false
	}
	after := map[keys.Key]table.Item{}
	all := map[keys.Key]bool{}
	for _, item := range generated.Stored(m.t, m.raw) {
		after[m.raw.KeyOf("", item)] = item
		all[m.raw.KeyOf("", item)] = true
	}
	for k := range m.before {
		all[k] = true
	}
	before := m.before
	m.before = after
	changed := false
	for _, k := range slices.SortedFunc(mapKeys(all), func(a, b keys.Key) int {
		return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK))
	}) {
		if !reflect.DeepEqual(before[k], after[k]) {
			changed = true
			m.deliver(k, before[k], after[k])
		}
	}
	return changed
}

func mapKeys(all map[keys.Key]bool) func(func(keys.Key) bool) {
	return func(yield func(keys.Key) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	}
}

// deliver gives the consumers one change.
func (m *maker) deliver(k keys.Key, before, after table.Item) {
	m.t.Helper()
	m.sequence++
	change := map[string]any{
		"ApproximateCreationDateTime": m.now.Unix(), "StreamViewType": "NEW_AND_OLD_IMAGES",
		"SequenceNumber": strconv.Itoa(4200000000000 + 100*m.sequence),
		"Keys":           m.json(check.Must(m.raw.IndexKey("", k))(m.t)),
	}
	name := "MODIFY"
	if after == nil {
		name = "REMOVE"
	} else {
		change["NewImage"] = m.json(after)
	}
	if before == nil {
		name = "INSERT"
	} else {
		change["OldImage"] = m.json(before)
	}
	event := map[string]any{"Records": []any{map[string]any{
		"eventID": fmt.Sprintf("%032x", m.sequence), "eventName": name, "eventSource": "aws:dynamodb",
		"eventSourceARN": check.StreamOf(m.table), "dynamodb": change,
	}}}
	for _, c := range m.consumers {
		check.Deliver(m.t, c, check.Must(json.Marshal(event))(m.t))
	}
}

// json returns an item in DynamoDB's JSON, with its attributes in order of their names.
func (m *maker) json(item table.Item) any {
	m.t.Helper()
	var v any
	check.OK(m.t, json.Unmarshal(check.Must(attributevalue.MarshalMapJSON(item))(m.t), &v))
	return v
}

// compare compares the files of the seed with what is stored. Items expire in 2099,
// since reads leave out what has expired, but for those that stay as they are.
func (m *maker) compare(name string, forms []repo.Form, stays func(typ string, expiry time.Time) bool) {
	m.t.Helper()
	items := generated.Stored(m.t, m.raw)
	slices.SortFunc(items, func(a, b table.Item) int {
		x, y := m.raw.KeyOf("", a), m.raw.KeyOf("", b)
		return cmp.Or(cmp.Compare(x.PK, y.PK), cmp.Compare(x.SK, y.SK))
	})
	var text bytes.Buffer
	line := json.NewEncoder(&text)
	line.SetEscapeHTML(false)
	for _, item := range items {
		var read struct {
			Type   string    `dynamodbav:"entityType"`
			Expiry time.Time `dynamodbav:"expiresAt,unixtime"`
		}
		check.OK(m.t, item.Decode(&read))
		if _, expires := item["expiresAt"]; expires && !stays(read.Type, read.Expiry) {
			never := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
			item["expiresAt"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(never, 10)}
		}
		if _, counts := item["version"]; counts {
			// The library begins to count at a random number.
			item["version"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(1+m.rand.Int64N(1<<52), 10)}
		}
		check.OK(m.t, line.Encode(map[string]any{"Item": m.json(item)}))
	}
	if n := len(items); n < 100 || n > 350 || text.Len() > maxFile {
		m.t.Errorf("%d items, %d bytes", n, text.Len())
	}
	generated.File(m.t, folder+name+".jsonl", text.String())
	// "singletable view" knows the entities by it, before it has read anything.
	model := check.Must(tablemodel.Infer(m.schema, items))(m.t)
	file := check.Must(json.MarshalIndent(model, "", "  "))(m.t)
	generated.File(m.t, folder+name+".json", string(file)+"\n")
	generated.SchemaFile(m.t, "../../"+name+"/schema.json", m.schema, items, forms...)
}

// pick returns one of the values.
func pick[T any](m *maker, of []T) T { return of[m.rand.IntN(len(of))] }
