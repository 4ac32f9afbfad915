package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// exported returns a table as an export has it: the items as the engine sends them.
func (h Harness) exported(t *testing.T, tbl *table.Table) []byte {
	t.Helper()
	var file bytes.Buffer
	lines := json.NewEncoder(&file)
	lines.SetEscapeHTML(false)
	keep := func(o *dynamodb.Options) {
		next := o.HTTPClient
		o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if err != nil {
				return nil, err
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			response.Body = io.NopCloser(bytes.NewReader(body))
			var page struct{ Items []json.RawMessage }
			if err == nil {
				err = json.Unmarshal(body, &page)
			}
			for _, item := range page.Items {
				must(t, lines.Encode(map[string]any{"Item": item}))
			}
			return response, err
		})
	}
	scan := dynamodb.NewScanPaginator(h.Client(t, keep), &dynamodb.ScanInput{
		TableName: aws.String(tbl.Schema().Name), ConsistentRead: aws.Bool(true), Limit: aws.Int32(7),
	})
	for scan.HasMorePages() {
		must(t, expect.ErrOf(scan.NextPage(t.Context())))
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	must(t, expect.ErrOf(w.Write(file.Bytes())))
	must(t, w.Close())
	return compressed.Bytes()
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// imported stores the items of a file in a table.
func imported(t *testing.T, tbl *table.Table, file io.Reader) {
	t.Helper()
	var ops []table.Op
	read := &backfill.Transfer{Table: tbl, Map: func(item table.Item) ([]table.Item, error) {
		ops = append(ops, table.Put(tbl.KeyOf("", item), item))
		return nil, nil
	}}
	report := expect.Value(read.Run(file, io.Discard, io.Discard))(t)
	equal(t, "set aside by the import", report.SetAside, 0)
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

// itemUnder reads what is stored under a key, expired or not.
func (h Harness) itemUnder(t *testing.T, tbl *table.Table, key keys.Key) table.Item {
	t.Helper()
	out := expect.Value(h.Client(t).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tbl.Schema().Name), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": str(string(key.PK)), "sk": str(string(key.SK))},
	}))(t)
	return out.Item
}

func transfers(t *testing.T, h Harness) {
	const customers = 20
	source, target := h.newTable(t, appCore()), h.newTable(t, appCore())
	seedCustomers(t, source, customers)
	// The progress of a job does not come along: it would skip items of the new table.
	job := customerJob(t, source)
	job.Name = "of another release"
	job.Entities = []backfill.Entity{newRepo(t, source, customer0Entity)}
	must(t, expect.ErrOf(job.Run(t.Context())))
	others := map[keys.Key]table.Item{
		{PK: "TYPES", SK: "A"}: {
			"s": str("ä <\"> \n"), "n": num("1.5"), "b": &types.AttributeValueMemberB{Value: []byte{0, 255}},
			"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
			"l":  &types.AttributeValueMemberL{Value: []types.AttributeValue{str("x"), mapOf(table.Item{})}},
			"m":  mapOf(table.Item{"a": mapOf(table.Item{"b": num("-1")})}),
			"ss": &types.AttributeValueMemberSS{Value: []string{"a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
			"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}},
		},
		{PK: "EXPIRED", SK: "A"}: {"expiresAt": num(fmt.Sprint(now.Unix() - 1))},
	}
	for key, item := range others {
		must(t, source.Do(t.Context(), table.Put(key, item)))
	}
	file := h.exported(t, source)

	var out, aside bytes.Buffer
	transfer := &backfill.Transfer{Table: target, Entities: []backfill.Entity{newRepo(t, target, customerEntity)}}
	report := expect.Value(transfer.Run(bytes.NewReader(file), &out, &aside))(t)
	equal(t, "report", report, backfill.TransferReport{
		Lines: customers*2 + 5 + 2 + 3, Entities: customers, Others: 5 + 2, Dropped: customers + 3,
		Written: customers*2 + 5 + 2, Copies: customers,
	})
	equal(t, "set aside", aside.String(), "")
	imported(t, target, &out)
	wantCustomers(t, "transferred", target, customers)
	for key := range others {
		equal(t, "other item", diffItems(h.itemUnder(t, source, key), h.itemUnder(t, target, key)), "")
	}
	if done := expect.Value(customerJob(t, target).DryRun(t.Context()))(t); !done.Complete() || done.Current != customers*2 {
		t.Errorf("verified: %v", done)
	}

	// What is as described keeps its revision.
	id, _, _, _ := customerName(3)
	before := raw(t, target, accountKey(id))
	again := h.newTable(t, appCore())
	out.Reset()
	transfer = &backfill.Transfer{Table: again, Entities: []backfill.Entity{newRepo(t, again, customerEntity)}}
	must(t, expect.ErrOf(transfer.Run(bytes.NewReader(h.exported(t, target)), &out, &aside)))
	imported(t, again, &out)
	equal(t, "transferred twice", diffItems(before, raw(t, again, accountKey(id))), "")
}

// refreshItems compares what an import stores with what a refresh stores.
func refreshItems(t *testing.T, h Harness) {
	ctx := t.Context()
	for name, spoil := range map[string]func(tbl *table.Table){
		"old shape": func(*table.Table) {},
		"current": func(tbl *table.Table) {
			must(t, expect.ErrOf(newRepo(t, tbl, customerEntity).Refresh(ctx, accountKey("u-1"))))
		},
		"stale index key": func(tbl *table.Table) { patched(t, tbl, accountKey("u-1"), table.Item{"gsi1sk": str("X")}) },
		"no revision": func(tbl *table.Table) {
			patched(t, tbl, accountKey("u-1"), nil, "revision")
			patched(t, tbl, mailKey("ana@x"), nil, "revision")
		},
		"another spelling": func(tbl *table.Table) {
			patched(t, tbl, accountKey("u-1"), table.Item{"Email": str("ana@x")}, "email")
			patched(t, tbl, mailKey("ana@x"), table.Item{"Email": str("ana@x")}, "email")
		},
		"unknown attribute": func(tbl *table.Table) {
			patched(t, tbl, accountKey("u-1"), table.Item{"unknown": num("1")})
			patched(t, tbl, mailKey("ana@x"), table.Item{"unknown": num("1")})
		},
		"local index key": func(tbl *table.Table) { patched(t, tbl, accountKey("u-1"), table.Item{"lsi1sk": str("X")}) },
	} {
		tbl := h.newTable(t, appCore())
		createOld(t, tbl)
		spoil(tbl)
		r := newRepo(t, tbl, customerEntity)
		stored, copied := raw(t, tbl, accountKey("u-1")), raw(t, tbl, mailKey("ana@x"))
		items := expect.Value(r.RefreshItems(stored))(t)
		equal(t, name+": items of a copy", len(expect.Value(r.RefreshItems(copied))(t)), 0)
		if ops := expect.Value(r.RefreshOps(ctx, stored))(t); len(ops) > 0 {
			must(t, tbl.Transact(ctx, ops...))
		}
		equal(t, name+": items", len(items), 2)
		same := name == "current"
		equal(t, name+": keeps the revision", textOf(items[0]["revision"]) == textOf(stored["revision"]), same)
		for i, key := range []keys.Key{accountKey("u-1"), mailKey("ana@x")} {
			want := raw(t, tbl, key)
			if !same {
				// Each write draws its own revision, the same for all items.
				want["revision"] = items[0]["revision"]
			}
			equal(t, fmt.Sprintf("%s: item %d", name, i), diffItems(want, items[i]), "")
			must(t, tbl.CheckItem(items[i]))
		}
	}
}
