package repo_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// word has what three releases compute of its text, the last one all of it.
type word struct {
	ID       string `dynamodbav:"id"`
	Text     string `dynamodbav:"text"`
	Lower    string `dynamodbav:"lower,omitempty"`
	Upper    string `dynamodbav:"upper,omitempty"`
	N        int    `dynamodbav:"n,omitempty"`
	Revision string `dynamodbav:"revision,omitempty"`
	Version  int64  `dynamodbav:"version,omitempty"`
}

func derives(attribute string, of func(string) string) repo.Upgrade {
	return repo.Upgrade{Writes: []string{attribute}, Compatible: true, Change: func(attributes table.Item) error {
		attributes[attribute] = &types.AttributeValueMemberS{Value: of(item.Text(attributes["text"]))}
		return nil
	}}
}

// words returns the releases.
func words(t *testing.T, tbl *table.Table, version string) []*repo.Repo[word] {
	t.Helper()
	all := make([]*repo.Repo[word], 3)
	upgrades := []repo.Upgrade{derives("lower", strings.ToLower), derives("upper", strings.ToUpper)}
	for i := range all {
		all[i] = newRepo(t, tbl, repo.Entity[word]{
			Type: "WORD", Version: version, Upgrades: upgrades[:i],
			Key: func(w word) keys.Key { return keys.Key{PK: keys.PK("WORD#" + w.ID), SK: "WORD"} },
		})
	}
	return all
}

// write has a release store a text and what it knows of it, in one of the ways to write.
func write(t *testing.T, by *repo.Repo[word], release, way int, id, text string) error {
	t.Helper()
	set := func(w *word) {
		w.Text = text
		if release > 0 {
			w.Lower = strings.ToLower(text)
		}
		if release > 1 {
			w.Upper = strings.ToUpper(text)
		}
	}
	key := keys.Key{PK: keys.PK("WORD#" + id), SK: "WORD"}
	switch way {
	case 0:
		return expect.ErrOf(by.Update(t.Context(), key, func(w *word) error { set(w); return nil }))
	case 1:
		w := expect.Value(by.Consistent().Get(t.Context(), key))(t)
		set(&w)
		return by.Save(t.Context(), &w)
	}
	w := word{ID: id}
	set(&w)
	expect.OK(t, by.Delete(t.Context(), key))
	return by.Create(t.Context(), &w)
}

// What a release computes follows what it is computed of, whichever release writes that, by
// every way to read.
func TestDerivedAgain(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	for _, version := range []string{"revision", "version"} {
		releases := words(t, tbl, version)
		last := releases[2]
		for n := range 9 * 9 {
			id, done := fmt.Sprintf("%s-%d", version, n), ""
			key := keys.Key{PK: keys.PK("WORD#" + id), SK: "WORD"}
			expect.OK(t, last.Create(t.Context(), &word{ID: id, Text: "Zero", Lower: "zero", Upper: "ZERO"}))
			for step, kind := range []int{n % 9, n / 9} {
				text := fmt.Sprintf("Step%d", step)
				done += fmt.Sprintf("release %d by way %d, ", kind%3, kind/3)
				expect.OK(t, write(t, releases[kind%3], kind%3, kind/3, id, text))
				stored := storedItem(t, tbl, key)
				got := expect.Value(last.Get(t.Context(), key))(t)
				want := word{ID: id, Text: text, Lower: strings.ToLower(text), Upper: strings.ToUpper(text), Revision: got.Revision, Version: got.Version}
				expect.Equal(t, done+"Get", got, want)
				decoded, _, err := last.Decode(stored)
				expect.OK(t, err)
				expect.Equal(t, done+"Decode", decoded, want)
				expect.Equal(t, done+"All", expect.Value(table.Collect(last.All(t.Context(), table.Query{PK: key.PK})))(t), []word{want})
				var viewed word
				expect.OK(t, storedItem(t, last.View(), key).Decode(&viewed))
				expect.Equal(t, done+"View", viewed, want)
				type uppers struct {
					Upper string `dynamodbav:"upper"`
				}
				expect.Equal(t, done+"Project", expect.Value(table.Get[uppers](t.Context(), last.View().Project("upper"), key))(t).Upper, want.Upper)
				expect.Equal(t, done+"of the second release", expect.Value(releases[1].Get(t.Context(), key))(t).Lower, want.Lower)
			}
			expect.Value(last.Refresh(t.Context(), key))(t)
			expect.Equal(t, done+"refreshed again", expect.Value(last.Refresh(t.Context(), key))(t), false)
			stored := storedItem(t, tbl, key)
			expect.Equal(t, done+"stored", item.Text(stored["upper"]), strings.ToUpper("Step1"))
		}
	}
}

// Upsert returns what Get does, whichever release has written the item before, and does not
// make a later release derive again what it has stored itself.
func TestUpsertOfWhatIsDerived(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	add := repo.Patch{Add: map[string]any{"n": 1}}
	for _, version := range []string{"revision", "version"} {
		releases := words(t, tbl, version)
		for before := range releases {
			for by := range releases {
				name := fmt.Sprintf("%s: Upsert by release %d after release %d", version, by, before)
				w := word{ID: fmt.Sprintf("%s-%d-%d", version, before, by)}
				key := keys.Key{PK: keys.PK("WORD#" + w.ID), SK: "WORD"}
				r, last := releases[by], releases[2]
				expect.OK(t, last.Create(t.Context(), &word{ID: w.ID, Text: "Zero", Lower: "zero", Upper: "ZERO"}))
				expect.OK(t, write(t, releases[before], before, 0, w.ID, "One"))
				for n := range 2 {
					got := expect.Value(r.Upsert(t.Context(), w, add))(t)
					expect.Equal(t, name+": n", got.N, n+1)
					expect.Equal(t, name, got, expect.Value(r.Get(t.Context(), key))(t))
				}
				got := expect.Value(last.Get(t.Context(), key))(t)
				expect.Equal(t, name+": derived", [2]string{got.Lower, got.Upper}, [2]string{"one", "ONE"})
				expect.Equal(t, name+": refreshed", expect.Value(last.Refresh(t.Context(), key))(t), by < 2)
			}
		}
	}
}

// Upsert does not wait for programs of an older release that write all the time: what it
// leaves to be derived is derived by reads.
func TestUpsertWhileOlderReleasesWrite(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.New(t, schema.Table{}, nil)
	first := words(t, tbl, "revision")[0]
	counted := expect.Value(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), nil))(t)
	last := words(t, counted, "revision")[2]
	w := word{ID: "1"}
	expect.OK(t, last.Create(t.Context(), &w))
	texts := 0
	faults.Always("UpdateItem", tabletest.Match(isUpsert, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		texts++
		if err := write(t, first, 0, 0, "1", strconv.Itoa(texts)); err != nil {
			return nil, err
		}
		return next.RoundTrip(r)
	}))
	w = expect.Value(last.Upsert(t.Context(), w, repo.Patch{Add: map[string]any{"n": 1}}))(t)
	expect.Equal(t, "upserted", [2]string{w.Text, w.Upper}, [2]string{"3", "3"})
	var derived []bool
	for _, r := range faults.Requests("UpdateItem") {
		if !isUpsert(r) {
			continue // a refresh
		}
		derived = append(derived, strings.Contains(string(r.Body), `"entityShapeAt"`))
	}
	expect.Equal(t, "expects that nothing is left to derive", derived, []bool{true, true, false})
}

// isUpsert reports whether a request adds.
func isUpsert(r tabletest.Request) bool { return strings.Contains(string(r.Body), "ADD ") }

// What a write returns through the view of a repository is upgraded, too.
func TestDoReturningThroughAView(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	releases := words(t, tbl, "revision")
	key := keys.Key{PK: "WORD#1", SK: "WORD"}
	expect.OK(t, releases[2].Create(t.Context(), &word{ID: "1", Text: "Zero", Lower: "zero", Upper: "ZERO"}))
	expect.OK(t, write(t, releases[0], 0, 0, "1", "One"))
	view := releases[2].View()
	for _, op := range []table.Op{table.Patch(key, table.Item{"n": number(1)}).IfExists(), table.Delete(key)} {
		w := expect.Value(table.DoReturning[word](t.Context(), view, op))(t)
		expect.Equal(t, op.Verb(), [2]string{w.Lower, w.Upper}, [2]string{"one", "ONE"})
	}
}
