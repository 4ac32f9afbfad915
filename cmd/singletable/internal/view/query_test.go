package view_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	form := s.get(s.at("/query", "index", "GSI1"), http.StatusOK)
	if form.id("h-result").name != "" || len(s.faults.Requests("Query")) != 0 {
		t.Error("the empty form has sent a query")
	}
	for name, test := range map[string]struct {
		parameters []string
		count      int
		first      string
	}{
		"all":         {[]string{"pk", "USER#ana"}, 9, "o-05"},
		"descending":  {[]string{"pk", "USER#ana", "order", "desc"}, 9, "SESSION#s-01"},
		"equals":      {[]string{"pk", "USER#ana", "op", "eq", "sk", "PROFILE"}, 1, "PROFILE"},
		"begins with": {[]string{"pk", "USER#ana", "op", "begins", "sk", "SESSION#"}, 2, "s-00"},
		"between":     {[]string{"pk", "USER#ana", "op", "between", "sk", "ORDER#2024-01-13", "sk2", "ORDER#2024-01-16"}, 3, "o-04"},
		"from":        {[]string{"pk", "USER#ana", "op", "from", "sk", "PROFILE"}, 3, "PROFILE"},
		"to":          {[]string{"pk", "USER#ana", "op", "to", "sk", "P"}, 6, "o-05"},
		"limit":       {[]string{"pk", "USER#ana", "limit", "2"}, 2, "o-05"},
		"index":       {[]string{"index", "GSI1", "pk", "STATUS#paid"}, 4, "USER#ana"},
		"filter":      {[]string{"pk", "USER#ana", "attribute", "status", "equals", "paid"}, 2, "o-04"},
		"number":      {[]string{"pk", "USER#ana", "attribute", "totalCents", "kind", "number", "equals", "1250"}, 1, "o-00"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.faults.Requests("Query"))
			page := s.get(s.at("/query", test.parameters...), http.StatusOK)
			if n := len(s.faults.Requests("Query")) - before; n != 1 {
				t.Errorf("%d requests", n)
			}
			if got := len(rows(page)); got != test.count {
				t.Errorf("%d items, want %d", got, test.count)
			}
			page.id("row-0").has(t, test.first)
			if got := page.id("result").attributes["data-count"]; got != strconv.Itoa(test.count) {
				t.Errorf("count %s", got)
			}
		})
	}
}

// TestCost compares what a page says with what the engine has returned.
func TestCost(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	client := tabletest.Client(t)
	pk := ":pk"
	out, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &s.name, KeyConditionExpression: pointer("pk = " + pk), ConsistentRead: pointer(true), FilterExpression: pointer("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{pk: str("USER#ana"), ":s": str("paid")},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		t.Fatal(err)
	}
	page := s.get(s.at("/query", "pk", "USER#ana", "consistent", "1", "attribute", "status", "equals", "paid"), http.StatusOK)
	result := page.id("result").attributes
	want := map[string]string{
		"data-units": strconv.FormatFloat(*out.ConsumedCapacity.CapacityUnits, 'f', -1, 64),
		"data-count": strconv.Itoa(int(out.Count)), "data-scanned": strconv.Itoa(int(out.ScannedCount)),
	}
	for name, value := range want {
		if result[name] != value {
			t.Errorf("%s = %s, want %s", name, result[name], value)
		}
	}
	if got := page.id("units").attributes["data-units"]; got != want["data-units"] {
		t.Errorf("the page has cost %s, want %s", got, want["data-units"])
	}
	item := s.get(s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	if got := item.id("units").attributes["data-units"]; got != "1" {
		t.Errorf("a consistent read of an item has cost %s, want 1", got)
	}
}

// TestRequest compares the request on the page with the one that was sent.
func TestRequest(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	page := s.get(s.at("/query", "pk", "it's", "op", "begins", "sk", "\u202e#"), http.StatusOK)
	code := map[string]string{}
	for _, c := range page.id("request").all(named("code")) {
		code[c.attributes["class"]] = c.text
	}
	var want, got any
	if err := json.Unmarshal(s.faults.Requests("Query")[0].Body, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(code["json"]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-sent +shown):\n%s", diff)
	}
	for form, parts := range map[string][]string{
		"command": {"aws dynamodb query --table-name " + s.name, `it\'s`, "--region ", "--endpoint-url http"},
		"go":      {"client.Query(ctx, &dynamodb.QueryInput{", `"it's"`, "begins_with(#sk, :prefix)"},
	} {
		for _, p := range parts {
			if !strings.Contains(code[form], p) {
				t.Errorf("%q is not in the %s:\n%s", p, form, code[form])
			}
		}
		if strings.Contains(code[form], "\u202e") {
			t.Errorf("the %s has a character that reorders text", form)
		}
	}
}

func TestInvalidQuery(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	for _, parameters := range [][]string{
		{"pk", "USER#ana", "op", "between", "sk", "a"},
		{"pk", "USER#ana", "op", "eq"},
		{"pk", "USER#ana", "op", "like", "sk", "a"},
		{"pk", "USER#ana", "attribute", "x", "kind", "bool", "equals", "perhaps"},
		{"pk", "USER#ana", "attribute", "x", "kind", "number", "equals", "NaN"},
		{"pk", "USER#ana", "attribute", "x", "kind", "number", "equals", ""},
		{"pk", "USER#ana", "attribute", "x", "kind", "number", "is", "in", "equals", "1,,2"},
		{"pk", "USER#ana", "attribute", "x", "is", "like", "equals", "1"},
		{"pk", "USER#ana", "attribute", "x[0]", "is", "exists"},
		{"pk", strings.Repeat("x", 3000)},
	} {
		page := s.get(s.at("/query", parameters...), http.StatusBadRequest)
		if page.id("problem").text == "" || len(s.faults.Requests("Query")) != 0 {
			t.Errorf("%q: no problem, or a request", parameters)
		}
	}
}

// A page whose filter drops most items reads on by itself, within its budget.
func TestSparseFilters(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	var ops []table.Op
	for i := range 230 {
		item := table.Item{"entityType": str("ORDER"), "n": number(strconv.Itoa(i))}
		if i%70 == 3 {
			item["status"] = str("lost")
		}
		ops = append(ops, table.Put(keys.Key{PK: "USER#many", SK: order.SK(keys.Int(i, 6))}, item))
	}
	if err := s.table.BatchWrite(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
	open := func(address string, requests int) element {
		t.Helper()
		before := len(s.faults.Requests("Query"))
		page := s.get(address, http.StatusOK)
		if n := len(s.faults.Requests("Query")) - before; n != requests {
			t.Errorf("%d requests, want %d", n, requests)
		}
		return page
	}
	lost := []string{"pk", "USER#many", "attribute", "status", "equals", "lost"}
	// 50, 51 and 1 item, of which 2 pass: 100 do not.
	page := open(s.at("/query", lost...), 3)
	page.id("result").has(t, "2 items of 102 read in 3 requests")
	page.id("spent").has(t, "at most 100 items")
	open(s.at("/query", append(lost, "limit", "1")...), 3).id("result").has(t, "1 item of 7 read in 3 requests")
	open(s.at("/query", append(lost, "limit", "200")...), 2).id("result").has(t, "2 items of 102 read in 2 requests")

	page = open(s.at("/query", "pk", "USER#many", "attribute", "status", "equals", "none"), 2)
	page.id("content").has(t, "No item of those that were read passes the filters.", "0 items of 100 read in 2 requests")
	further := s.get(page.id("next").attributes["href"], http.StatusOK)
	further.id("result").has(t, "0 items of 100 read")
	s.get(further.id("next").attributes["href"], http.StatusOK).id("content").has(t, "No item of the partition passes", "0 items of 30 read")
	// Without a filter, a page is one request.
	open(s.at("/query", "pk", "USER#many"), 1).id("result").has(t, "50 items, ")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	for i, id := range []string{"a", "b", "c", "d"} {
		item := table.Item{"pk": str("P"), "sk": str(id), "name": str("name " + id), "n": number(strconv.Itoa(i)), "even": &types.AttributeValueMemberBOOL{Value: i%2 == 0}, "a[0]": str(id)}
		if i > 1 {
			item["tags"] = set("x", id)
		}
		s.put(item)
	}
	for filters, want := range map[string]string{
		"name||text|name b|":                           "b",
		"name|ne|text|name b|":                         "acd",
		"n|lt|number|1|":                               "a",
		"n|le|number|1|":                               "ab",
		"n|gt|number|1|":                               "cd",
		"n|ge|number|1.0|":                             "bcd",
		"n|between|number|1|2":                         "bc",
		"n|in|number|0, 3|":                            "ad",
		"name|in|text|name a,name b|":                  "ab",
		"name|begins|text|name|":                       "abcd",
		"name|contains|text|e c|":                      "c",
		"tags|contains|text|d|":                        "d",
		"tags|exists|text||":                           "cd",
		"tags|missing|text||":                          "ab",
		"even||bool|true|":                             "ac",
		"a[0]||text|b|":                                "b",
		"a[0]|in|text|b,c|":                            "bc",
		"n|gt|number|0|;even||bool|true|":              "c",
		"n|gt|number|0|;|||ignored|;even||bool|false|": "bd",
		"name|begins|text|name|;tags|exists|text||;n|ne|number|3|": "c",
	} {
		parameters := []string{"pk", "P"}
		for f := range strings.SplitSeq(filters, ";") {
			parts := strings.Split(f, "|")
			kind := strings.Replace(parts[2], "text", "", 1)
			parameters = append(parameters, "attribute", parts[0], "is", parts[1], "kind", kind, "equals", parts[3], "upto", parts[4])
		}
		page := s.get(s.at("/query", parameters...), http.StatusOK)
		var got string
		for _, r := range rows(page) {
			got += r.children[0].text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
		given := strings.Count(filters, ";") + 1 - strings.Count(filters, ";|||")
		if n := len(page.id("filters").all(func(e element) bool { return e.attributes["name"] == "attribute" })); n != given+1 {
			t.Errorf("%s: the form has %d filters", filters, n)
		}
	}
}

// A person chooses a pattern of the table, and gives the attributes.
func TestQueryByPattern(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	if page := s.get(s.at("/query"), http.StatusOK); page.id("patterns").name != "" {
		t.Error("there are patterns before anything was read")
	}
	s.get(s.at(""), http.StatusOK)
	page := s.get(s.at("/query"), http.StatusOK)
	pattern := func(parts ...string) element {
		t.Helper()
		for _, li := range page.id("patterns").all(named("li")) {
			ok := true
			for _, p := range parts {
				ok = ok && strings.Contains(li.text, p)
			}
			if ok {
				return s.get(li.all(named("a"))[0].attributes["href"], http.StatusOK)
			}
		}
		t.Fatalf("no pattern with %q in %s", parts, page.id("patterns").text)
		return element{}
	}
	labels := func(e element) (all []string) {
		for _, l := range e.id("access").all(named("label")) {
			all = append(all, l.text)
		}
		return all
	}
	orders := pattern("ORDER", "by userId", "Table", "USER#{userId} / ORDER#{placedAt:time}#{orderId}")
	if diff := cmp.Diff([]string{"userId", "placedAt a time, or the beginning of one", "orderId"}, labels(orders)); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		with  []string
		count int
		query string
	}{
		{[]string{"ana", "", ""}, 6, "USER#ana, sk begins with ORDER#"},
		{[]string{"ana", "2024-01-1", ""}, 6, "sk begins with ORDER#2024-01-1"},
		{[]string{"ana", "2024-01-13", "o-04"}, 1, "sk begins with ORDER#2024-01-13"},
		{[]string{"ana", "2024-01-13T06:00:00Z", ""}, 1, "sk begins with ORDER#2024-01-13T06:00:00.000Z#"},
		{[]string{"ana", "2024-01-13T06:00:00Z", "o-04"}, 1, "sk = ORDER#2024-01-13T06:00:00.000Z#o-04"},
		{[]string{"c#d", "", ""}, 2, "USER#c%23d, "},
	} {
		result := s.get(s.filledIn(orders, test.with), http.StatusOK)
		if n := len(rows(result)); n != test.count {
			t.Errorf("%q: %d rows, want %d", test.with, n, test.count)
		}
		result.id("refine").has(t, test.query)
	}
	s.get(s.filledIn(orders, []string{"", "x", ""}), http.StatusBadRequest).id("problem").has(t, "the partition key needs userId")
	byStatus := pattern("ORDER", "by status", "GSI1")
	if n := len(rows(s.get(s.filledIn(byStatus, []string{"paid", ""}), http.StatusOK))); n != 4 {
		t.Errorf("%d orders are paid", n)
	}
	s.get(s.at("/query", "of", "ORDER", "item", "9"), http.StatusNotFound).id("error").has(t, "No such pattern")

	last := s.get(s.at("/query"), http.StatusOK).id("last").all(named("a"))
	if len(last) != 7 || last[0].text != "GSI1: STATUS#paid, gsi1sk begins with ORDER#" {
		t.Errorf("%d last queries, the first is %q", len(last), last[0].text)
	}
	again := s.get(last[0].attributes["href"], http.StatusOK)
	again.id("result").has(t, "4 items")
	lacks(t, again.id("last"), last[0].text)
}

// The keys of ElectroDB have labels, and values in lower case that are not escaped.
func TestLabelledPatterns(t *testing.T) {
	t.Parallel()
	model := tablemodel.Model{Table: schema.Table{Name: ""}, Entities: []tablemodel.Entity{{Type: "USER", Items: []tablemodel.Pattern{
		{PK: "$shop#id_{userId:lower}", SK: "$order_1#at_{placedAt:time}#n_{n:raw}.{{"},
	}}}}
	s := filled(t, func(o *view.Options) { o.Model = &model })
	model.Name = s.name
	s.get(s.at(""), http.StatusOK).id("map").has(t, "$shop#id_{userId:lower}", "n_{n:raw}.{")
	form := s.get(s.at("/query", "of", "USER", "item", "0", "index", ""), http.StatusOK)
	for query, with := range map[string][]string{
		"$shop#id_a b, sk begins with $order_1#":            {"A B", "", ""},
		"$shop#id_007, sk begins with $order_1#at_2024-01":  {"007", "2024-01", ""},
		"sk = $order_1#at_2024-01-13T06:00:00.000Z#n_7 %.{": {"x", "2024-01-13T06:00:00Z", "7 %"},
	} {
		s.get(s.filledIn(form, with), http.StatusOK).id("refine").has(t, query)
	}
	s.get(s.filledIn(form, []string{"a#b", "", ""}), http.StatusBadRequest).id("problem").has(t, "a text with a '#'")
}

// filledIn returns the address that the form of a pattern leads to.
func (s *site) filledIn(page element, with []string) string {
	v := url.Values{"with": with}
	for _, in := range page.id("access").all(named("input")) {
		if in.attributes["type"] == "hidden" {
			v.Add(in.attributes["name"], in.attributes["value"])
		}
	}
	return page.id("access").attributes["action"] + "?" + v.Encode()
}
