package view_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// shown returns the names of the attributes that a row shows at once.
func shown(row element) (names []string) {
	cell := row.all(func(e element) bool { return e.attributes["class"] == "a" })[0]
	for _, c := range cell.children {
		if c.attributes["class"] == "attr" {
			names = append(names, strings.TrimSpace(c.children[0].text))
		}
	}
	return names
}

// A list shows what tells its items apart, and first what people call them.
func TestListsTellItemsApart(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	for i := range 5 {
		s.put(table.Item{
			"pk": str("SHOP"), "sk": str(fmt.Sprintf("ORDER#2024-01-1%dT00:00:00.000Z#o-%d", i, i)), "entityType": str("ORDER"),
			"about": str("the same for all"), "batch": str(fmt.Sprintf("b-%d", i%2)), "checksum": str(fmt.Sprintf("sum %d", i)), "expiresAt": number("1705924800"),
			"gsi1pk": str(fmt.Sprintf("STATUS#s%d", i)), "gsi1sk": str(fmt.Sprintf("ORDER#%d", i)), "id": str(fmt.Sprintf("01HM0000000000000000000%03d", i)),
			"mail": str(fmt.Sprintf("a%d@example.com", i)), "orderId": str(fmt.Sprintf("o-%d", i)), "placedAt": str(fmt.Sprintf("2024-01-1%dT00:00:00Z", i)),
			"revision": str("r" + fmt.Sprint(i)), "secret": raw(fmt.Sprint(i)), "serial": number(strings.Repeat("4", 38-i)), "status": str(fmt.Sprintf("s%d", i)),
			"title": str(fmt.Sprintf("Order %d", i)), "token": str(fmt.Sprintf("dGhpcyBpcyBub3QgYSB0ZXh%d", i)), "totalCents": number(fmt.Sprint(100 + i)),
			"uuid": str(fmt.Sprintf("6ba7b810-9dad-11d1-80b4-00c04fd430c%d", i)),
		})
	}
	s.get(s.at(""), http.StatusOK)
	row := s.get(s.at("/partition", "pk", "SHOP"), http.StatusOK).id("row-1")
	if got, want := shown(row), []string{"title", "status", "mail", "totalCents"}; !slices.Equal(got, want) {
		t.Errorf("attributes %q, want %q", got, want)
	}
	row.has(t, "batch", "the same for all") // unfolded

	// The keys of an index say the status.
	row = s.get(s.at("/partition", "pk", "STATUS#s1", "index", "GSI1"), http.StatusOK).id("row-0")
	if got, want := shown(row), []string{"title", "mail", "totalCents", "about"}; !slices.Equal(got, want) {
		t.Errorf("attributes in the index %q, want %q", got, want)
	}
}

// A list does not repeat what the keys of its index say.
func TestListsOfIndexes(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Plain", Indexes: []schema.Index{{Name: "byCity", PK: "city", SK: "born", SKType: "N"}, {Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	s := serve(t, spec, nil).open()
	for i := range 5 {
		s.put(table.Item{
			"pk": str(fmt.Sprintf("USER#u%d", i)), "sk": str("PROFILE"), "entityType": str("USER"), "userId": str(fmt.Sprintf("u%d", i)), "name": str(fmt.Sprint("n", i)),
			"city": str("Köln"), "born": number(fmt.Sprint(1990 + i)), "tenant": str("acme"), "gsi1pk": str("TENANT#acme"), "gsi1sk": str(fmt.Sprintf("USER#u%d", i)),
		})
	}
	s.get(s.at(""), http.StatusOK)
	row := s.get(s.at("/browse", "as", "list"), http.StatusOK).id("row-0")
	if got, want := shown(row), []string{"name", "born"}; !slices.Equal(got, want) {
		t.Errorf("attributes %q, want %q", got, want)
	}
	row.has(t, "city", "Köln")
	row = s.get(s.at("/partition", "index", "GSI1", "pk", "TENANT#acme"), http.StatusOK).id("row-0")
	if got, want := shown(row), []string{"name", "born"}; !slices.Equal(got, want) {
		t.Errorf("attributes in the index %q, want %q", got, want)
	}
}

// Numbers that are times are shown as dates.
func TestDatesOfNumbers(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	s.put(table.Item{
		"pk": str("A"), "sk": str("1"), "expiresAt": number("1705924800"), "createdAt": number("1705579200"),
		"seenAt": number("1705579200000"), "count": number("1705579200"), "at": number("7"), "since": str("2024-01-18T11:00:00Z"),
	})
	page := s.get(s.at("/item", "pk", "A", "sk", "1"), http.StatusOK).id("attributes")
	for name, want := range map[string]string{
		"expiresAt": "1705924800 Mon 22 Jan 2024, 12:00:00 UTC in 4 days", "createdAt": "1705579200 Thu 18 Jan 2024, 12:00:00 UTC now",
		"seenAt": "1705579200000 Thu 18 Jan 2024, 12:00:00 UTC now", "count": "1705579200", "at": "7", "since": "2024-01-18T11:00:00Z 1 h ago",
	} {
		for _, r := range page.all(named("tr")) {
			if r.children[0].text == name {
				if got := r.children[2].text; got != want {
					t.Errorf("%s is shown as %q, want %q", name, got, want)
				}
			}
		}
	}
	s.get(s.at("/partition", "pk", "A"), http.StatusOK).id("row-0").has(t, "Thu 18 Jan 2024, 12:00:00 UTC", "expires in 4 days")
}

// The first page has people before lines of an audit, and a few partitions of each kind.
func TestOverviewOpensOnPeople(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	for i := range 30 {
		s.put(table.Item{"pk": str(fmt.Sprintf("AUDIT#%02d", i)), "sk": str("CHANGE#1"), "entityType": str("AUDIT"), "number": number(strings.Repeat("9", 38))})
	}
	page := s.get(s.at(""), http.StatusOK)
	first := page.id("partitions").all(named("tbody"))[0].children
	if !strings.HasPrefix(strings.TrimSpace(first[0].text), "USER#") {
		t.Errorf("the first partition is %s", first[0].text)
	}
	audits := slices.DeleteFunc(slices.Clone(first), func(e element) bool { return !strings.HasPrefix(strings.TrimSpace(e.text), "AUDIT#") })
	if len(audits) != 3 {
		t.Errorf("%d partitions of an audit, want 3", len(audits))
	}
	if rows := mapRows(page); !slices.IsSorted(rows) || rows[0] != "AUDIT" {
		t.Errorf("the types are not in the order of their names: %q", rows)
	}
}

// A zero that is known to be wrong is not shown.
func TestCountsOfDynamoDB(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	lacks(t, s.get(s.at(""), http.StatusOK).id("indexes"), "0 items")
	empty := serve(t, shop(), nil).open()
	page := empty.get(empty.at(""), http.StatusOK)
	page.id("facts").has(t, "Items0", "all were read")
	page.id("indexes").has(t, "GSI2 gsi2pk / gsi2sk keys only, 0 items")
}

// The page of an item has a bounded height, whatever the item is.
func TestManyAttributes(t *testing.T) {
	t.Parallel()
	model := tablemodel.Model{Entities: []tablemodel.Entity{{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{{PK: "{1}", SK: "{2}"}}}}}
	s := serve(t, shop(), func(o *view.Options) { o.Write, o.Model = true, &model })
	model.Name = s.name
	s.open()
	item := table.Item{"pk": str("MANY"), "sk": str("1"), "entityType": str("USER"), "gsi1pk": str("z"), "gsi1sk": str("z"), "revision": str("r1")}
	for i := range 8000 {
		item[fmt.Sprintf("a%04d", i)] = &types.AttributeValueMemberBOOL{Value: i%2 == 0}
	}
	s.put(item)
	response, body := s.fetch(s.request(http.MethodGet, s.at("/item", "pk", "MANY", "sk", "1")))
	if response.StatusCode != http.StatusOK || len(body) > 300_000 {
		t.Errorf("status %d, %d bytes", response.StatusCode, len(body))
	}
	page := parse(t, body)
	page.check(t)
	page.id("more").has(t, "7,701 further attributes, not shown", "All as JSON")
	if n := len(page.id("attributes").all(named("tr"))); n != 301 {
		t.Errorf("%d rows", n)
	}
	row := s.get(s.at("/partition", "pk", "MANY"), http.StatusOK).id("row-0")
	row.has(t, "7997 more", "7,957 further attributes")
	s.submit(page, "delete", "delete", http.StatusOK, nil).id("more-differences").has(t, "7,706 further differences")
}

// A name with a bracket or a dot is that of an attribute, and not of an element.
func TestBracketsInNames(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), func(o *view.Options) { o.Write = true }).open()
	s.put(table.Item{"pk": str("A"), "sk": str("1"), "a": list(str("x")), "a[0]": str("x"), "b.c[": str("x"), "[]": str("x")})
	edit := s.get(s.at("/edit", "pk", "A", "sk", "1"), http.StatusOK)
	text := strings.Replace(strings.Replace(edit.id("text").text, `"a[0]": {"S": "x"}`, `"a[0]": {"S": "y"}`, 1), `"b.c[": {"S": "x"},`, "", 1)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": text})
	review.id("review").has(t, `"a[0]"`, `"b.c["`)
	s.submit(review, "confirm", "write", http.StatusOK, nil).id("done").has(t, "written")
	got := s.stored(keys.Key{PK: "A", SK: "1"})
	if values(got, "a[0]") != "y" || got["b.c["] != nil || got["a"] == nil {
		t.Errorf("stored: %v", got)
	}
	item := s.get(s.at("/item", "pk", "A", "sk", "1"), http.StatusOK)
	s.submit(s.submit(item, "delete", "delete", http.StatusOK, nil), "confirm", "write", http.StatusOK, nil).id("done").has(t, "deleted")
}

// Where each partition has one item, they are a list.
func TestSimpleKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, schema.Table{Name: "Simple", PK: "id", SimpleKey: true}, nil).open()
	s.put(table.Item{"id": str("u-1"), "name": str("Ana")}, table.Item{"id": str("u-2"), "name": str("Ben")})
	for _, page := range []string{"", "/browse"} {
		items := s.get(s.at(page), http.StatusOK).id("items")
		items.has(t, "Ana", "Ben")
		if n := strings.Count(items.text, "u-1"); n != 1 {
			t.Errorf("%q has the key %d times", page, n)
		}
	}
}

// Expired items are behind the others.
func TestExpiredItemsAreLast(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	for _, key := range []string{"A 1 gone", "B 1 gone", "B 2 live", "C 1 live"} {
		item := table.Item{"pk": str(key[:1]), "sk": str(key[2:]), "entityType": str("T"), "expiresAt": number("1805924800")}
		if strings.HasSuffix(key, "gone") {
			item["expiresAt"] = number("1505924800")
		}
		s.put(item)
	}
	for _, page := range []string{"", "/browse"} {
		grid := s.get(s.at(page), http.StatusOK).id("partitions")
		var got []string
		for _, c := range grid.all(func(e element) bool { return strings.HasPrefix(e.attributes["class"], "cell") && e.name == "li" }) {
			got = append(got, strings.TrimSpace(c.children[0].text)+" "+strings.Fields(c.attributes["class"])[1][:3])
		}
		if want := []string{"2 live hue", "1 gone gon", "1 live hue", "1 gone gon"}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
