package conformance

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/multikey"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func multiKeyTests() tests {
	return tests{
		"queries by leading sort keys and a range": multiKeyQueries,
		"an item without one is not in the index":  multiKeySparse,
		"layouts are compared":                     multiKeyLayouts,
	}
}

// shipment has the keys of an index as attributes.
type shipment struct {
	ID      string `dynamodbav:"id"`
	Tenant  string `dynamodbav:"tenant,omitempty"`
	Region  string `dynamodbav:"region,omitempty"`
	Year    int    `dynamodbav:"year,omitempty"`
	Carrier string `dynamodbav:"carrier,omitempty"`
}

func (s shipment) key() keys.Key { return keys.Key{PK: "SHIPMENT#" + keys.PK(s.ID), SK: keys.Metadata} }

var shipments = schema.Table{Indexes: []schema.Index{{
	Name: "byRegion",
	PKs:  []schema.Attribute{{Name: "tenant"}, {Name: "region"}},
	SKs:  []schema.Attribute{{Name: "year", Type: types.ScalarAttributeTypeN}, {Name: "carrier"}},
}}}

// multiKeyTable returns a table whose index has keys of several attributes. An engine
// that makes it and cannot query it is queried by package multikey. The table is nil
// for one that does not make it.
func (h Harness) multiKeyTable(t *testing.T) *table.Table {
	t.Helper()
	if h.Capabilities.NoMultiKeys {
		client := h.Client(t)
		wantErr(t, h.named(t, client, shipments).Ensure(t.Context(), client), schema.ErrUnsupported)
		return nil
	}
	tbl := h.newTable(t, shipments)
	_, err := table.QueryPage[shipment](t.Context(), tbl, table.Query{Index: "byRegion", PKs: []string{"a", "b"}})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ValidationException" {
		// Such an engine shows writes at once, and holds items that should not be there.
		return expect.Value(table.NewWithClient(multikey.New(t, h.prompt(t), tbl.Schema()), tbl.Schema(), options()))(t)
	}
	must(t, err)
	return tbl
}

func multiKeyQueries(t *testing.T, h Harness) {
	tbl := h.multiKeyTable(t)
	if tbl == nil {
		return
	}
	for i := range 24 {
		s := shipment{ID: strconv.Itoa(i), Tenant: "acme", Region: []string{"EU", "NA"}[i%2], Year: 8 + i%4, Carrier: []string{"a", "b#1", "b#2"}[i%3]}
		must(t, tbl.Do(t.Context(), table.Put(s.key(), s)))
	}
	for _, tt := range []struct {
		sks  []string
		in   keys.Range
		want []string
	}{
		{nil, keys.Range{}, []string{"8 a", "8 a", "8 b#1", "8 b#1", "8 b#2", "8 b#2", "10 a", "10 a", "10 b#1", "10 b#1", "10 b#2", "10 b#2"}},
		{nil, keys.Range{From: "9", To: "10"}, []string{"10 a", "10 a", "10 b#1", "10 b#1", "10 b#2", "10 b#2"}},
		{[]string{"8"}, keys.Range{Prefix: "b#"}, []string{"8 b#1", "8 b#1", "8 b#2", "8 b#2"}},
		{[]string{"10"}, keys.Range{From: "b"}, []string{"10 b#1", "10 b#1", "10 b#2", "10 b#2"}},
		{[]string{"10", "a"}, keys.Range{}, []string{"10 a", "10 a"}},
		{[]string{"9"}, keys.Range{}, []string{}},
	} {
		for _, descending := range []bool{false, true} {
			q := table.Query{
				Index: "byRegion", PKs: []string{"acme", "EU"}, SKs: tt.sks, Range: tt.in, Descending: descending, Limit: 3,
			}
			got := []string{}
			for more := true; more; more = q.After != "" {
				page := expect.Value(table.QueryPage[shipment](t.Context(), tbl, q))(t)
				for _, s := range page.Items {
					got = append(got, strconv.Itoa(s.Year)+" "+s.Carrier)
				}
				q.After = page.Next
			}
			want := slices.Clone(tt.want)
			if descending {
				slices.Reverse(want)
			}
			equal(t, "items", got, want)
		}
	}
}

func multiKeySparse(t *testing.T, h Harness) {
	tbl := h.multiKeyTable(t)
	if tbl == nil {
		return
	}
	s := shipment{ID: "1", Tenant: "acme", Region: "EU", Year: 9, Carrier: "a"}
	must(t, tbl.Do(t.Context(), table.Put(s.key(), s)))
	count := func() int {
		t.Helper()
		return expect.Value(tbl.Count(t.Context(), table.Query{Index: "byRegion", PKs: []string{"acme", "EU"}}))(t).Items
	}
	equal(t, "items", count(), 1)
	for _, name := range []string{"tenant", "region", "year", "carrier"} {
		must(t, tbl.Do(t.Context(), table.Patch(s.key(), nil, name)))
		equal(t, "items without "+name, count(), 0)
		must(t, tbl.Do(t.Context(), table.Put(s.key(), s)))
	}
	equal(t, "items", count(), 1)
}

func multiKeyLayouts(t *testing.T, h Harness) {
	tbl := h.multiKeyTable(t)
	if tbl == nil {
		return
	}
	client, spec := h.Client(t), tbl.Schema()
	must(t, spec.Verify(t.Context(), client))
	swapped := spec
	swapped.Indexes = slices.Clone(spec.Indexes)
	swapped.Indexes[0].PKs = []schema.Attribute{{Name: "region"}, {Name: "tenant"}}
	wantErr(t, swapped.Verify(t.Context(), client), schema.ErrMismatch)
	more := spec
	more.Indexes = append(slices.Clone(spec.Indexes), schema.Index{
		Name: "byType", PKs: []schema.Attribute{{Name: "entityType"}}, SKs: []schema.Attribute{{Name: "year", Type: types.ScalarAttributeTypeN}},
	}) // The default engine adds no index with more than two key attributes.
	must(t, more.Ensure(t.Context(), client))
	must(t, more.Verify(t.Context(), client))
}
