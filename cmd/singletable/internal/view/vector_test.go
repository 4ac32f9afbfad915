package view_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// catalogue has products of two tenants with vectors, and some that lack what an index
// needs.
func catalogue(t *testing.T, change func(*view.Options)) *site {
	t.Helper()
	s := serve(t, schema.Table{Name: "Products", Vectors: []schema.VectorIndex{
		{
			Name: "byText", Attribute: "embedding", Dimensions: 12, Partition: schema.Attribute{Name: "tenant"},
			Filters: []schema.Attribute{{Name: "category"}, {Name: "stars", Type: "N"}},
		},
		{Name: "overall", Attribute: "embedding", Dimensions: 12, Distance: "DOT_PRODUCT", Projection: "INCLUDE", Include: []string{"name"}},
	}}, change)
	product := func(id, tenant, category, stars, name string, first ...float64) {
		item := table.Item{
			"pk": str("PRODUCT#" + id), "sk": str("METADATA"), "entityType": str("PRODUCT"),
			"category": str(category), "stars": number(stars), "name": str(name),
		}
		if tenant != "" {
			item["tenant"] = str(tenant)
		}
		if len(first) > 0 {
			item["embedding"] = vector(12, first...)
		}
		s.put(item)
	}
	product("1", "acme", "tea", "5", "green tea", 1, 0)
	product("2", "acme", "tea", "4", "black tea", 0.612345678, 0.8)
	product("3", "acme", "chair", "5", "chair", -0.5, 1)
	product("4", "other", "tea", "5", "tea pot", 1, 0)
	product("5", "acme", "tea", "1", "without a vector")
	product("6", "", "tea", "1", "without a tenant", 1, 0)
	return s.open()
}

// vector returns a list of numbers, which begins with the given ones.
func vector(n int, first ...float64) types.AttributeValue {
	l := &types.AttributeValueMemberL{}
	for i := range n {
		f := 0.03
		if i < len(first) {
			f = first[i]
		}
		l.Value = append(l.Value, number(strconv.FormatFloat(f, 'f', -1, 64)))
	}
	return l
}

func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func TestVectorIndexes(t *testing.T) {
	t.Parallel()
	s := catalogue(t, nil)
	page := s.get(s.at(""), http.StatusOK)
	page.id("vectors").has(t, "byText", "embedding 12 numbers", "cosine", "tenant", "category, stars (N)", "all attributes but the vector",
		"overall", "dot product", "none", "keys and name")
	page.id("tabs").has(t, "byText", "overall")

	item := func(id string) element {
		return s.get(s.at("/item", "pk", "PRODUCT#"+id, "sk", "METADATA"), http.StatusOK).id("content")
	}
	item("1").has(t, "byText, vectors 12 numbers in embedding, partition tenant acme", "Find similar", "overall, vectors 12 numbers in embedding")
	item("5").has(t, "Not in byText, overall.")
	item("6").has(t, "byText, vectors not in this index: it lacks tenant", "overall, vectors 12 numbers in embedding")
	if links := item("5").all(func(e element) bool { return e.text == "Find similar" }); len(links) != 0 {
		t.Error("an item without a vector has a search near it")
	}
}

func TestSimilar(t *testing.T) {
	t.Parallel()
	s := catalogue(t, nil)
	item := s.get(s.at("/item", "pk", "PRODUCT#1", "sk", "METADATA"), http.StatusOK)
	link := item.id("places").all(func(e element) bool { return e.text == "Find similar" })[0]
	page := s.get(link.attributes["href"], http.StatusOK)
	page.id("row-0").has(t, "0.0000", "PRODUCT#1", "PRODUCT", "this item", "green tea")
	page.id("row-1").has(t, "PRODUCT#2", "black tea")
	page.id("row-2").has(t, "PRODUCT#3")
	if n := len(rows(page)); n != 3 {
		t.Errorf("%d rows, want those of one tenant", n)
	}
	page.id("result").has(t, "3 items", "of vectors")
	page.id("lead").has(t, "0 is the same direction", "PRODUCT#1 / METADATA")
	if got := page.id("partition").attributes["value"]; got != "acme" {
		t.Errorf("partition %q", got)
	}
	if got, _ := strconv.Atoi(page.id("vector-bytes").attributes["data-bytes"]); got == 0 {
		t.Error("the page does not say what the search has cost")
	}
	var operations []string
	for _, r := range page.id("requests").all(named("li")) {
		operations = append(operations, r.attributes["data-operation"])
		if r.attributes["data-operation"] == "SearchVectors" {
			r.has(t, "aws dynamodb search-vectors --table-name "+s.name+" --index-name byText", "client.SearchVectors(ctx, &dynamodb.SearchVectorsInput{", "--top-k 10")
			if got := r.all(func(e element) bool { return e.attributes["class"] == "numbers" }); len(got) != 3 || got[0].attributes["data-count"] != "12" {
				t.Errorf("the vector of the request is shown as %d lists", len(got))
			}
		}
	}
	if got := fmt.Sprint(operations); got != "[GetItem SearchVectors]" {
		t.Errorf("requests: %s", got)
	}

	for name, test := range map[string]struct {
		parameters []string
		want       string
	}{
		"another tenant": {[]string{"partition", "other"}, "[4]"},
		"text":           {[]string{"filter", "chair"}, "[3]"},
		"number":         {[]string{"filter", "", "filter", "5"}, "[1 3]"},
		"both":           {[]string{"filter", "tea", "filter", "4"}, "[2]"},
		"top":            {[]string{"top", "2"}, "[1 2]"},
		"none":           {[]string{"partition", "nobody"}, "[]"},
	} {
		page := s.get(s.at("/similar", append([]string{"index", "byText", "pk", "PRODUCT#1", "sk", "METADATA"}, test.parameters...)...), http.StatusOK)
		var got []string
		for _, r := range rows(page) {
			key := r.all(named("a"))[0].text
			got = append(got, strings.TrimPrefix(key, "PRODUCT#"))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
	s.get(s.at("/similar", "index", "overall", "pk", "PRODUCT#3", "sk", "METADATA"), http.StatusOK).has(t, "This index holds a part", "a greater score is nearer")
	s.get(s.at("/similar", "index", "byText"), http.StatusOK).id("last").has(t, "near PRODUCT#1 / METADATA, tenant = acme, category = tea, stars = 4")
	s.get(s.at(""), http.StatusOK).id("vectors").has(t, "last search: near PRODUCT#3 / METADATA")
}

// A write says what it has cost in the indexes.
func TestChangeOfAVector(t *testing.T) {
	t.Parallel()
	s := catalogue(t, func(o *view.Options) { o.Write = true })
	item := s.get(s.at("/item", "pk", "PRODUCT#1", "sk", "METADATA"), http.StatusOK)
	edit := s.get(item.id("edit").attributes["href"], http.StatusOK)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "green tea", "white tea", 1)})
	done := s.submit(review, "confirm", "write", http.StatusOK, nil)
	if got, _ := strconv.Atoi(done.id("vector-bytes").attributes["data-bytes"]); got == 0 {
		t.Error("the page does not say what the write has cost")
	}
}

func TestSimilarToNothing(t *testing.T) {
	t.Parallel()
	s := catalogue(t, nil)
	at := func(parameters ...string) string {
		return s.at("/similar", append([]string{"index", "byText"}, parameters...)...)
	}
	s.get(at("pk", "PRODUCT#5", "sk", "METADATA"), http.StatusBadRequest).id("problem").has(t, "has no vector in embedding")
	s.get(at("pk", "PRODUCT#6", "sk", "METADATA"), http.StatusBadRequest).id("problem").has(t, "tenant")
	s.get(at("pk", "PRODUCT#1", "sk", "METADATA", "filter", "", "filter", "many"), http.StatusBadRequest).id("problem").has(t, "stars")
	s.get(at("pk", "PRODUCT#9", "sk", "METADATA"), http.StatusNotFound).id("error").has(t, "No such item")
	s.get(s.at("/similar", "index", "none"), http.StatusNotFound).id("error").has(t, "no vector index")
	if n := len(s.faults.Requests("SearchVectors")); n != 0 {
		t.Errorf("%d searches", n)
	}
	form := s.get(at(), http.StatusOK)
	if form.id("h-result").name != "" || form.id("last").name != "" {
		t.Error("the empty form has a result, or a last search")
	}
}

// A vector is shown by its length and its beginning, and is stored as it is.
func TestLongVectors(t *testing.T) {
	t.Parallel()
	s := catalogue(t, func(o *view.Options) { o.Write = true })
	s.put(table.Item{"pk": str("LONG"), "sk": str("1"), "tenant": str("acme"), "embedding": vector(12), "other": vector(1536, 0.123456789, -0.03), "ids": list(number("12345678"), number("2"))})
	page := s.get(s.at("/item", "pk", "LONG", "sk", "1"), http.StatusOK)
	page.id("attributes").has(t, "1,536 numbers: 0.1235, -0.03, 0.03, …", "2 elements")
	if got := strings.Count(page.id("json").text, "\n"); got > 30 {
		t.Errorf("the JSON has %d lines", got)
	}
	s.get(s.at("/partition", "pk", "LONG"), http.StatusOK).id("row-0").has(t, "1,536 numbers: 0.1235")
	edit := s.get(s.at("/edit", "pk", "LONG", "sk", "1"), http.StatusOK)
	same := s.submit(edit, "edit", "show", http.StatusOK, nil)
	same.id("nothing").has(t, "nothing to write")
	changed := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.ReplaceAll(edit.id("text").text, "0.03", "0.04")})
	if rows := changed.id("review").all(named("tr")); len(rows) != 3 {
		t.Errorf("%d rows for two vectors that differ", len(rows)-1)
	}
	changed.id("review").has(t, "1,536 numbers: 0.1235, -0.03, 0.03, …", "1,536 numbers: 0.1235, -0.04, 0.04, …")
}
