package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/singletable/singletable/cmd/singletable/internal/agent"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// tenants has users of tenants under TENANT#…, orders among them in an index by status, and a
// log whose keys have two attributes.
func tenants(t *testing.T, change func(*schema.Table)) (agent.Options, *tabletest.Faults) {
	t.Helper()
	spec := schema.Table{Name: "Tenants", TTLAttribute: "expiresAt", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}
	if change != nil {
		change(&spec)
	}
	tbl := tabletest.New(t, spec, nil)
	var ops []table.Op
	put := func(values ...string) { // names and values by turns
		item := table.Item{}
		for i := 0; i < len(values); i += 2 {
			item[values[i]] = &types.AttributeValueMemberS{Value: values[i+1]}
		}
		ops = append(ops, table.Put(tbl.KeyOf("", item), item))
	}
	for _, tenant := range []string{"acme", "beta"} {
		pk := "TENANT#" + tenant
		put("pk", pk, "sk", "USER#zoe@acme.com", "entityType", "USER", "tenant", tenant, "email", "zoe@acme.com", "cursor", "c-1",
			"GSI1PK", "NAME#zoe", "GSI1SK", pk)
		put("pk", pk, "sk", "LOG#2024#zoe@acme.com", "entityType", "LOG", "tenant", tenant, "at", "2024", "email", "zoe@acme.com")
		for i := range 40 {
			put("pk", pk, "sk", fmt.Sprintf("ORDER#%02d", i), "entityType", "ORDER", "tenant", tenant, "n", fmt.Sprintf("%02d", i),
				"GSI1PK", "STATUS#open", "GSI1SK", fmt.Sprintf("%s#%02d", tenant, i), "text", strings.Repeat("x", 2000)+"\u202e\U000e0041<b>")
		}
	}
	ok(t, tbl.BatchWrite(t.Context(), ops...))
	faults := &tabletest.Faults{}
	return agent.Options{
		Client: tabletest.Client(t, faults.Install), Call: large, Session: large, Model: tablemodel.Model{Table: tbl.Schema(), Entities: []tablemodel.Entity{
			{Type: "USER", Items: []tablemodel.Pattern{{PK: "TENANT#{tenant}", SK: "USER#{email}", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "NAME#{1}", SK: "TENANT#{tenant}"}}}}},
			{Type: "LOG", Items: []tablemodel.Pattern{{PK: "TENANT#{tenant}", SK: "LOG#{at}#{email}"}}},
			{Type: "ORDER", Items: []tablemodel.Pattern{{PK: "TENANT#{tenant}", SK: "ORDER#{n}", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "STATUS#open", SK: "{tenant}#{n}"}}}}},
			{Type: "BY", Items: []tablemodel.Pattern{{PK: "BY#{cursor}", SK: "{limit}"}}},
		}},
	}, faults
}

func (s session) names(t *testing.T) (names []string) {
	t.Helper()
	tools, err := s.ListTools(t.Context(), nil)
	ok(t, err)
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A partition of the table that is out of the scope is not read: neither what that costs nor
// how long it takes tells what is there.
func TestPartitionsOutOfTheScopeAreNotRead(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, nil)
	o.Partitions, o.Call = []string{"TENANT#acme"}, agent.Budget{Units: 2, Items: 10, Bytes: 1e5}
	s := connect(t, o)
	for _, pk := range []string{"TENANT#beta", "TENANT#none"} {
		for tool, arguments := range map[string]map[string]any{
			"list_items": {"pk": pk}, "get_item": {"pk": pk, "sk": "ORDER#01"}, "list_ORDER_by_tenant": {"tenant": strings.TrimPrefix(pk, "TENANT#")},
		} {
			got := s.call(t, tool, arguments)
			if got.failed || len(got.StoredData) > 0 || got.Next != "" || got.Stopped != "" || got.ReadUnits != 0.5 {
				t.Errorf("%s of %s: %s", tool, pk, got.text)
			}
		}
	}
	if sent := faults.Requests(); len(sent) > 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "TENANT#acme"}); len(got.StoredData) == 0 {
		t.Error(got.text)
	}
}

// A cursor has a key, and its length would tell how long that is.
func TestCursorsTellNothing(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Call = agent.Budget{Units: 1e6, Items: 3, Bytes: 1e6}
	s := connect(t, o)
	first := s.call(t, "list_items", map[string]any{"pk": "TENANT#acme"})
	second := s.call(t, "list_items", map[string]any{"pk": "STATUS#open", "index": "GSI1"})
	if len(first.Next) != len(second.Next) || len(first.Next) != 26 {
		t.Errorf("%q and %q", first.Next, second.Next)
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "TENANT#beta", "cursor": first.Next}); !got.failed || !strings.Contains(got.text, "is not the next of a page") {
		t.Error(got.text)
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "TENANT#acme", "cursor": first.Next}); got.failed || len(got.StoredData) != 3 {
		t.Error(got.text)
	}
}

// With a hidden attribute nothing can be asked by keys as they are stored, and no key is shown
// that could be made of it.
func TestHiddenAttributesCannotBeGuessed(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Hidden = []string{"email"}
	s := connect(t, o)
	names := s.names(t)
	want := []string{
		"describe_table", "explain_key", "get_BY_by_cursor_limit", "get_ORDER_by_tenant_n", "list_BY_by_cursor",
		"list_LOG_by_tenant", "list_ORDER_by_tenant", "list_ORDER_in_GSI1", "list_USER_by_tenant",
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	tools, err := s.ListTools(t.Context(), nil)
	ok(t, err)
	for _, tool := range tools.Tools[2:] {
		if !strings.HasSuffix(tool.Description, "It finds items that have all attributes of the key.") {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
	}
	got := s.call(t, "list_USER_by_tenant", map[string]any{"tenant": "acme"})
	if len(got.StoredData) != 1 || strings.Contains(got.text, "zoe") {
		t.Errorf("%s", got.text)
	}
	// A bound is of one segment: it cannot go on into the next one.
	for _, bound := range []string{"2024#a", "2024#zz"} {
		for _, name := range []string{"from", "to"} {
			got := s.call(t, "list_LOG_by_tenant", map[string]any{"tenant": "acme", name: bound})
			if wanted := name == "to"; got.failed || (len(got.StoredData) == 1) != wanted {
				t.Errorf("%s %s: %s", name, bound, got.text)
			}
		}
	}
	if got := s.call(t, "list_LOG_by_tenant", map[string]any{"tenant": "acme", "from": "20", "to": "2024"}); len(got.StoredData) != 1 {
		t.Error(got.text)
	}

	o.Hidden = []string{"emial"}
	if s := connect(t, o); !strings.Contains(s.log.String(), "hidden attribute: check its name") || !strings.Contains(s.log.String(), "emial") {
		t.Errorf("%s", s.log)
	}
	for _, o := range []agent.Options{{Client: o.Client, Model: o.Model, Hidden: []string{""}}, {Client: o.Client, Model: o.Model, Partitions: []string{""}}} {
		if _, err := agent.New(o); err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Error(err)
		}
	}
}

// The budget of a session holds for calls that are sent at the same time.
func TestBudgetsOfConcurrentCalls(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Session, o.Call = agent.Budget{Units: 1e6, Items: 10, Bytes: 1e6}, agent.Budget{Units: 1e6, Items: 4, Bytes: 1e6}
	s := connect(t, o)
	var all sync.WaitGroup
	var mu sync.Mutex
	items := 0
	for range 30 {
		all.Go(func() {
			out, err := s.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "list_items", Arguments: map[string]any{"pk": "TENANT#acme"}})
			if err != nil || out.IsError {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			items += strings.Count(out.Content[0].(*mcp.TextContent).Text, `"entityType"`)
		})
	}
	all.Wait()
	if items != 10 {
		t.Errorf("%d items", items)
	}
}

// A call reads little more than its budget has units for.
func TestUnitsOfACall(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Call.Units = 3 // an item has 2 KB, so a request of 25 items would take 6.5
	got := connect(t, o).call(t, "list_items", map[string]any{"pk": "TENANT#acme"})
	if got.failed || got.Next == "" || got.Stopped == "" || len(got.StoredData) < 5 || len(got.StoredData) > 13 {
		t.Errorf("%d items: %.300s", len(got.StoredData), got.text)
	}
}

// An index that does not hold the type or the expiry of its items cannot tell what is in the
// scope: it is not offered, instead of being empty.
func TestIndexesWithoutTypeOrExpiry(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, func(spec *schema.Table) { spec.Indexes[0].Projection = types.ProjectionTypeKeysOnly })
	s := connect(t, o)
	if names := s.names(t); slices.Contains(names, "list_ORDER_in_GSI1") || !slices.Contains(names, "list_ORDER_by_tenant") {
		t.Errorf("%q", names)
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "STATUS#open", "index": "GSI1"}); !got.failed {
		t.Error(got.text)
	}
	if got := s.call(t, "describe_table", nil); got.Description["indexes"] != nil {
		t.Error(got.text)
	}
}

// A binary key is base64 in an argument, and a number any text that DynamoDB takes for it.
func TestKeysThatAreNoTexts(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{
		Name: "Bytes", PK: "id", SK: "at", PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeN,
		Indexes: []schema.Index{{Name: "prices", PK: "price", PKType: types.ScalarAttributeTypeN, SK: "b", SKType: types.ScalarAttributeTypeB}},
	}, nil)
	item := table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "Blob"},
		"id":         &types.AttributeValueMemberB{Value: []byte{1, '#', 0xff}}, "at": &types.AttributeValueMemberN{Value: "1.5"},
		"price": &types.AttributeValueMemberN{Value: "-0.25"}, "b": &types.AttributeValueMemberB{Value: []byte{0xfe}},
	}
	ok(t, tbl.Do(t.Context(), table.Put(tbl.KeyOf("", item), item)))
	o := agent.Options{
		Client: tabletest.Client(t), Call: large, Session: large, Model: tablemodel.Model{Table: tbl.Schema(), Entities: []tablemodel.Entity{
			{Type: "Blob", Items: []tablemodel.Pattern{{PK: "{id}", SK: "{at}", Indexes: map[string]tablemodel.Pattern{"prices": {PK: "{price}", SK: "{b}"}}}}},
		}},
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		partition string
		found     bool
	}{
		{"get_Blob_by_id_at", map[string]any{"id": "ASP/", "at": "1.5"}, "", true},
		{"get_Blob_by_id_at", map[string]any{"id": "ASP/", "at": json.RawMessage("15e-1")}, "ASP/", true},
		{"get_Blob_by_id_at", map[string]any{"id": "ASP/", "at": "+01.50"}, "", true},
		{"get_Blob_by_id_at", map[string]any{"id": "ASP/", "at": 1.5}, "AQ==", false},
		{"get_item", map[string]any{"pk": "ASP/", "sk": 1.5}, "", true},
		{"list_items", map[string]any{"pk": "ASP/"}, "ASP/", true},
		{"list_items", map[string]any{"index": "prices", "pk": "-.25"}, "", true},
		{"list_Blob_by_id", map[string]any{"id": "ASP/"}, "", true},
		{"list_Blob_by_price_in_prices", map[string]any{"price": -0.25}, "", true},
	} {
		o.Partitions = nil
		if c.partition != "" {
			o.Partitions = []string{c.partition}
		}
		if got := connect(t, o).call(t, c.tool, c.arguments); got.failed || (len(got.StoredData) == 1) != c.found {
			t.Errorf("%s %v: %s", c.tool, c.arguments, got.text)
		}
	}
	o.Partitions = nil
	s := connect(t, o)
	for tool, arguments := range map[string]map[string]any{
		"get_Blob_by_id_at": {"id": "ASP", "at": "1"}, "get_item": {"pk": "ASP", "sk": "1"}, "list_items": {"pk": "ASP"}, "explain_key": {"pk": "ASP"},
	} {
		if got := s.call(t, tool, arguments); !got.failed || !strings.Contains(got.text, "it is binary, and not base64") {
			t.Errorf("%s: %s", tool, got.text)
		}
	}
	if got := s.call(t, "explain_key", map[string]any{"pk": "ASP/", "sk": "1.50"}); fmt.Sprint(got.Description["entities"]) != "[Blob]" || !strings.Contains(got.text, "ASP/") {
		t.Error(got.text)
	}
	o.Partitions = []string{"ASP"}
	if _, err := agent.New(o); err == nil || !strings.Contains(err.Error(), "-partition: it is binary") {
		t.Error(err)
	}
}

// A call ends, and says why.
func TestACallEnds(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, nil)
	o.Patience = 50 * time.Millisecond
	faults.Always("GetItem", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	s := connect(t, o)
	if got := s.call(t, "get_item", map[string]any{"pk": "TENANT#acme", "sk": "x"}); !got.failed || !strings.Contains(got.text, "took too long") {
		t.Error(got.text)
	}
	if !strings.Contains(s.log.String(), "took too long") {
		t.Errorf("%s", s.log)
	}
}

// Attributes that are called as arguments are have other ones; and no argument is longer than
// a key.
func TestArguments(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	s := connect(t, o)
	if got := s.call(t, "get_BY_by_cursor_limit", map[string]any{"attribute_cursor": "c", "attribute_limit": "l"}); got.failed {
		t.Error(got.text)
	}
	if got := s.call(t, "explain_key", map[string]any{"pk": strings.Repeat("#", 2049)}); !got.failed {
		t.Errorf("%.100s", got.text)
	}
}

// Text that cannot be seen is escaped, and the values are as stored. Names in a schema file can
// come from a table too.
func TestInvisibleText(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Model.Entities[3].Type = "BY\u202e\n\U000e0100"
	s := connect(t, o)
	got := s.call(t, "get_item", map[string]any{"pk": "TENANT#acme", "sk": "ORDER#01"})
	if strings.ContainsAny(got.text, "\u202e\U000e0041") || !strings.HasSuffix(fmt.Sprint(got.StoredData[0]["text"]), "\u202e\U000e0041<b>") {
		t.Errorf("%q", got.text)
	}
	tools, err := s.ListTools(t.Context(), nil)
	ok(t, err)
	for _, tool := range tools.Tools {
		if strings.HasPrefix(tool.Name, "get_BY") && !strings.HasPrefix(tool.Description, `The entity BY\u202e\n\udb40\udd00: reads`) {
			t.Errorf("%q", tool.Description)
		}
	}
}

// Where a key of another pattern looks like one that is asked for, a guess of a hidden attribute
// would be found: with a hidden attribute, keys are compared with what makes them.
func TestHiddenAttributesInKeysOfOtherPatterns(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	o.Model.Entities[0].Items = append(o.Model.Entities[0].Items, tablemodel.Pattern{PK: "TENANT#{tenant}", SK: "USER#{cursor}"})
	o.Hidden = []string{"email"}
	s := connect(t, o)
	for tool, arguments := range map[string]map[string]any{
		"get_USER_by_tenant_cursor": {"tenant": "acme", "attribute_cursor": "zoe@acme.com"},
		"list_USER_by_tenant_2":     {"tenant": "acme", "from": "zoe@acme.com", "to": "zoe@acme.com"},
	} {
		if got := s.call(t, tool, arguments); got.failed || len(got.StoredData) > 0 {
			t.Errorf("%s: %s", tool, got.text)
		}
	}
	// A key that is like a pattern, and not made of the item's attributes, is not shown.
	tbl, err := table.New(o.Client, o.Model.Table, nil)
	ok(t, err)
	for name, attributes := range map[string]map[string]string{
		"eve@x.org": {"cursor": "c-9"}, "dan@x.org": {"email": "other@x.org", "cursor": "c-8"},
	} {
		item := table.Item{}
		for k, v := range attributes {
			item[k] = &types.AttributeValueMemberS{Value: v}
		}
		for k, v := range map[string]string{"pk": "TENANT#drifted", "sk": "USER#" + name, "entityType": "USER", "tenant": "drifted"} {
			item[k] = &types.AttributeValueMemberS{Value: v}
		}
		ok(t, tbl.Do(t.Context(), table.Put(tbl.KeyOf("", item), item)))
	}
	for _, tool := range []string{"list_USER_by_tenant", "list_USER_by_tenant_2"} {
		if got := s.call(t, tool, map[string]any{"tenant": "drifted"}); got.failed || strings.Contains(got.text, "@x.org") {
			t.Errorf("%s: %s", tool, got.text)
		}
	}
}

// The partitions of an index can be those of the table.
func TestPartitionsOfIndexesOutOfTheScope(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, func(spec *schema.Table) {
		spec.Indexes = append(spec.Indexes, schema.Index{Name: "sorted", PK: "pk", SK: "GSI1SK"})
	})
	o.Partitions = []string{"TENANT#acme"}
	s := connect(t, o)
	if got := s.call(t, "list_items", map[string]any{"pk": "TENANT#beta", "index": "sorted"}); got.failed || len(faults.Requests()) > 0 {
		t.Error(got.text)
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "TENANT#acme", "index": "sorted"}); len(got.StoredData) != 41 {
		t.Errorf("%d items", len(got.StoredData))
	}
}

// A read that is cut off has a cost that nobody knows: it counts as a whole call.
func TestReadsThatAreCutOffCount(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, nil)
	o.Patience, o.Call.Units, o.Session.Units = 50*time.Millisecond, 5, 9
	faults.Next("GetItem", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	faults.Next("GetItem", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	s := connect(t, o)
	for i, says := range []string{"took too long", "took too long", "is used up"} {
		if got := s.call(t, "get_item", map[string]any{"pk": "TENANT#acme", "sk": "x"}); !got.failed || !strings.Contains(got.text, says) {
			t.Errorf("%d: %s", i, got.text)
		}
	}
}

// A call that ends before it reads anything counts nothing.
func TestCallsThatDoNotReadCountNothing(t *testing.T) {
	t.Parallel()
	o, faults := tenants(t, nil)
	o.Patience, o.Call.Units, o.Session.Units = 1, 5, 9
	s := connect(t, o)
	for range 20 {
		if got := s.call(t, "get_item", map[string]any{"pk": "TENANT#acme", "sk": "x"}); !got.failed || !strings.Contains(got.text, "took too long") {
			t.Fatal(got.text)
		}
	}
	if n := len(faults.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// An item that a page has no room for is on the next one, whole.
func TestPagesHaveWholeItems(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	for _, index := range []string{"", "GSI1"} {
		pk := map[string]string{"": "TENANT#acme", "GSI1": "STATUS#open"}[index]
		for _, bytes := range []int{2300, 5000, 30_000} {
			o.Call.Bytes = bytes
			s := connect(t, o)
			seen := map[string]int{}
			arguments := map[string]any{"pk": pk}
			if index != "" {
				arguments["index"] = index
			}
			for range 200 {
				got := s.call(t, "list_items", arguments)
				if got.failed || strings.Contains(got.Stopped, "larger") {
					t.Fatal(got.text)
				}
				for _, item := range got.StoredData {
					seen[fmt.Sprint(item["pk"], item["sk"])]++
				}
				if got.Next == "" {
					break
				}
				arguments["cursor"] = got.Next
			}
			want := map[string]int{"": 42, "GSI1": 80}[index]
			if len(seen) != want || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
				t.Errorf("%d bytes of %q: %d items, want %d: %v", bytes, index, len(seen), want, seen)
			}
		}
	}
}

// Bounds have the form that the attribute has in the key.
func TestBounds(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	tbl, err := table.New(o.Client, o.Model.Table, nil)
	ok(t, err)
	for _, day := range []string{"01", "02", "03"} {
		item := table.Item{}
		for k, v := range map[string]string{"pk": "AT#acme", "sk": "AT#2024-01-" + day + "T00:00:00.000Z", "entityType": "BY"} {
			item[k] = &types.AttributeValueMemberS{Value: v}
		}
		ok(t, tbl.Do(t.Context(), table.Put(tbl.KeyOf("", item), item)))
	}
	for _, c := range []struct {
		pattern  tablemodel.Pattern
		from, to string
		want     int // -1 for an error
	}{
		{tablemodel.Pattern{PK: "TENANT#{tenant}", SK: "ORDER#{n:2}"}, "5", "9", 5},
		{tablemodel.Pattern{PK: "TENANT#{tenant}", SK: "ORDER#{n:2}"}, "x", "", -1},
		{tablemodel.Pattern{PK: "TENANT#{tenant}", SK: "ORDER#{n:2}"}, "+5.0", "9e0", 5},
		{tablemodel.Pattern{PK: "TENANT#{tenant}", SK: "ORDER#{n}"}, "1", "1", 10},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "2024-01-02", "", 2},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "2024-01-02T01:00:00+01:00", "2024-01-02T00:00:00Z", 1},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time-ms}"}, "2024-01-02", "2024-01", 2},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time-ms}"}, "2024-01-02T01:00:00+01:00", "2024-01-02T00:00:00Z", 1},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time-ms}"}, "1704153600000", "1704153600000", 1},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "2024", "2024-01-02T0", 2},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "2024-01-02T00:00:00", "2024-01-3", 2},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "yesterday", "", -1},
		{tablemodel.Pattern{PK: "AT#{tenant}", SK: "AT#{at:time}"}, "", "2024-13", -1},
	} {
		o := o
		kind := map[bool]string{true: "BY", false: "ORDER"}[strings.HasPrefix(c.pattern.PK, "AT")]
		o.Model.Entities = []tablemodel.Entity{{Type: kind, Items: []tablemodel.Pattern{c.pattern}}}
		got := connect(t, o).call(t, "list_"+kind+"_by_tenant", map[string]any{"tenant": "acme", "from": c.from, "to": c.to, "limit": 1e18})
		if got.failed != (c.want < 0) || len(got.StoredData) != max(c.want, 0) {
			t.Errorf("%v from %q to %q: %d items, want %d: %.200s", c.pattern, c.from, c.to, len(got.StoredData), c.want, got.text)
		}
	}
}

// A binary key can hold a hidden attribute, and no pattern tells.
func TestBinaryKeysNextToHiddenAttributes(t *testing.T) {
	t.Parallel()
	for _, sk := range []string{"", "{missing}", "{bytes}"} {
		o, _ := tenants(t, func(spec *schema.Table) {
			spec.Indexes = append(spec.Indexes, schema.Index{Name: "binary", PK: "GSI1PK", SK: "bytes", SKType: types.ScalarAttributeTypeB})
		})
		order := &o.Model.Entities[2].Items[0]
		order.Indexes = map[string]tablemodel.Pattern{"binary": {PK: "STATUS#open", SK: sk}}
		o.Hidden = []string{"email"}
		tbl, err := table.New(o.Client, o.Model.Table, nil)
		ok(t, err)
		item := table.Item{"bytes": &types.AttributeValueMemberB{Value: []byte("zoe@acme.com")}}
		for k, v := range map[string]string{"pk": "TENANT#acme", "sk": "ORDER#99", "entityType": "ORDER", "tenant": "acme", "n": "99", "GSI1PK": "STATUS#open"} {
			item[k] = &types.AttributeValueMemberS{Value: v}
		}
		ok(t, tbl.Do(t.Context(), table.Put(tbl.KeyOf("", item), item)))
		got := connect(t, o).call(t, "get_ORDER_by_tenant_n", map[string]any{"tenant": "acme", "n": "99"})
		if len(got.StoredData) != 1 || got.StoredData[0]["GSI1PK"] != "STATUS#open" || got.StoredData[0]["bytes"] != nil {
			t.Errorf("%q: %s", sk, got.text)
		}
	}
}

// The bytes of a budget are those of a result, in which text that cannot be seen is longer.
func TestBytesAreThoseOfTheResult(t *testing.T) {
	t.Parallel()
	o, _ := tenants(t, nil)
	tbl, err := table.New(o.Client, o.Model.Table, nil)
	ok(t, err)
	item := table.Item{}
	for k, v := range map[string]string{"pk": "TENANT#acme", "sk": "ORDER#99", "entityType": "ORDER", "text": strings.Repeat("\u200b", 1000)} {
		item[k] = &types.AttributeValueMemberS{Value: v}
	}
	ok(t, tbl.Do(t.Context(), table.Put(tbl.KeyOf("", item), item)))
	for bytes, whole := range map[int]bool{5000: false, 7000: true} {
		o.Call.Bytes = bytes
		got := connect(t, o).call(t, "get_item", map[string]any{"pk": "TENANT#acme", "sk": "ORDER#99"})
		if len(got.StoredData) != 1 || got.StoredData[0]["text"] != nil != whole || whole != (got.Stopped == "") {
			t.Errorf("%d bytes: %.300s", bytes, got.text)
		}
	}
}

// Keys of ElectroDB hold attributes in lower case behind labels: a hidden one hides them, and the
// others can be asked for in any case.
func TestLabelledKeys(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "Shop", TypeAttribute: "__edb_e__", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}, nil)
	var ops []table.Op
	for _, id := range []string{"A-1", "B-2"} {
		item, lower := table.Item{}, strings.ToLower(id)
		for name, value := range map[string]string{
			"pk": "$shop#customerid_c-9", "sk": "$order_1#orderid_" + lower, "gsi1pk": "$shop#email_zoe@acme.com", "gsi1sk": "$order_1#orderid_" + lower,
			"__edb_e__": "order", "customerId": "C-9", "orderId": id, "email": "Zoe@acme.com",
		} {
			item[name] = &types.AttributeValueMemberS{Value: value}
		}
		ops = append(ops, table.Put(tbl.KeyOf("", item), item))
	}
	ok(t, tbl.BatchWrite(t.Context(), ops...))
	o := agent.Options{Client: tabletest.Client(t), Call: large, Session: large, Hidden: []string{"email"}, Model: tablemodel.Model{Table: tbl.Schema(), Entities: []tablemodel.Entity{
		{Type: "order", Items: []tablemodel.Pattern{{
			PK: "$shop#customerid_{customerId:lower}", SK: "$order_1#orderid_{orderId:lower}",
			Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "$shop#email_{email:lower}", SK: "$order_1#orderid_{orderId:lower}"}},
		}}},
	}}}
	s := connect(t, o)
	if names := s.names(t); len(names) != 4 || strings.Contains(s.log.String(), "check its name") {
		t.Errorf("%q\n%s", names, s.log)
	}
	for tool, arguments := range map[string]map[string]any{
		"get_order_by_customerId_orderId": {"customerId": "c-9", "orderId": "b-2"},
		"list_order_by_customerId":        {"customerId": "C-9", "from": "B"},
	} {
		got := s.call(t, tool, arguments)
		if got.failed || len(got.StoredData) != 1 || !strings.Contains(got.text, "B-2") || strings.Contains(strings.ToLower(got.text), "zoe") {
			t.Errorf("%s: %s", tool, got.text)
		}
	}
	// A '#' would go on in the next segment.
	for name, value := range map[string]string{"customerId": "c-9#x", "from": "a#", "to": "a#"} {
		arguments := map[string]any{"customerId": "c-9", name: value}
		if got := s.call(t, "list_order_by_customerId", arguments); !got.failed {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	o.Model.Entities[0].Items[0].Indexes = map[string]tablemodel.Pattern{"GSI1": {PK: "$shop#{1}", SK: "$order_1#{2}"}}
	s = connect(t, o)
	if !strings.Contains(s.log.String(), "no pattern of a key names this hidden attribute") {
		t.Errorf("%s", s.log)
	}
	if got := s.call(t, "list_order_by_customerId", map[string]any{"customerId": "C-9"}); len(got.StoredData) != 2 || strings.Contains(strings.ToLower(got.text), "zoe") {
		t.Error(got.text)
	}
}

// Items without a type attribute are of the entity that their keys and attributes tell. An index
// that does not hold these is not offered.
func TestKinds(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{
		Name: "Devices", TypeAttribute: "type",
		Kinds: []schema.Kind{
			{Type: "DEVICE", PK: "DEVICE#", SK: "META"},
			{Type: "READING", PK: "DEVICE#", SK: "READING#", Equal: map[string]string{"of": "sensor"}, Exists: []string{"at"}},
		},
		Indexes: []schema.Index{
			{Name: "unit", PK: "unit", Projection: types.ProjectionTypeInclude, Include: []string{"of", "at"}},
			{Name: "keys", PK: "unit", Projection: types.ProjectionTypeKeysOnly},
		},
	}, nil)
	var ops []table.Op
	for sk, more := range map[string]table.Item{
		"META": {}, "READING#1": {"of": &types.AttributeValueMemberS{Value: "sensor"}, "at": &types.AttributeValueMemberS{Value: "1"}},
		"READING#2": {"at": &types.AttributeValueMemberS{Value: "2"}}, "NOTE#1": {"type": &types.AttributeValueMemberS{Value: "DEVICE"}},
	} {
		more["id"], more["unit"] = &types.AttributeValueMemberS{Value: "d-1"}, &types.AttributeValueMemberS{Value: "bar"}
		ops = append(ops, table.Put(keys.Key{PK: "DEVICE#d-1", SK: keys.SK(sk)}, more))
	}
	ok(t, tbl.BatchWrite(t.Context(), ops...))
	byUnit := tablemodel.Pattern{PK: "{unit}"}
	o := agent.Options{Client: tabletest.Client(t), Call: large, Session: large, Model: tablemodel.Model{Table: tbl.Schema(), Entities: []tablemodel.Entity{
		{Type: "DEVICE", Items: []tablemodel.Pattern{{PK: "DEVICE#{id}", SK: "META"}}},
		{Type: "READING", Items: []tablemodel.Pattern{{
			PK: "DEVICE#{id}", SK: "READING#{at}", Indexes: map[string]tablemodel.Pattern{"unit": byUnit, "keys": byUnit},
		}}},
	}}}
	s := connect(t, o)
	if got := s.call(t, "describe_table", nil); got.Description["typeAttribute"] != nil {
		t.Errorf("no item in the scope has a type attribute: %s", got.text)
	}
	if got := s.call(t, "get_DEVICE_by_id", map[string]any{"id": "d-1"}); len(got.StoredData) != 1 {
		t.Error(got.text)
	}
	for _, list := range []map[string]any{{"pk": "DEVICE#d-1"}, {"pk": "bar", "index": "unit"}} {
		if got := s.call(t, "list_items", list); len(got.StoredData) != 2 {
			t.Errorf("a device and its reading: %s", got.text)
		}
	}
	if got := s.call(t, "list_items", map[string]any{"pk": "bar", "index": "keys"}); !got.failed {
		t.Error(got.text)
	}
	for sk, want := range map[string][]any{"META": {"DEVICE"}, "READING#7": {"READING"}, "NOTE#1": {}} {
		if got := s.call(t, "explain_key", map[string]any{"pk": "DEVICE#d-1", "sk": sk}); !slices.Equal(got.Description["entities"].([]any), want) {
			t.Errorf("%s: %s", sk, got.text)
		}
	}
}
