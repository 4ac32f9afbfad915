package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// withItems returns a table with a user, 30 transactions of theirs, and one item that has
// expired.
func withItems(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, appCore(), nil)
	var ops []table.Op
	add := func(key keys.Key, attributes string) { ops = append(ops, opOf(t, key, attributes)) }
	add(keys.Key{PK: "USER#ana", SK: "PROFILE"}, `{
		"entityType": {"S": "USER"}, "revision": {"S": "R1"}, "email": {"S": "ana@example.com"}, "balance": {"N": "12.50"},
		"tags": {"SS": ["b", "a"]}, "address": {"M": {"city": {"S": "Köln"}, "lines": {"L": [{"S": "1 <Main> St"}]}}},
		"avatar": {"B": "AQID"}, "note": {"S": "two\nlines"}, "active": {"BOOL": true}, "deletedAt": {"NULL": true},
		"expiresAt": {"N": "1705924800"}, "gsi1pk": {"S": "EMAIL#ana@example.com"}, "gsi1sk": {"S": "USER#ana"}}`)
	for i := range 30 {
		add(keys.Key{PK: "USER#ana", SK: keys.SK(fmt.Sprintf("TX#2024-01-%02d", i+1))}, fmt.Sprintf(`{
			"entityType": {"S": "TX"}, "amount": {"N": "%d"}, "text": {"S": %q}}`, i, strings.Repeat("x", i*10)))
	}
	add(keys.Key{PK: "USER#ana", SK: "SESSION#1"}, `{"entityType": {"S": "SESSION"}, "expiresAt": {"N": "1705312800"}}`)
	store(t, tbl, ops...)
	return tbl
}

// opOf returns an op that stores the attributes under a key.
func opOf(t *testing.T, key keys.Key, attributes string) table.Op {
	t.Helper()
	item, err := dynamojson.Decode(attributes)
	if err != nil {
		t.Fatal(err)
	}
	return table.Put(key, item)
}

// store stores items.
func store(t *testing.T, tbl *table.Table, ops ...table.Op) {
	t.Helper()
	if err := tbl.BatchWrite(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// hide returns a result without what differs from run to run.
func hide(tbl *table.Table, got result) result {
	for _, text := range []*string{&got.stdout, &got.stderr} {
		*text = strings.ReplaceAll(*text, tbl.Schema().Name, "TABLE")
		*text = regexp.MustCompile(`U[A-Za-z0-9_-]{30,}`).ReplaceAllString(*text, "CURSOR")
		*text = regexp.MustCompile(`\b[0-9a-f]{16}\b`).ReplaceAllString(*text, "SEEN")
	}
	return got
}

func TestGet(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	name := tbl.Schema().Name
	for file, args := range map[string][]string{
		"item":         {name, "USER#ana", "PROFILE"},
		"expired":      {name, "USER#ana", "SESSION#1", "-consistent"},
		"json":         {"-json", name, "USER#ana", "PROFILE"},
		"missing":      {name, "USER#ana", "PROFIL"},
		"missing-json": {"-json", name, "USER#ana", "PROFIL"},
		"unescaped":    {name, "USER#a na", "PLATE#B-A 1"},
	} {
		golden(t, "get-"+file, hide(tbl, run(t, nil, "", append([]string{"get"}, args...)...)))
	}
	trouble(t, run(t, nil, "", "get", name, "USER#ana"), "the table has a sort key, sk")
}

func TestQuery(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	name := tbl.Schema().Name
	for file, args := range map[string][]string{
		"page":    {"-limit", "3", name, "USER#ana"},
		"desc":    {"-desc", "-limit=3", "-prefix", "TX#", name, "USER#ana"},
		"between": {"-from", "TX#2024-01-29", "-to", "TX#2024-01-30", name, "USER#ana"},
		"exactly": {"-sk", "PROFILE", name, "USER#ana"},
		"expired": {"-prefix", "SESSION", name, "USER#ana"},
		"index":   {"-index", "GSI1", name, "EMAIL#ana@example.com"},
		"json":    {"-json", "-limit", "1", "-prefix", "TX", name, "USER#ana"},
		"lines":   {"-json", "-all", "-from", "TX#2024-01-29", "-to", "TX#2024-01-30", name, "USER#ana"},
		"none":    {name, "USER#bob"},
		"space":   {name, "USER#bob de"},
		"no-json": {"-json", name, "USER#bob"},
	} {
		golden(t, "query-"+file, hide(tbl, run(t, nil, "", append([]string{"query"}, args...)...)))
	}
	for says, args := range map[string][]string{
		"it has GSI1":                     {"-index", "GSI9", name, "x"},
		"1 attributes (pk)":               {name, "x", "y"},
		"-sk and -prefix exclude":         {"-sk", "x", "-prefix", "y", name, "x"},
		"-sk is given 2 times":            {"-sk", "x", "-sk", "y", name, "x"},
		"the cursor of -after is refused": {"-after", "abc", name, "x"},
		"prefix together with":            {"-prefix", "x", "-from", "y", name, "x"},
		"-limit must be":                  {"-limit", "0", name, "x"},
		"-all and -limit exclude":         {"-all", "-limit", "2", name, "x"},
	} {
		trouble(t, run(t, nil, "", append([]string{"query"}, args...)...), says)
	}
	got := run(t, nil, "", "query", "-all", "-after", "x", name, "USER#ana")
	trouble(t, got, "the cursor of -after is refused")
	if strings.Contains(got.stderr, "To continue") {
		t.Error("a command that fails again is printed:", got.stderr)
	}
}

// sortKeys returns the sort keys of lines.
func sortKeys(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Fields(line)[0])
	}
	if len(all) > 0 {
		all = all[1:] // the names
	}
	return all
}

// TestQueryPages pastes the command that each page prints into a shell until there is
// none, with sealed cursors and without.
func TestQueryPages(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	all := sortKeys(t, run(t, nil, "", "query", "-all", tbl.Schema().Name, "USER#ana").stdout)
	if len(all) != 32 {
		t.Fatalf("%d items", len(all))
	}
	for _, ring := range []string{"", "yPqYbJcmDqmJ0Dq3tQAPGVnWxbXQ2+cYJ6+dT0bZ9cs="} {
		env := map[string]string{keysVariable: ring}
		var got []string
		args := []string{"query", "-limit=10", tbl.Schema().Name, "USER#ana"}
		for range 10 {
			page := run(t, env, "", args...)
			if page.code != exitYes {
				t.Fatal(page.stderr)
			}
			got = append(got, sortKeys(t, page.stdout)...)
			_, line, more := strings.Cut(page.stderr, "The next page: singletable ")
			if !more {
				break
			}
			args = words(t, line)
			if strings.Contains(line, "-after=S") != (ring != "") {
				t.Errorf("with keys %q: %s", ring, line)
			}
		}
		if diff := gocmp.Diff(all, got); diff != "" {
			t.Errorf("the pages (-want +got):\n%s", diff)
		}
	}
}

// words returns the words of a command line as bash has them.
func words(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `printf '%s\0' `+strings.TrimSpace(line)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestOtherKeys has keys that are numbers and binaries, a table without sort key, and an
// index whose keys have several attributes.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	numbers := tabletest.New(t, schema.Table{Name: "Numbers", PKType: "N", SKType: "B"}, nil)
	store(t, numbers, table.Put(keys.Key{PK: "12.5", SK: "\x01\xff"}, nil))
	name := numbers.Schema().Name
	for file, args := range map[string][]string{
		"get":   {"get", name, "12.5", "Af8="},
		"query": {"query", "-from", "Af8=", "-to", "Af8=", name, "12.5"},
	} {
		golden(t, "keys-"+file, hide(numbers, run(t, nil, "", args...)))
	}
	trouble(t, run(t, nil, "", "get", name, "12.5", "%secret"), "the sort key is binary, and the argument is not base64")
	// A number is the key that DynamoDB makes of it, on the command line and in an item.
	for _, number := range []string{"012.50", "+1.25e1", "12.5"} {
		if got := run(t, nil, "", "get", name, number, "Af8="); got.code != exitYes || !strings.Contains(got.stdout, "12.5") {
			t.Errorf("get %s: %+v", number, got)
		}
		item := fmt.Sprintf(`{"pk":{"N":%q},"sk":{"B":"Af8="}}`, number)
		if got := run(t, nil, item, "put", name); got.code != exitYes || !strings.Contains(got.stdout, "The item is stored so already.") {
			t.Errorf("put %s: %+v", number, got)
		}
		if got := run(t, nil, `{"Item":`+item+"}", "load", "-replace", name); got.code != exitYes {
			t.Errorf("load %s: %+v", number, got)
		}
	}
	got := run(t, nil, "", "get", name, "12,50", "Af8=")
	trouble(t, got, "is not a plain decimal number")
	if strings.Contains(got.stderr, "12,50") {
		t.Errorf("an error names a key: %s", got.stderr)
	}

	simple := tabletest.New(t, schema.Table{Name: "Simple", SimpleKey: true}, nil)
	store(t, simple, table.Put(keys.Key{PK: "-a"}, nil))
	golden(t, "keys-simple", hide(simple, run(t, nil, "", "query", simple.Schema().Name, "--", "-a")))
	trouble(t, run(t, nil, "", "get", simple.Schema().Name, "--", "-a", "b"), "the table has no sort key")
	trouble(t, run(t, nil, "", "query", "-prefix", "x", simple.Schema().Name, "--", "-a"), "there is no sort key")
}

// TestSeveralKeyAttributes asks for a partition of an index whose keys have several
// attributes. Not every local engine has such indexes.
func TestSeveralKeyAttributes(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Multi", Indexes: []schema.Index{{
		Name: "byTenant", PKs: []schema.Attribute{{Name: "tenant"}, {Name: "data", Type: "B"}},
		SKs: []schema.Attribute{{Name: "region"}, {Name: "city"}},
	}}}
	parse := func(args ...string) (table.Query, error) {
		fs, _ := flags("query")
		f := partitionFlags(fs)
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		return f.query(spec, fs.Args())
	}
	q, err := parse("-index", "byTenant", "-sk", "NW", "-prefix", "K", "acme", "Af8=")
	if diff := gocmp.Diff(table.Query{
		Index: "byTenant", PKs: []string{"acme", "\x01\xff"}, SKs: []string{"NW"}, Range: keys.Range{Prefix: "K"},
	}, q, cmpopts.IgnoreUnexported(expression.ConditionBuilder{})); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for says, args := range map[string][]string{
		"2 attributes (tenant, data), and 1 values": {"-index", "byTenant", "acme"},
		"there is no sort key that":                 {"-index", "byTenant", "-sk", "a", "-sk", "b", "-from", "c", "acme", "Af8="},
		"-sk is given 3 times":                      {"-index", "byTenant", "-sk", "a", "-sk", "b", "-sk", "c", "acme", "Af8="},
		"a partition key is binary":                 {"-index", "byTenant", "acme", "%"},
	} {
		if _, err := parse(args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestPutAndDelete goes the way of an operator: look, edit, look at the difference, write.
func TestPutAndDelete(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	name := tbl.Schema().Name
	edited := strings.ReplaceAll(run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout, "Köln", "Bonn")
	step := func(file, stdin string, args ...string) result {
		t.Helper()
		got := run(t, nil, stdin, args...)
		shown := hide(tbl, got)
		shown.stdout = regexp.MustCompile(`revision [A-Z2-7]{26}`).ReplaceAllString(shown.stdout, "revision DRAWN")
		golden(t, file, shown)
		return got
	}
	step("put-difference", edited, "put", name)
	planned := step("put-version", edited, "put", "-version", "revision", name)
	_, line, _ := strings.Cut(planned.stderr, "To write it: singletable ")
	write := words(t, line)
	json := step("put-json", edited, "put", "-json", "-version", "revision", name)
	if json.code != exitNo {
		t.Error("nothing was written, and the exit code says yes")
	}
	step("put-written", edited, write...)
	step("put-changed", edited, write...)
	same := run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout
	step("put-nothing", same, "put", name)
	step("put-nothing-json", same, "put", "-json", name)
	step("put-created", `{"pk": {"S": "USER#bob"}, "sk": {"S": "PROFILE"}, "n": {"N": "1"}}`, "put", "-yes", name, "-")

	planned = step("delete-shown", "", "delete", name, "USER#bob", "PROFILE")
	_, line, _ = strings.Cut(planned.stderr, "To write it: singletable ")
	step("delete-done", "", words(t, line)...)
	step("delete-missing", "", "delete", "-yes", name, "USER#bob", "PROFILE")
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	name := tabletest.New(t, appCore(), nil).Schema().Name
	for text, says := range map[string]string{
		`{`:                                    "standard input: line 1, column 2: is not JSON, or was cut off\n  Put takes what get -json prints",
		`{"pk": {"S": "A"}}`:                   `attribute "sk"`,
		`{"pk": {"S": "A"}, "sk": {"N": "1"}}`: "sk",
		`{"pk": {"S": "A"}, "sk": {"S": "B"}, "n": {"N": "NaN"}}`:                                  "n",
		`{"pk": {"S": "A"}, "sk": {"S": "B"}, "gsi1pk": {"N": "1"}}`:                               "gsi1pk",
		`{"pk": {"S": "A"}, "sk": {"S": "B"}, "n": {"S": "` + strings.Repeat("x", 400<<10) + `"}}`: "over a size limit",
	} {
		trouble(t, run(t, nil, text, "put", "-yes", name), "singletable put: ", says)
	}
	trouble(t, run(t, nil, "", "put", "-schema", "-", name), "cannot both be on standard input")
	trouble(t, run(t, nil, "", "put", name, "testdata/missing.json"), "testdata/missing.json")
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	p := program{}
	if err := p.failed(t.Context(), table.ErrOutcomeUnknown, writing); !errors.Is(err, table.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "look at the item before") {
		t.Error(err)
	}
}

// TestItemOutputIsPrintable shows hostile names and values to a terminal.
func TestItemOutputIsPrintable(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, appCore(), nil)
	name := tbl.Schema().Name
	v := &types.AttributeValueMemberS{Value: hostile}
	key := keys.Key{PK: keys.PK(hostile), SK: keys.SK(hostile)}
	item := table.Item{hostile: v, "entityType": v, "m": &types.AttributeValueMemberM{Value: table.Item{hostile: v}}, "ss": &types.AttributeValueMemberSS{Value: []string{hostile}}}
	store(t, tbl, table.Put(key, item), table.Put(keys.Key{PK: keys.PK(hostile), SK: "x"}, item))
	quoted, err := json.Marshal(map[string]any{"pk": map[string]string{"S": hostile}, "sk": map[string]string{"S": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"get", name, hostile, hostile},
		{"get", "-json", name, hostile, hostile},
		{"query", "-limit", "1", name, hostile},
		{"query", "-limit", "1", "-json", name, hostile},
		{"query", "-all", "-json", name, hostile},
		{"query", "-index", hostile, name, hostile},
		{"count", name, hostile},
		{"hot", name},
		{"hot", "-json", name},
		{"put", name},
		{"put", "-json", name},
		{"delete", name, hostile, hostile},
		{"delete", "-json", name, hostile, hostile},
	} {
		got := run(t, nil, string(quoted), args...)
		if got.code == exitTrouble && args[1] != "-index" {
			t.Errorf("%q: %s", args, got.stderr)
		}
		clean(t, got)
	}
}

// TestWithoutPermission is told which permission is missing.
func TestWithoutPermission(t *testing.T) {
	dynamo(t, http.StatusBadRequest, denied)
	spec := save(t, "schema.json", encode(t, appCore()))
	for _, tt := range []struct {
		permission string
		args       []string
	}{
		{"dynamodb:GetItem on", []string{"get", "-schema", spec, "", "secret", "x"}},
		{"dynamodb:Query on", []string{"query", "-schema", spec, "", "secret"}},
		{"dynamodb:Query on the table and", []string{"count", "-schema", spec, "", "secret"}},
		{"dynamodb:DescribeTable on", []string{"count", "AppCore"}},
		{"PutItem, UpdateItem and DeleteItem", []string{"delete", "-schema", spec, "", "secret", "x"}},
		{"or give -schema FILE", []string{"get", "AppCore", "secret", "x"}},
		{"GetShardIterator and GetRecords", []string{"hot", "-stream", "1s", "-schema", spec, ""}},
		{"dynamodb:DescribeTimeToLive", []string{"verify", spec}},
		{"dynamodb:DescribeTimeToLive", []string{"plan", spec}},
		{"dynamodb:DescribeTimeToLive", []string{"ensure", spec}},
		{"dynamodb:DescribeContinuousBackups", []string{"schema", "AppCore"}},
		{"dynamodb:Scan", []string{"dump", "Orders"}},
		{"dynamodb:BatchWriteItem", []string{"load", "Orders"}},
	} {
		got := run(t, nil, "", tt.args...)
		trouble(t, got, "AccessDeniedException", tt.permission)
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("%q: the error names a key: %s", tt.args[0], got.stderr)
		}
	}
	for _, code := range unknownCredentials {
		dynamo(t, http.StatusBadRequest, strings.Replace(denied, "AccessDeniedException", code, 1))
		trouble(t, run(t, nil, "", "get", "AppCore", "secret", "x"), "singletable get: the credentials are not accepted: sign in again", code)
	}
}
