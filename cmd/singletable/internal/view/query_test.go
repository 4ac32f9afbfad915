package view_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

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
		{"pk", strings.Repeat("x", 3000)},
	} {
		page := s.get(s.at("/query", parameters...), http.StatusBadRequest)
		if page.id("problem").text == "" || len(s.faults.Requests("Query")) != 0 {
			t.Errorf("%q: no problem, or a request", parameters)
		}
	}
}
