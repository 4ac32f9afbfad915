package view_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

func filled(t *testing.T, change func(*view.Options)) *site {
	t.Helper()
	s := serve(t, shop(), change)
	seed(t, s.table)
	return s.open()
}

func TestOverview(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	page := s.get(s.at(""), http.StatusOK)
	page.id("facts").has(t, "Items", "26", "all were read", "expiresAt", "on demand", "off")
	page.id("indexes").has(t, "GSI1", "gsi1pk", "gsi2sk", "keys only")
	page.id("map").has(t, "IDEMPOTENCY", "no type", "USER#{userId}", "ORDER#{placedAt:time}#{orderId}", "EMAIL#{email}", "copy 1", "STATUS#{status}", "SESSION#{sessionId}")
	page.id("partitions").has(t, "USER#ana", "expires in 2 h", "expired 5 min ago")
	page.id("tabs").has(t, "Overview", "Table", "GSI1", "GSI2", "Query")
	if n := len(s.faults.Requests("Scan")); n != 5 {
		t.Errorf("%d scans, want one of each of five segments", n)
	}
}

// A table of 20,000 items opens as fast as an empty one.
func TestLargeTable(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	var ops []table.Op
	for i := range 20_000 {
		k := keys.Key{PK: keys.User.PK(strconv.Itoa(i / 10)), SK: order.SK(keys.Int(i, 6))}
		ops = append(ops, table.Put(k, table.Item{"entityType": str("ORDER")}))
	}
	for i := range 100 {
		ops = append(ops, table.Put(keys.Key{PK: keys.PK(fmt.Sprintf("AUDIT#%03d", i)), SK: "A"}, table.Item{}))
		ops = append(ops, table.Put(keys.Key{PK: keys.PK(fmt.Sprintf("PRODUCT#%03d", i)), SK: "A"}, table.Item{"entityType": str("PRODUCT")}))
	}
	if err := s.table.BatchWrite(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
	page := s.get(s.at(""), http.StatusOK)
	items := 0
	for _, r := range s.faults.Requests("Scan") {
		var scan struct{ Limit int }
		if err := json.Unmarshal(r.Body, &scan); err != nil || scan.Limit > 100 {
			t.Errorf("a scan has limit %d: %v", scan.Limit, err)
		}
		items += scan.Limit
	}
	if n := len(s.faults.Requests("Scan")); n > 12 || items > 110 {
		t.Errorf("%d scans of %d items", n, items)
	}
	page.id("map").has(t, "ORDER", "PRODUCT", "no type")
	page.id("facts").has(t, "about 20,200", "every six hours")
	// No item of the sample is in an index, which proves nothing.
	lacks(t, page.id("indexes"), "0 items")
	next := page.id("next").attributes["href"]
	before := len(s.faults.Requests())
	further := s.get(next, http.StatusOK)
	if got := s.sent(before); !slices.Equal(got, []string{"Scan"}) {
		t.Errorf("requests of the next page: %v", got)
	}
	further.id("lead").has(t, "The first 50 items of a Scan")
}

func TestPartition(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	page := s.get(s.at("/partition", "pk", "USER#ana"), http.StatusOK)
	var got []string
	for _, r := range rows(page) {
		got = append(got, r.children[0].children[0].text)
	}
	want := []string{
		"ORDER#2024-01-11T23:00:00.000Z#o-05", "ORDER#2024-01-13T06:00:00.000Z#o-04", "ORDER#2024-01-14T13:00:00.000Z#o-03",
		"ORDER#2024-01-15T20:00:00.000Z#o-02", "ORDER#2024-01-17T03:00:00.000Z#o-01", "ORDER#2024-01-18T10:00:00.000Z#o-00",
		"PROFILE", "SESSION#s-00", "SESSION#s-01",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sort keys: %q", got)
	}
	page.id("row-0").has(t, "6 days ago", "ORDER", "status", "sent", "3 more", "totalCents", "7500")
	page.id("row-7").has(t, "expires in 2 h")
	page.id("row-8").has(t, "expired 5 min ago")

	down := s.get(s.at("/partition", "pk", "USER#ana", "order", "desc", "prefix", "ORDER"), http.StatusOK)
	if all := rows(down); len(all) != 6 || !strings.Contains(all[0].text, "o-00") {
		t.Errorf("%d rows in descending order", len(all))
	}
	s.get(s.at("/partition", "pk", "USER#nobody"), http.StatusOK).id("content").has(t, "No item has this partition key.")
	s.get(s.at("/partition", "pk", "USER#ana", "prefix", "Z"), http.StatusOK).id("content").has(t, "begins so")
	s.get(s.at("/partition"), http.StatusBadRequest).id("error").has(t, "No partition")
	s.get(s.at("/partition", "pk", "x", "index", "GSI9"), http.StatusNotFound)

	// Escapes are undone, and the stored form is in the title.
	escaped := s.get(s.at("/partition", "pk", "USER#c%23d"), http.StatusOK).all(named("h1"))[0]
	escaped.has(t, "USER#c#d")
	if titles := escaped.all(func(e element) bool { return e.attributes["title"] == "stored as c%23d" }); len(titles) != 1 {
		t.Error("the stored form is not in a title")
	}
	for key, want := range map[string]string{
		"READING#1705578900123":         "as a time: Thu 18 Jan 2024, 11:55:00 UTC",
		"READING#0001705578900123":      "stored as 0001705578900123, as a time: Thu 18 Jan 2024, 11:55:00 UTC",
		"$device#reading_1705578900123": "as a time: Thu 18 Jan 2024, 11:55:00 UTC",
		"READING#1705578900":            "",
		"READING#4200000013300":         "",
	} {
		segments := s.get(s.at("/partition", "pk", key), http.StatusOK).all(named("h1"))[0].all(named("span"))
		if got := segments[len(segments)-1].attributes["title"]; got != want {
			t.Errorf("the title of %s is %q, want %q", key, got, want)
		}
	}
}

func rows(page element) []element {
	return page.id("items").all(func(e element) bool { return e.attributes["data-row"] != "" })
}

func TestPagesOfAPartition(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	for i := range 120 {
		s.put(table.Item{"pk": str("USER#many"), "sk": str(fmt.Sprintf("ORDER#%03d", i)), "entityType": str("ORDER")})
	}
	s.get(s.at("/browse"), http.StatusOK).id("partitions").has(t, "38 more")
	first := s.get(s.at("/partition", "pk", "USER#many"), http.StatusOK)
	second := s.get(first.id("next").attributes["href"], http.StatusOK)
	second.id("row-0").has(t, "ORDER#50")
	third := s.get(second.id("next").attributes["href"], http.StatusOK)
	if third.id("next").name != "" || len(rows(third)) != 20 {
		t.Error("the third page is not the last one")
	}
	back := s.get(third.id("prev").attributes["href"], http.StatusOK)
	back.id("row-0").has(t, "ORDER#50")
	if first.id("prev").name != "" {
		t.Error("the first page has a page before")
	}
	// A cursor that this process did not make.
	s.get(s.at("/partition", "pk", "USER#many", "after", "Uabc"), http.StatusBadRequest).id("error").has(t, "This page has expired")
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	page := s.get(s.at("/browse", "index", "GSI1"), http.StatusOK)
	page.id("partitions").has(t, "STATUS#paid", "STATUS#placed", "STATUS#sent", "ORDER")
	if n := len(s.faults.Requests("Scan")); n != 1 {
		t.Errorf("%d scans", n)
	}
	partition := s.get(s.at("/partition", "index", "GSI1", "pk", "STATUS#paid"), http.StatusOK)
	partition.id("row-0").has(t, "ORDER#2024-01-13T06:00:00.000Z", "USER#ana / ORDER#2024-01-13T06:00:00.000Z#o-04")
	list := s.get(s.at("/browse", "index", "GSI2", "as", "list"), http.StatusOK)
	list.has(t, "This index holds a part of each item.")
	if n := len(rows(list)); n != 6 {
		t.Errorf("%d rows", n)
	}
	// The address of a row is that of the item in the table.
	item := s.get(rows(list)[0].all(named("a"))[0].attributes["href"], http.StatusOK)
	item.id("attributes").has(t, "agent", "Firefox on Linux")
}

func TestItem(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	address := s.at("/item", "pk", "USER#ana", "sk", "PROFILE")
	page := s.get(address, http.StatusOK)
	page.id("attributes").has(t, "settings", "2 members", "weekly", "true", "roles", "buyer", "31 days ago")
	page.id("outside").has(t, "Not in GSI1, GSI2.")
	page.id("json").has(t, `"email": {`, `"S": "ana@example.com"`, `"BOOL": true`)
	item, err := table.Get[table.Item](t.Context(), s.table, keys.Key{PK: "USER#ana", SK: keys.Profile})
	if err != nil {
		t.Fatal(err)
	}
	if got := page.id("size").attributes["data-bytes"]; got != strconv.Itoa(item.Size()) {
		t.Errorf("%s bytes, want %d", got, item.Size())
	}
	page.id("facts").has(t, "Read units0.5", "Write units1")
	s.get(page.id("partition").attributes["href"], http.StatusOK).id("items").has(t, "PROFILE", "SESSION#s-00")
	s.put(table.Item{"pk": str("USER#ana"), "sk": str("NOTE"), "gsi1pk": str("NOTES")})
	note := s.get(s.at("/item", "pk", "USER#ana", "sk", "NOTE"), http.StatusOK)
	note.id("places").has(t, "GSI1 not in this index: it lacks gsi1sk")
	note.id("outside").has(t, "Not in GSI2.")

	// Too little was read to know the copies. The page offers to read more.
	page = s.get(page.id("learn").attributes["href"], http.StatusOK)
	page.id("copies").has(t, "copy 1 EMAIL#ana@example.com / PROFILE")
	if got := page.id("drift").attributes["data-drift"]; got != "0" {
		t.Errorf("drift %q, want 0", got)
	}
	order := s.get(s.at("/item", "pk", "USER#ana", "sk", "ORDER#2024-01-13T06:00:00.000Z#o-04"), http.StatusOK)
	order.id("places").has(t, "STATUS#paid / ORDER#2024-01-13T06:00:00.000Z")

	s.get(s.at("/item", "pk", "USER#ana", "sk", "NOTHING"), http.StatusNotFound).id("error").has(t, "No such item", "USER#ana / NOTHING Open its partition")
	response, body := s.fetch(s.request(http.MethodGet, s.at("/item.json", "pk", "USER#ana", "sk", "PROFILE")))
	if !json.Valid([]byte(body)) || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the item as JSON: %s", body)
	}
}

func TestCopies(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	mail := func(id string) keys.Key { return keys.Key{PK: email.PK(id + "@example.com"), SK: keys.Profile} }
	err := s.table.Do(t.Context(), table.Update(mail("ana"), expression.Set(expression.Name("name"), expression.Value("Anna"))))
	if err == nil {
		err = s.table.Do(t.Context(), table.Delete(mail("ben")))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.get(s.at(""), http.StatusOK)
	for _, k := range []keys.Key{{PK: "USER#ana", SK: keys.Profile}, mail("ana")} {
		page := s.get(s.at("/item", "pk", string(k.PK), "sk", string(k.SK)), http.StatusOK)
		if got := page.id("drift").attributes["data-drift"]; got != "1" {
			t.Errorf("%s: drift %q, want 1", k.PK, got)
		}
		drifted := page.id("copies").all(func(e element) bool { _, drift := e.attributes["data-drift"]; return drift })
		if len(drifted) != 1 {
			t.Fatalf("%d attributes differ", len(drifted))
		}
		drifted[0].has(t, "name", "differs", "Person 0", "Anna")
	}
	page := s.get(s.at("/item", "pk", "USER#ben", "sk", "PROFILE"), http.StatusOK)
	page.id("drift").has(t, "1 item missing")
}

func TestTables(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	// Other tests have tables, too, so this one may be on a later page.
	page := s.get("/?from="+s.name[:len(s.name)-1], http.StatusOK)
	page.id("tables").has(t, s.name)

	one := filled(t, nil)
	only := serve(t, shop(), func(o *view.Options) { o.Table = one.name }).open()
	response, _ := only.fetch(only.request(http.MethodGet, "/"))
	if got := response.Request.URL.Path; got != only.root+"/t/"+one.name {
		t.Errorf("the start is %s", got)
	}
	only.get("/t/"+s.name, http.StatusNotFound).id("error").has(t, "Another table")
	only.get("/t/a", http.StatusNotFound)
	only.get("/nowhere", http.StatusNotFound)
}

func TestCursor(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	if page := s.get("/cursor", http.StatusOK); page.id("h-cursor").name != "" {
		t.Error("there is a result without a cursor")
	}
	page := s.get("/cursor?cursor=abc", http.StatusOK)
	page.id("cursor-facts").has(t, "sealed, page", "3 characters")
	page.id("position").has(t, `S "TX#<b>"`)
	if len(s.faults.Requests()) != 0 {
		t.Error("a request was sent")
	}
}

// TestKinds opens a table and an index whose keys are numbers and bytes, and one whose
// keys have several attributes.
func TestKinds(t *testing.T) {
	t.Parallel()
	spec := schema.Table{
		Name: "Kinds", PKType: "B", SKType: "N",
		Indexes: []schema.Index{
			{Name: "ByNumber", PK: "n", PKType: "N"},
			{Name: "Several", PKs: []schema.Attribute{{Name: "a"}, {Name: "b", Type: "N"}}, SKs: []schema.Attribute{{Name: "c"}}},
		},
	}
	s := serve(t, spec, nil).open()
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	for _, sk := range []string{"10", "9", "-1.5"} {
		s.put(table.Item{
			"pk": &types.AttributeValueMemberB{Value: []byte{0xff, 0, '&', '"'}}, "sk": number(sk),
			"n": number("7"), "a": str("x"), "b": number("2"), "c": str("c" + sk), "entityType": str("T"),
		})
	}
	page := s.get(s.at("/browse"), http.StatusOK)
	link := page.id("partitions").all(named("a"))[0].attributes["href"]
	partition := s.get(link, http.StatusOK)
	var got []string
	for _, r := range rows(partition) {
		got = append(got, r.children[0].text)
	}
	if !slices.Equal(got, []string{"-1.5", "9", "10"}) {
		t.Errorf("sort keys %q", got)
	}
	s.get(rows(partition)[0].all(named("a"))[0].attributes["href"], http.StatusOK).id("content").has(t, "/wAmIg== / -1.5", "ByNumber 7", "x / 2 / c-1.5")
	form := s.get(partition.id("as-query").attributes["href"], http.StatusOK)
	if got := form.id("result").attributes["data-count"]; got != "3" {
		t.Errorf("%s items by the form", got)
	}
	byNumber := s.get(s.at("/browse", "index", "ByNumber"), http.StatusOK).id("partitions").all(named("a"))[0]
	if n := len(rows(s.get(byNumber.attributes["href"], http.StatusOK))); n != 3 {
		t.Errorf("%d rows by number", n)
	}
	several := s.get(s.at("/browse", "index", "Several"), http.StatusOK).id("partitions").all(named("a"))[0]
	if href := several.attributes["href"]; !strings.HasSuffix(href, "index=Several&pk=x&pk=2") {
		t.Errorf("a partition key of two attributes: %s", href)
	}
}

func TestErrorsOfDynamoDB(t *testing.T) {
	t.Parallel()
	s := filled(t, func(o *view.Options) { o.Timeout = 300 * time.Millisecond })
	s.get(s.at("/partition", "pk", "USER#ana"), http.StatusOK)
	s.faults.Next("Query", tabletest.Status(400, "AccessDeniedException", "User: <b>x</b> is not authorized"))
	s.get(s.at("/partition", "pk", "USER#ana"), http.StatusForbidden).id("error").has(t, "Permission denied", "<b>x</b>", "dynamodb:DescribeTable")
	s.faults.Next("Query", tabletest.Block(nil))
	s.get(s.at("/partition", "pk", "USER#ana"), http.StatusGatewayTimeout).id("error").has(t, "DynamoDB does not respond", "300ms")
	s.get("/t/no-such-table", http.StatusNotFound).id("error").has(t, "No such table or index", "table no-such-table: ")
}

// A schema file tells the entities before anything was read, and the table adds the
// indexes that the file lacks.
func TestModel(t *testing.T) {
	t.Parallel()
	model := tablemodel.Model{
		Table: schema.Table{Name: "", Indexes: shop().Indexes[:1]},
		Entities: []tablemodel.Entity{{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{
			{PK: "USER#{userId}", SK: "PROFILE"}, {PK: "EMAIL#{email}", SK: "PROFILE"},
		}}},
	}
	s := filled(t, func(o *view.Options) { o.Model = &model })
	model.Name = s.name
	page := s.get(s.at("/item", "pk", "USER#c%23d", "sk", "PROFILE"), http.StatusOK)
	page.id("copies").has(t, "copy 1 EMAIL#c#d@example.com / PROFILE")
	if got := s.sent(0); !slices.Equal(got, []string{"BatchGetItem", "DescribeTable", "DescribeTimeToLive", "GetItem"}) {
		t.Errorf("requests: %v", got)
	}
	page.id("tabs").has(t, "GSI1", "GSI2")
	s.get(s.at(""), http.StatusOK).id("map").has(t, "USER#{userId}", "EMAIL#{email}", "STATUS#{status}")
}

// TestConcurrentPages is for the race detector.
func TestConcurrentPages(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	var wait sync.WaitGroup
	for range 4 {
		for _, address := range []string{
			s.at(""), s.at("/browse", "index", "GSI1"), s.at("/partition", "pk", "USER#ana"), s.at("/item", "pk", "USER#ana", "sk", "PROFILE"),
		} {
			wait.Go(func() {
				response, err := s.browser.Do(s.request(http.MethodGet, address))
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = response.Body.Close() }()
				if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("%s: status %d, %v", address, response.StatusCode, err)
				}
			})
		}
	}
	wait.Wait()
}
