package edit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// item returns the item of a text in DynamoDB's JSON.
func item(t *testing.T, text string) table.Item {
	t.Helper()
	i, err := dynamojson.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// fixture is a table with an editor.
type fixture struct {
	*table.Table
	*edit.Editor
	faults *tabletest.Faults
}

var at = keys.Key{PK: "USER#ana", SK: "PROFILE"}

// setUp stores an item under the key at. version is the attribute that guards it, "" for none.
func setUp(t *testing.T, version, stored string) fixture {
	t.Helper()
	f := fixture{faults: &tabletest.Faults{}}
	spec := schema.Table{Name: "AppCore", TTLAttribute: "expiresAt"}
	f.Table = tabletest.New(t, spec, nil)
	client := tabletest.Client(t, f.faults.Install)
	var err error
	f.Editor, err = edit.New(client, f.Schema(), func(table.Item) string { return version })
	if err != nil {
		t.Fatal(err)
	}
	if stored != "" {
		f.put(t, stored)
	}
	return f
}

// put is another writer.
func (f fixture) put(t *testing.T, stored string) {
	t.Helper()
	if err := f.Do(t.Context(), table.Put(at, item(t, stored))); err != nil {
		t.Fatal(err)
	}
}

// stored returns what is stored, expired or not, without its keys.
func (f fixture) stored(t *testing.T) string {
	t.Helper()
	out, err := tabletest.Client(t).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(f.Schema().Name),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: string(at.PK)}, "sk": &types.AttributeValueMemberS{Value: string(at.SK)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Item == nil {
		return "missing"
	}
	delete(out.Item, "pk")
	delete(out.Item, "sk")
	return text(out.Item)
}

// value returns a value as JSON.
func value(v types.AttributeValue) string {
	text, _ := json.Marshal(dynamojson.Value{AttributeValue: v}) // It is one of an item.
	return string(text)
}

func text(i table.Item) string {
	var all []string
	for _, d := range edit.Differences(nil, i, "") {
		all = append(all, d.Path+"="+value(d.New))
	}
	return strings.Join(all, " ")
}

const keyed = `{"pk":{"S":"USER#ana"},"sk":{"S":"PROFILE"},`

// A vector is compared as a whole: its numbers say nothing one by one.
func TestDifferencesOfVectors(t *testing.T) {
	t.Parallel()
	vector := func(last string) string {
		return keyed + `"v":{"L":[` + strings.Repeat(`{"N":"1"},`, 8) + last + `]}}`
	}
	for last, want := range map[string]string{`{"N":"2"}`: "v", `{"S":"2"}`: "v[8]", `{"N":"1.0"}`: ""} {
		var paths []string
		for _, d := range edit.Differences(item(t, vector(`{"N":"1"}`)), item(t, vector(last)), "") {
			paths = append(paths, d.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s: differences at %q, want %q", last, got, want)
		}
	}
}

func TestPutByAllAttributes(t *testing.T) {
	t.Parallel()
	f := setUp(t, "", `{"a":{"S":"x"},"n":{"N":"1"},"drop":{"BOOL":true},"m":{"M":{"x":{"N":"1"},"y":{"S":"z"}}},"l":{"L":[{"N":"1"},{"N":"2"}]}}`)
	plan, err := f.Put(t.Context(), item(t, keyed+`"a":{"S":"x"},"n":{"N":"1.0"},"m":{"M":{"x":{"N":"2"},"y":{"S":"z"}}},"l":{"L":[{"N":"1"}]},"new.x":{"SS":["a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range plan.Differences {
		got = append(got, d.Path+" "+value(d.Old)+" "+value(d.New))
	}
	if diff := cmp.Diff([]string{
		`drop {"BOOL":true} null`, `l[1] {"N":"2"} null`, `m.x {"N":"1"} {"N":"2"}`, `"new.x" null {"SS":["a"]}`,
	}, got); diff != "" {
		t.Error(diff)
	}
	if plan.Guard != edit.ByAll || plan.ReadUnits != 1 {
		t.Errorf("guarded by %s, %v read units", plan.Guard, plan.ReadUnits)
	}
	if err := f.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	want := `a={"S":"x"} l={"L":[{"N":"1"}]} m={"M":{"x":{"N":"2"},"y":{"S":"z"}}} n={"N":"1"} "new.x"={"SS":["a"]}`
	if diff := cmp.Diff(want, f.stored(t)); diff != "" {
		t.Error(diff)
	}
	again, err := f.Put(t.Context(), plan.New)
	if err != nil || len(again.Differences) > 0 || f.Apply(t.Context(), again) != nil {
		t.Errorf("the same once more: %v, %v", again.Differences, err)
	}
}

// Each guard refuses a plan whose item was changed, deleted or created after it was made.
func TestChangedInBetween(t *testing.T) {
	t.Parallel()
	const revised, counted = `{"rev":{"S":"R1"},"a":{"S":"x"}}`, `{"rev":{"N":"7"},"a":{"S":"x"}}`
	for name, tt := range map[string]struct {
		version, stored string
		between         string // "" deletes
	}{
		"revision":             {"rev", revised, `{"rev":{"S":"R2"},"a":{"S":"x"}}`},
		"revision, deleted":    {"rev", revised, ""},
		"version":              {"rev", counted, `{"rev":{"N":"8"},"a":{"S":"x"}}`},
		"version, deleted":     {"rev", counted, ""},
		"all, changed":         {"", revised, `{"rev":{"S":"R1"},"a":{"S":"y"}}`},
		"all, attribute gone":  {"", revised, `{"a":{"S":"x"}}`},
		"all, deleted":         {"", revised, ""},
		"no attributes":        {"", `{}`, ""},
		"missing, created":     {"", "", `{}`},
		"version of no number": {"rev", `{"rev":{"BOOL":true},"a":{"S":"x"}}`, `{"rev":{"BOOL":false},"a":{"S":"x"}}`},
		"expired, changed":     {"", `{"expiresAt":{"N":"1"},"a":{"S":"x"}}`, `{"expiresAt":{"N":"1"},"a":{"S":"y"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, deletes := range []bool{false, true} {
				f := setUp(t, tt.version, tt.stored)
				plan, err := f.Put(t.Context(), item(t, keyed+`"a":{"S":"mine"},"rev":{"S":"given"}}`))
				if deletes {
					plan, err = f.Delete(t.Context(), at)
				}
				if err != nil {
					t.Fatal(err)
				}
				if tt.between == "" {
					err = f.Do(t.Context(), table.Delete(at))
				} else {
					err = f.Do(t.Context(), table.Put(at, item(t, tt.between)))
				}
				if err != nil {
					t.Fatal(err)
				}
				before := f.stored(t)
				nothing := deletes && tt.stored == "" // A plan to delete what is missing.
				if err = f.Apply(t.Context(), plan); errors.Is(err, edit.ErrChanged) == nothing || nothing && err != nil {
					t.Errorf("delete %v: %v", deletes, err)
				}
				if diff := cmp.Diff(before, f.stored(t)); diff != "" {
					t.Errorf("delete %v has written: %s", deletes, diff)
				}
			}
		})
	}
}

// Each guard lets a plan pass whose item was not changed.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ version, stored, want string }{
		"revision": {"rev", `{"rev":{"S":"R1"},"b":{"S":"x"}}`, `a={"S":"mine"} rev={"S":"drawn"}`},
		"version":  {"rev", `{"rev":{"N":"7"},"b":{"S":"x"}}`, `a={"S":"mine"} rev={"N":"8"}`},
		"all":      {"", `{"rev":{"N":"7"},"b":{"S":"x"}}`, `a={"S":"mine"} rev={"S":"given"}`},
		"no rev":   {"rev", `{"b":{"S":"x"}}`, `a={"S":"mine"} rev={"S":"given"}`},
		"keys":     {"", `{}`, `a={"S":"mine"} rev={"S":"given"}`},
		"missing":  {"", "", `a={"S":"mine"} rev={"S":"given"}`},
		"created":  {"rev", "", `a={"S":"mine"} rev={"S":"drawn"}`},
		"expired":  {"", `{"expiresAt":{"N":"1"}}`, `a={"S":"mine"} rev={"S":"given"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setUp(t, tt.version, tt.stored)
			plan, err := f.Put(t.Context(), item(t, keyed+`"a":{"S":"mine"},"rev":{"S":"given"}}`))
			if err == nil {
				err = f.Apply(t.Context(), plan)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := f.stored(t)
			if rev, ok := plan.New["rev"].(*types.AttributeValueMemberS); ok && rev.Value != "given" {
				if len(rev.Value) < 26 { // as package repo draws it
					t.Errorf("revision %q", rev.Value)
				}
				got = strings.ReplaceAll(got, rev.Value, "drawn")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			gone, err := f.Delete(t.Context(), at)
			if err == nil {
				err = f.Apply(t.Context(), gone)
			}
			if err != nil || f.stored(t) != "missing" {
				t.Errorf("delete: %v, %s", err, f.stored(t))
			}
			if gone, err = f.Delete(t.Context(), at); err != nil || gone.Seen != "missing" || f.Apply(t.Context(), gone) != nil {
				t.Errorf("delete what is missing: %v, %s", err, gone.Seen)
			}
		})
	}
}

// TestConcurrentEditors counts in one item. No change of an editor is lost.
func TestConcurrentEditors(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "rev", "count"} {
		t.Run("guarded by "+version, func(t *testing.T) {
			t.Parallel()
			f := setUp(t, version, `{"n":{"N":"0"},"rev":{"S":"R0"},"count":{"N":"0"}}`)
			var all sync.WaitGroup
			const editors, changes = 4, 5
			for range editors {
				all.Go(func() {
					for done := 0; done < changes; {
						now, err := table.Get[table.Item](t.Context(), f.Consistent(), at)
						if err != nil {
							t.Error(err)
							return
						}
						n, err := strconv.Atoi(now["n"].(*types.AttributeValueMemberN).Value)
						if err != nil {
							t.Error(err)
							return
						}
						now["n"] = &types.AttributeValueMemberN{Value: strconv.Itoa(n + 1)}
						plan, err := f.Put(t.Context(), now)
						if err != nil {
							t.Error(err)
							return
						}
						// The item can have changed before the plan was made. Its user sees that.
						if len(plan.Differences) != 1 || value(plan.Differences[0].Old) != fmt.Sprintf(`{"N":"%d"}`, n) {
							continue
						}
						switch err := f.Apply(t.Context(), plan); {
						case err == nil:
							done++
						case !errors.Is(err, edit.ErrChanged):
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if !strings.Contains(f.stored(t), fmt.Sprintf(`n={"N":"%d"}`, editors*changes)) {
				t.Errorf("%d changes led to %s", editors*changes, f.stored(t))
			}
		})
	}
}

// No condition can exclude an attribute that is not known. A plan leaves it alone.
func TestAttributeAddedInBetweenStays(t *testing.T) {
	t.Parallel()
	f := setUp(t, "", `{"a":{"S":"x"}}`)
	plan, err := f.Put(t.Context(), item(t, keyed+`"a":{"S":"mine"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Do(t.Context(), table.Update(at, expression.Set(expression.Name("b"), expression.Value("theirs")))); err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`a={"S":"mine"} b={"S":"theirs"}`, f.stored(t)); diff != "" {
		t.Error(diff)
	}
}

// The response to the write is lost, and the SDK sends it again.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "rev"} {
		f := setUp(t, version, `{"rev":{"S":"R1"},"a":{"S":"x"}}`)
		plan, err := f.Put(t.Context(), item(t, keyed+`"a":{"S":"mine"},"rev":{"S":"R1"}}`))
		if err != nil {
			t.Fatal(err)
		}
		f.faults.Next("UpdateItem", tabletest.DropResponse())
		if err := f.Apply(t.Context(), plan); errors.Is(err, edit.ErrChanged) {
			t.Errorf("version %q: the editor's own write: %v", version, err)
		} else if err != nil && !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("version %q: %v", version, err)
		}
		if !strings.HasPrefix(f.stored(t), `a={"S":"mine"}`) {
			t.Errorf("version %q: %s", version, f.stored(t))
		}
	}
}

// TestMostAttributes guards as many attributes as DynamoDB can compare, and refuses more.
func TestMostAttributes(t *testing.T) {
	t.Parallel()
	large := table.Item{}
	for i := range edit.MaxCompared {
		large[fmt.Sprintf("attribute%03d", i)] = &types.AttributeValueMemberN{Value: "1"}
	}
	for _, more := range []bool{false, true} {
		for _, version := range []string{"", "attribute000"} {
			f := setUp(t, version, "")
			if more {
				large["one more"] = &types.AttributeValueMemberN{Value: "1"}
			}
			if err := f.Do(t.Context(), table.Put(at, large)); err != nil {
				t.Fatal(err)
			}
			next := maps.Clone(large)
			maps.Copy(next, item(t, keyed+`"attribute001":{"N":"2"}}`))
			plan, err := f.Put(t.Context(), next)
			_, errOfDelete := f.Delete(t.Context(), at)
			if refused := more && version == ""; refused {
				for _, err := range []error{err, errOfDelete} {
					if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "151 attributes") {
						t.Errorf("%d attributes: %v", len(large), err)
					}
				}
			} else if err != nil || errOfDelete != nil || f.Apply(t.Context(), plan) != nil {
				t.Errorf("%d attributes, version %q: %v, %v", len(large), version, err, errOfDelete)
			}
		}
	}
}

// What DynamoDB would refuse is refused before a request.
func TestInvalid(t *testing.T) {
	t.Parallel()
	f := setUp(t, "", "")
	for _, i := range []table.Item{
		{},
		item(t, `{"pk":{"S":"USER#ana"}}`),
		item(t, `{"pk":{"S":"USER#ana"},"sk":{"N":"1"}}`),
		item(t, `{"pk":{"S":""},"sk":{"S":"x"}}`),
		item(t, keyed+`"a":{"N":"NaN"}}`),
		item(t, keyed+`"a":{"SS":[]}}`),
		item(t, keyed+`"a":{"S":"`+strings.Repeat("x", 400<<10)+`"}}`),
	} {
		if _, err := f.Put(t.Context(), i); !errors.Is(err, table.ErrInvalid) && !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%.80s: %v", text(i), err)
		}
	}
	if _, err := f.Delete(t.Context(), keys.Key{PK: "USER#ana"}); !errors.Is(err, keys.ErrInvalid) {
		t.Error(err)
	}
	if sent := f.faults.Requests(); len(sent) > 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
}

// Equal items have one name, and others another.
func TestSeen(t *testing.T) {
	t.Parallel()
	f := setUp(t, "", `{"n":{"NS":["1","2"]},"a":{"S":"x"}}`)
	name := func() string {
		t.Helper()
		plan, err := f.Delete(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Seen
	}
	first := name()
	f.put(t, `{"a":{"S":"x"},"n":{"NS":["2.0","1"]}}`)
	if second := name(); first != second || len(first) != 16 {
		t.Errorf("%s, then %s", first, second)
	}
	f.put(t, `{"a":{"B":"eA=="},"n":{"NS":["2.0","1"]}}`)
	if name() == first {
		t.Error("another type has the same name")
	}
}

// FuzzDifferences compares arbitrary items. Items without differences are seen as one,
// and those with differences are not.
func FuzzDifferences(f *testing.F) {
	f.Add(`{"a":{"L":[{"N":"1"}]}}`, `{"a":{"L":[{"N":"1.0"},{"M":{}}]}}`)
	f.Add(`{"a":{"NS":["1","2e1"]}}`, `{"a":{"NS":["20","1.0"]}}`)
	f.Add(`{"":{"N":"1e99999999"}}`, `{}`)
	f.Add(`{"a":{"NULL":true}}`, `{}`) // A missing value is not null.
	f.Fuzz(func(t *testing.T, a, b string) {
		before, errA := dynamojson.Decode(a)
		after, errB := dynamojson.Decode(b)
		if errA != nil || errB != nil {
			return
		}
		found := edit.Differences(before, after, "")
		if (len(found) == 0) != (edit.Seen(before) == edit.Seen(after)) {
			t.Errorf("%v: %s and %s", found, edit.Seen(before), edit.Seen(after))
		}
		if back := edit.Differences(after, before, ""); len(back) != len(found) {
			t.Errorf("%d differences, and %d back", len(found), len(back))
		}
	})
}
