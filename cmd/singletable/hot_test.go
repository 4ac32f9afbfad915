package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestCount(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	name := tbl.Schema().Name
	for file, args := range map[string][]string{
		"partition": {name, "USER#ana"}, // without the session, which has expired
		"prefix":    {"-json", "-prefix", "TX#2024-01-1", name, "USER#ana"},
		"index":     {"-index", "GSI1", name, "EMAIL#ana@example.com"},
		"estimate":  {name},
		"json":      {"-json", name},
		"scan":      {"-scan", name},
		"scan-no":   {"-scan", "-json", name},
		"scan-yes":  {"-scan", "-yes", name},
		"scan-json": {"-scan", "-yes", "-json", "-index", "GSI1", name},
	} {
		golden(t, "count-"+file, hide(tbl, run(t, nil, "", append([]string{"count"}, args...)...)))
	}
}

// skewed returns a table of 1,200 items, of which a fourth is in one partition.
func skewed(t *testing.T) *table.Table {
	t.Helper()
	spec := appCore()
	spec.Stream = types.StreamViewTypeKeysOnly
	tbl := tabletest.New(t, spec, nil)
	var ops []table.Op
	for i := range 1200 {
		key, kind := keys.Key{PK: keys.User.PK(fmt.Sprint(i / 3)), SK: keys.SK(fmt.Sprint(i % 3))}, "USER"
		if i%4 == 0 {
			key, kind = keys.Key{PK: "TENANT#big", SK: keys.SK(fmt.Sprint(i))}, "TENANT"
		}
		ops = append(ops, table.Put(key, table.Item{"entityType": &types.AttributeValueMemberS{Value: kind}, "gsi1pk": &types.AttributeValueMemberS{Value: kind}, "gsi1sk": &types.AttributeValueMemberS{Value: "x"}}))
	}
	store(t, tbl, ops...)
	return tbl
}

// hotJSON runs hot with -json.
func hotJSON[T any](t *testing.T, args ...string) (out T) {
	t.Helper()
	got := run(t, nil, "", append([]string{"hot", "-json"}, args...)...)
	if got.code != exitYes {
		t.Fatalf("%+v", got)
	}
	return decoded[T](t, got)
}

const bigKey = `{"pk":{"S":"TENANT#big"}}`

func TestHotWholeTable(t *testing.T) {
	t.Parallel()
	tbl := skewed(t)
	name := tbl.Schema().Name
	whole := hotJSON[hotSample](t, "-items", "5000", name)
	if !whole.Whole || whole.Items != 1200 || whole.PartitionsIn != 401 || len(whole.Partitions) != listed {
		t.Errorf("%+v", whole)
	}
	if first := whole.Partitions[0]; keyID(table.Item(first.Key)) != bigKey || first.Items != 300 || first.ItemShare != 0.25 || first.More {
		t.Errorf("the largest partition: %+v", first)
	}
	if diff := gocmp.Diff([]hotType{
		{Type: "USER", amount: whole.Types[0].amount, ItemShare: 0.75, Margin: new(float64), ByteShare: whole.Types[0].ByteShare},
		{Type: "TENANT", amount: whole.Types[1].amount, ItemShare: 0.25, Margin: new(float64), ByteShare: whole.Types[1].ByteShare},
	}, whole.Types, gocmp.AllowUnexported(hotType{})); diff != "" || whole.Types[0].Items != 900 {
		t.Error(whole.Types[0].Items, diff)
	}
	index := hotJSON[hotSample](t, "-index", "GSI1", "-items", "5000", name)
	if first := index.Partitions[0]; keyID(table.Item(first.Key)) != `{"gsi1pk":{"S":"USER"}}` || first.Items != 900 || index.PartitionsIn != 2 {
		t.Errorf("the index's largest partition: %+v", first)
	}
	text := run(t, nil, "", "hot", "-items", "5000", name)
	for _, s := range []string{"1,200 items in 401 partitions, the whole of it", "25.0 %", "TENANT#big", "the numbers are exact"} {
		if !strings.Contains(text.stdout, s) {
			t.Errorf("the output lacks %q:\n%s", s, text.stdout)
		}
	}
	if !strings.Contains(text.stderr, "reads up to 5,000 items. DynamoDB has not counted") {
		t.Error(text.stderr)
	}
}

func TestHotSample(t *testing.T) {
	t.Parallel()
	name := skewed(t).Schema().Name
	part := hotJSON[hotSample](t, "-items", "400", name)
	if part.Whole || part.Items < 400 || part.Items > 500 || part.AboutItems != 1200 || part.OfSegments != 24 || part.Segments < 4 {
		t.Errorf("%+v", part)
	}
	// DynamoDB's own count shows that the large partition is missing, or cut to 100 items.
	seen := 0
	for _, x := range part.Partitions {
		// A quarter of the sample is the most that one segment has of it.
		if keyID(table.Item(x.Key)) == bigKey {
			seen = x.Items
		}
		if keyID(table.Item(x.Key)) == bigKey && (!x.More || x.Items > 110) || keyID(table.Item(x.Key)) != bigKey && x.Items > 3 {
			t.Errorf("%+v", x)
		}
	}
	if part.Segments >= minSegments && seen == 0 && (part.Unseen < 0.15 || part.Unseen > 0.4) {
		t.Errorf("%.2f are not seen", part.Unseen)
	}
	trouble(t, run(t, nil, "", "hot", "-index", "GSI9", name), "no index of the name")
	trouble(t, run(t, nil, "", "hot", "-stream", "1s", "-index", "GSI1", name), "does not go with -index")
	trouble(t, run(t, nil, "", "hot", "-stream", "1s", tabletest.New(t, appCore(), nil).Schema().Name), "has no stream")
}

// TestMargin shows that a share is within its margin in about 95 of 100 samples, though
// the items of a segment are alike.
func TestMargin(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	type cluster struct{ items, users int }
	all, total := make([]cluster, 400), cluster{}
	for i := range all {
		items := 20 + random.IntN(60)
		all[i] = cluster{items, random.IntN(items + 1)}
		total.items, total.users = total.items+all[i].items, total.users+all[i].users
	}
	within, samples := 0, 1000
	for range samples {
		s := &sample{of: len(all)}
		for _, i := range random.Perm(len(all))[:20] {
			x := &segmentSample{amount: amount{Items: all[i].items}, types: map[string]amount{"USER": {Items: all[i].users}}}
			s.segments, s.total = append(s.segments, x), s.total.add(x.amount)
		}
		margin, ok := s.margin("USER")
		if !ok {
			t.Fatal("no margin")
		}
		if off := s.itemShare(s.typeAmounts()["USER"]) - float64(total.users)/float64(total.items); off <= margin && -off <= margin {
			within++
		}
	}
	if within < 920 || within > 985 {
		t.Errorf("%d of %d samples are within the margin", within, samples)
	}
	if _, ok := (&sample{of: 100, segments: make([]*segmentSample, minSegments-1)}).margin(""); ok {
		t.Error("a margin from too few segments")
	}
}

// TestHotStream writes while the command counts.
func TestHotStream(t *testing.T) {
	t.Parallel()
	tbl := skewed(t)
	done := make(chan struct{})
	wrote := make(chan int)
	go func() {
		n := 0
		defer func() { wrote <- n }()
		for ; ; n += 10 {
			select {
			case <-done:
				return
			default:
			}
			ops := make([]table.Op, 10)
			for i := range ops {
				key := keys.Key{PK: "TENANT#big", SK: keys.SK(fmt.Sprint(i))}
				if i == 0 {
					key.PK = keys.User.PK(fmt.Sprint(n))
				}
				ops[i] = table.Put(key, table.Item{"n": &types.AttributeValueMemberN{Value: fmt.Sprint(n)}})
			}
			if err := tbl.BatchWrite(t.Context(), ops...); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	var out hotStream
	for out.Writes < 20 && !t.Failed() { // a whole batch, also on a slow machine
		out = hotJSON[hotStream](t, "-stream", "1s", tbl.Schema().Name)
	}
	text := run(t, nil, "", "hot", "-stream", "1s", tbl.Schema().Name)
	close(done)
	n := <-wrote
	if out.Writes > int64(n) || len(out.Partitions) < 2 || out.Seconds != 1 {
		t.Errorf("%d writes, counted: %+v", n, out)
	}
	if first := out.Partitions[0]; first.Key != "TENANT#big" || first.Share < 0.7 || first.Share > 1 || first.Over != 0 {
		t.Errorf("%+v", first)
	}
	if text.code != exitYes || !strings.Contains(text.stdout, "TENANT#big") || !strings.Contains(text.stderr, "Counting the writes of 1s") {
		t.Errorf("%+v", text)
	}
}

// TestCosts says what a look at a large table takes, before it takes it.
func TestCosts(t *testing.T) {
	dynamo(t, http.StatusOK, `{
		"Table": {
			"TableName": "AppCore", "ItemCount": 2100000, "TableSizeBytes": 1073741824,
			"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
			"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}]
		}
	}`)
	scan := run(t, nil, "", "count", "-scan", "AppCore")
	if want := "about 2,100,000 items, 1,073,741,824 bytes: DynamoDB's own count, up to about 6 hours old\n" +
		"The scan takes about 131,072 read units. Nothing was read: give -yes to scan.\n"; scan != (result{stdout: want, code: exitNo}) {
		t.Errorf("%+v", scan)
	}
	consistent := run(t, nil, "", "count", "-scan", "-consistent", "-json", "AppCore")
	if out := decoded[itemCount](t, consistent); *out.ScanUnits != 262144 || consistent.code != exitNo {
		t.Errorf("%+v", consistent)
	}
	// The endpoint has no items in any segment.
	hot := run(t, nil, "", "hot", "AppCore")
	for _, s := range []string{"0 items in 0 partitions, from 220 of 42000 random segments", "about 100.0 % of\nthe items are in partitions"} {
		if !strings.Contains(hot.stdout, s) {
			t.Errorf("standard output lacks %q: %+v", s, hot)
		}
	}
	if want := "The sample reads about 1,000 items of about 2,100,000, for about 62.5 read units.\n"; hot.stderr != want {
		t.Errorf("%q", hot.stderr)
	}
}
