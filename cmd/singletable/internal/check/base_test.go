package check_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
)

// items returns an entity ORDER with these items.
func items(all string) string {
	return entities(`{"type": "ORDER", "version": "v", "items": [` + all + `]}`)
}

// TestSteps has the steps of changes of a live table, each as when, place and anchor.
func TestSteps(t *testing.T) {
	t.Parallel()
	const (
		byID       = `{"pk": "ORDER#{id}", "sk": "METADATA"}`
		byCustomer = `{"pk": "CUSTOMER#{customer}", "sk": "ORDER#{id}"}`
		inIndex    = `{"pk": "ORDER#{id}", "sk": "METADATA", "indexes": {"GSI1": {"pk": "STATUS#{status}", "sk": "{id}"}}}`
		byTime     = `{"pk": "ORDER#{id}", "sk": "METADATA", "indexes": {"GSI1": {"pk": "STATUS#{status}", "sk": "{at:time}"}}}`
		gsi2       = `"indexes": [{"name": "GSI1", "pk": "a", "sk": "b"}, {"name": "GSI2", "pks": [{"name": "tenant"}]}], `
		lsi        = `"indexes": [{"name": "LSI", "local": true, "sk": "c"}], `
		clean      = "when the release before it is gone: ORDER #what-it-costs"
		backfill   = "when the former release is gone: ORDER #what-it-costs"
	)
	for name, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"nothing":          {items(byID), items(byID), nil},
		"keys spelled out": {items(byID), `"pk": "pk", "sk": "sk", ` + items(byID), nil},
		"an index": {items(byID), gsi + ", " + items(inIndex), []string{
			"before the release: index GSI1 #access-pattern-added-by-an-index",
			"release: entity ORDER, index GSI1 #access-pattern-added-by-an-index",
			backfill,
			"next release: entity ORDER, index GSI1 #access-pattern-added-by-an-index",
		}},
		"an index of attributes": {gsi + ", " + items(inIndex), gsi2 + items(inIndex), []string{
			"before the release: index GSI2 #access-pattern-added-by-an-index",
			"next release: index GSI2 #access-pattern-added-by-an-index",
		}},
		"a vector index": {items(byID), `"vectors": [{"name": "near", "attribute": "vector", "dimensions": 4}], ` + items(byID), []string{
			"before the release: index near docs/vectors.md", "next release: index near docs/vectors.md",
		}},
		"an index less": {gsi + ", " + items(inIndex), items(byID), []string{
			"release: index GSI1 #index-dropped", "next release: index GSI1 #index-dropped", "at last: index GSI1 #index-dropped",
		}},
		"no keys in an index": {gsi + ", " + items(inIndex), gsi + ", " + items(byID), []string{
			"release: entity ORDER, index GSI1 #index-dropped", "next release: entity ORDER, index GSI1 #index-dropped", clean,
		}},
		"other keys in an index": {gsi + ", " + items(inIndex), gsi + ", " + items(byTime), []string{
			"cannot be changed: entity ORDER, index GSI1 #access-pattern-added-by-an-index",
		}},
		"another layout of an index": {gsi, strings.Replace(gsi, `"b"`, `"c"`, 1), []string{
			"cannot be changed: index GSI1 #access-pattern-added-by-an-index",
		}},
		"a local index":      {items(byID), lsi + items(byID), []string{"cannot be changed: index LSI #access-pattern-added-by-an-index"}},
		"a local index less": {lsi + items(byID), items(byID), []string{"cannot be changed: index LSI #index-dropped"}},
		"a copy": {items(byID), items(byID + "," + byCustomer), []string{
			"release: entity ORDER #access-pattern-added-by-a-copy", backfill,
		}},
		"a copy less": {items(byID + "," + byCustomer), items(byID), []string{
			"release: entity ORDER #key-format-changed", "next release: entity ORDER #key-format-changed", clean,
		}},
		"an index of another item": {gsi + ", " + items(inIndex+","+byCustomer), gsi + ", " + items(byID+","+strings.Replace(byCustomer, `"}`, `", "indexes": {"GSI1": {"pk": "STATUS#{status}", "sk": "{id}"}}}`, 1)), []string{
			"release: entity ORDER, index GSI1 #access-pattern-added-by-an-index", backfill,
		}},
		"another main key":                {items(byID), items(byCustomer), []string{"release: entity ORDER #key-format-changed", backfill}},
		"a copy as main":                  {items(byID + "," + byCustomer), items(byCustomer + "," + byID), []string{"release: entity ORDER #key-format-changed", backfill}},
		"an attribute of the key":         {items(byID), items(strings.Replace(byID, "{id}", "{orderId}", 1)), []string{"release: entity ORDER #key-format-changed", backfill}},
		"an attribute that was not known": {gsi + ", " + items(strings.Replace(inIndex, "{status}", "{1}", 1)), gsi + ", " + items(inIndex), nil},
		"an attribute of a copy": {items(byID + "," + byCustomer), items(byID + "," + strings.Replace(byCustomer, "{customer}", "{buyer}", 1)), []string{
			"release: entity ORDER #key-format-changed", backfill,
		}},
		"an attribute of an index": {gsi + ", " + items(inIndex), gsi + ", " + items(strings.Replace(inIndex, "{status}", "{state}", 1)), []string{
			"release: entity ORDER, index GSI1 #access-pattern-added-by-an-index", backfill,
		}},
		"a version": {strings.Replace(items(byID), `"version": "v", `, "", 1), items(byID), []string{
			"release: entity ORDER #the-parts", backfill,
		}},
		"another version": {items(byID), strings.Replace(items(byID), `"v"`, `"w"`, 1), []string{"cannot be changed: entity ORDER #the-parts"}},
		"a type":          {items(byID), strings.Replace(items(byID), "}]}]", "}]}, "+user+"]", 1), []string{"release: entity USER #the-parts"}},
		"a type less":     {strings.Replace(items(byID), "}]}]", "}]}, "+user+"]", 1), items(byID), []string{"at last: entity USER docs/delete-data.md"}},
		"a type renamed": {items(byID), strings.Replace(items(byID), `"ORDER"`, `"SALE"`, 1), []string{
			"cannot be changed: entity SALE #from-another-table", "at last: entity ORDER docs/delete-data.md",
		}},
		"the table's keys":   {items(byID), `"pk": "PK", ` + items(byID), []string{"cannot be changed: the table #from-another-table"}},
		"the type attribute": {items(byID), `"type": "kind", ` + items(byID), []string{"cannot be changed: the table #from-another-table"}},
		"the shape":          {items(byID), `"shape": "s", ` + items(byID), []string{"cannot be changed: the table #the-parts"}},
		"TTL":                {items(byID), `"ttl": "t", ` + items(byID), []string{"before the release: ttl #access-pattern-added-by-an-index"}},
		"another TTL":        {`"ttl": "u", ` + items(byID), `"ttl": "t", ` + items(byID), []string{"before the release: ttl #access-pattern-added-by-an-index"}},
		"a stream":           {items(byID), `"stream": "NEW_IMAGE", ` + items(byID), []string{"before the release: stream #access-pattern-added-by-an-index"}},
		"another stream": {`"stream": "KEYS_ONLY", ` + items(byID), `"stream": "NEW_IMAGE", ` + items(byID), []string{
			"before the release: stream #access-pattern-added-by-an-index",
		}},
		// Ensure changes nothing until a person has done what it cannot do.
		"an index and another TTL": {`"ttl": "u", ` + gsi, `"ttl": "t", ` + gsi2[:len(gsi2)-2], []string{
			"before the release: ttl #access-pattern-added-by-an-index",
			"before the release: index GSI2 #access-pattern-added-by-an-index",
			"next release: index GSI2 #access-pattern-added-by-an-index",
		}},
		"another billing mode": {`"billingMode": "PROVISIONED", "provisionedThroughput": {"read": 1, "write": 1}, ` + items(byID), `"billingMode": "PAY_PER_REQUEST", ` + items(byID), []string{
			"before the release: billingMode #access-pattern-added-by-an-index",
		}},
		"protections": {items(byID), `"pointInTimeRecovery": true, "deletionProtection": true, ` + items(byID), []string{
			"before the release: pointInTimeRecovery #access-pattern-added-by-an-index", "before the release: deletionProtection #access-pattern-added-by-an-index",
		}},
		"no stream": {`"stream": "KEYS_ONLY", ` + items(byID), items(byID), []string{"at last: stream #access-pattern-added-by-an-index"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range check.Steps(modelOf(t, tt.from), modelOf(t, tt.to), nil) {
				got = append(got, s.When+": "+s.Place+" "+strings.TrimPrefix(s.Recipe, "docs/change-your-table.md"))
				if s.Impossible != strings.HasPrefix(s.When, "cannot") || !hasAnchor(t, s.Recipe) {
					t.Errorf("%+v", s)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// hasAnchor reports whether the documentation has a page with this heading.
func hasAnchor(t *testing.T, recipe string) bool {
	t.Helper()
	file, anchor, _ := strings.Cut(recipe, "#")
	page, err := os.ReadFile("../../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?mi)^#+ ` + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", " ") + `$`)
	return anchor == "" || heading.Match(page)
}

// A load with the size of the table says what a new index costs.
func TestStepsWithVolumes(t *testing.T) {
	t.Parallel()
	l := loadOf(t, `"k": {"count": 9}`, 1, `{"op": "get", "keys": "k"}`)
	l.StoredGB = 100
	steps := check.Steps(modelOf(t, `"stream": "NEW_IMAGE"`), modelOf(t, `"stream": "NEW_IMAGE", `+gsi), l)
	if want := "104,857,600 items of 1 KB in 100 GB would take $65.54"; len(steps) != 2 || !strings.Contains(steps[0].Does, want) {
		t.Errorf("%+v", steps)
	}
}
