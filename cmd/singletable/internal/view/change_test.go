package view_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// writable returns a filled site that lets items be changed, and that knows the entities.
func writable(t *testing.T) *site {
	t.Helper()
	s := filled(t, func(o *view.Options) { o.Write = true })
	s.get(s.at(""), http.StatusOK)
	return s
}

// submit sends a form of a page with the button, as a browser does.
func (s *site) submit(page element, form, button string, status int, change map[string]string) element {
	s.t.Helper()
	response, body := s.fetch(s.formOf(page, form, button, change))
	if response.StatusCode != status {
		s.t.Fatalf("%s: status %d, want %d:\n%s", form, response.StatusCode, status, body)
	}
	next := parse(s.t, body)
	next.check(s.t)
	return next
}

func (s *site) formOf(page element, form, button string, change map[string]string) *http.Request {
	s.t.Helper()
	forms := page.all(func(e element) bool {
		return e.name == "form" && (e.attributes["id"] == form || e.id(form).name != "")
	})
	if len(forms) != 1 {
		s.t.Fatalf("%d forms for %s", len(forms), form)
	}
	f := forms[0]
	values := url.Values{}
	for _, in := range f.all(func(e element) bool { return e.name == "input" || e.name == "textarea" }) {
		values.Set(in.attributes["name"], in.attributes["value"]+in.text)
	}
	b := f.id(button)
	if b.name != "button" {
		s.t.Fatalf("there is no button %s", button)
	}
	values.Set(b.attributes["name"], b.attributes["value"])
	for name, value := range change {
		values.Set(name, value)
	}
	r := s.request(http.MethodPost, f.attributes["action"])
	r.Body = http.NoBody
	text := values.Encode()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+f.attributes["action"], strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.url)
	return r
}

var anaKey = keys.Key{PK: "USER#ana", SK: keys.Profile}

func (s *site) stored(k keys.Key) table.Item {
	s.t.Helper()
	item, err := table.Get[table.Item](s.t.Context(), s.table, k)
	if err != nil {
		s.t.Fatal(err)
	}
	return item
}

// writes returns how many requests wrote.
func (s *site) writes() int {
	return len(s.faults.Requests("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"))
}

func TestChange(t *testing.T) {
	t.Parallel()
	s := writable(t)
	item := s.get(s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	s.get(s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK).id("mode").has(t, "can write")
	edit := s.get(item.id("edit").attributes["href"], http.StatusOK)
	text := edit.id("text").text
	changed := strings.Replace(text, "Person 0", "Ana \u00e9", 1)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": changed, "together": ""})
	review.id("review").has(t, "name", "Person 0", "Ana é")
	review.id("copies-stay").has(t, "1 other item", "EMAIL#ana@example.com")
	review.has(t, "if revision is still the same")
	if s.writes() != 0 {
		t.Fatal("the difference was written before it was confirmed")
	}
	back := s.submit(review, "confirm", "write", http.StatusOK, map[string]string{"do": "back"})
	if got := back.id("text").text; got != changed {
		t.Errorf("edited further: %s", got)
	}
	before := s.stored(anaKey)
	done := s.submit(review, "confirm", "write", http.StatusOK, nil)
	done.id("done").has(t, "The change was written.")
	done.id("written").has(t, "write unit")
	after := s.stored(anaKey)
	if got := values(after, "name"); got != "Ana é" || values(before, "revision") == values(after, "revision") {
		t.Errorf("stored: name %q, revision %q after %q", got, values(after, "revision"), values(before, "revision"))
	}
	// The page that wrote, once more.
	s.submit(review, "confirm", "write", http.StatusConflict, nil).id("changed").has(t, "Nothing was written")
	if n := s.writes(); n != 1 {
		t.Errorf("%d writes", n)
	}
}

func values(item table.Item, name string) string {
	var v struct{ Value string }
	_ = table.Item{"Value": item[name]}.Decode(&v)
	return v.Value
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := writable(t)
	item := s.get(s.at("/item", "pk", "USER#ana", "sk", "SESSION#s-01"), http.StatusOK)
	review := s.submit(item, "delete", "delete", http.StatusOK, nil)
	review.id("review").has(t, "agent", "Firefox on Linux")
	lacks(t, review.id("review"), "missing", "After the change")
	s.submit(review, "confirm", "write", http.StatusOK, nil).id("done").has(t, "The item was deleted.")
	s.get(s.at("/item", "pk", "USER#ana", "sk", "SESSION#s-01"), http.StatusNotFound)
	s.submit(review, "confirm", "write", http.StatusConflict, nil).id("nothing").has(t, "There is no item")
}

// A write of another program between the page and its button is not overwritten.
func TestChangedInBetween(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	changed := map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Ana", 1), "together": ""}
	review := s.submit(edit, "edit", "show", http.StatusOK, changed)
	rename := func(name string) {
		t.Helper()
		people, err := users(s.table)
		if err == nil {
			_, err = people.Update(t.Context(), anaKey, func(u *user) error { u.Name = name; return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rename("Anna")
	again := s.submit(review, "confirm", "write", http.StatusConflict, nil)
	again.id("review").has(t, "Anna")
	// This time it changes after the page has read it, too.
	s.faults.Next("UpdateItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		rename("Annie")
		return next.RoundTrip(r)
	})
	last := s.submit(again, "confirm", "write", http.StatusConflict, nil)
	last.id("changed").has(t, "Nothing was written")
	last.id("review").has(t, "Annie")
	if got := values(s.stored(anaKey), "name"); got != "Annie" {
		t.Errorf("stored: %q", got)
	}
	s.submit(last, "confirm", "write", http.StatusOK, nil).id("done").has(t, "written")
	if got := values(s.stored(anaKey), "name"); got != "Ana" {
		t.Errorf("stored: %q", got)
	}
}

// A write of another program while the text is edited is shown as such: the text would
// undo it.
func TestChangedWhileEdited(t *testing.T) {
	t.Parallel()
	s := writable(t)
	text := func(e element) map[string]string {
		return map[string]string{"text": strings.Replace(e.id("text").text, "Person 0", "Ana", 1)}
	}
	rename := func(name string) {
		t.Helper()
		if err := s.table.Do(t.Context(), table.Update(anaKey, expression.Set(expression.Name("email"), expression.Value(name)))); err != nil {
			t.Fatal(err)
		}
	}
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	rename("new@example.com")
	review := s.submit(edit, "edit", "show", http.StatusConflict, text(edit))
	review.id("changed").has(t, "has changed since you saw it", "undo what others have changed")
	review.id("review").has(t, "new@example.com")
	// After the difference was seen, the same text is a decision.
	back := s.submit(review, "confirm", "write", http.StatusOK, map[string]string{"do": "back"})
	again := s.submit(back, "edit", "show", http.StatusOK, text(back))
	rename("newer@example.com")
	s.submit(back, "edit", "show", http.StatusConflict, text(back)).id("changed").has(t, "has changed since you saw it")
	s.submit(again, "confirm", "write", http.StatusConflict, nil)
	if n := s.writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// Without a schema file, a number called version may be that of a document.
func TestAVersionThatIsData(t *testing.T) {
	t.Parallel()
	s := writable(t)
	key := keys.Key{PK: "DOC#1", SK: "METADATA"}
	if err := s.table.Do(t.Context(), table.Put(key, map[string]any{"entityType": "DOC", "version": 2024, "name": "a"})); err != nil {
		t.Fatal(err)
	}
	s.get(s.at(""), http.StatusOK) // it learns the type
	edit := s.get(s.at("/edit", "pk", "DOC#1", "sk", "METADATA"), http.StatusOK)
	text := strings.Replace(edit.id("text").text, `"a"`, `"b"`, 1)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": text})
	review.has(t, "if all attributes are still the same")
	s.submit(review, "confirm", "write", http.StatusOK, nil)
	if item := s.stored(key); values(item, "version") != "2024" || values(item, "name") != "b" {
		t.Errorf("stored: %v", item)
	}
}

// A version cannot be edited: the page does not call such a text what is stored.
func TestEditedVersion(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	revision := values(s.stored(anaKey), "revision")
	for _, text := range []string{
		strings.Replace(edit.id("text").text, revision, "mine", 1),
		strings.Replace(edit.id("text").text, `"revision": {"S": "`+revision+`"},`, "", 1),
	} {
		review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": text})
		review.id("ignored").has(t, "another value of revision", "is not used")
	}
	if same := s.submit(edit, "edit", "show", http.StatusOK, nil).id("ignored"); same.name != "" {
		t.Errorf("the same text: %s", same.text)
	}
}

func TestRefusedDelete(t *testing.T) {
	t.Parallel()
	s := writable(t)
	many := table.Item{}
	for i := range 151 {
		many["a"+strconv.Itoa(i)] = &types.AttributeValueMemberBOOL{}
	}
	if err := s.table.Do(t.Context(), table.Put(keys.Key{PK: "MANY", SK: "1"}, many)); err != nil {
		t.Fatal(err)
	}
	item := s.get(s.at("/item", "pk", "MANY", "sk", "1"), http.StatusOK)
	s.submit(item, "delete", "delete", http.StatusBadRequest, nil).id("error").has(t, "cannot be deleted here", "151 attributes")
	s.submit(item, "delete", "delete", http.StatusBadRequest, map[string]string{"do": "x"}).id("error").has(t, "no known button")
}

func TestInvalidChange(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := edit.id("text").text
	for name, invalid := range map[string]string{
		"no JSON":     "<script>",
		"no item":     "[]",
		"two types":   `{"pk": {"S": "USER#ana", "N": "1"}}`,
		"another key": strings.Replace(text, "USER#ana", "USER#ben", 1),
		"no number":   strings.Replace(text, `"S": "Person 0"`, `"N": "many"`, 1),
		"too large":   strings.Replace(text, "Person 0", strings.Repeat("x", 410<<10), 1),
	} {
		page := s.submit(edit, "edit", "show", http.StatusBadRequest, map[string]string{"text": invalid})
		if page.id("problem").text == "" || page.id("text").text != invalid {
			t.Errorf("%s: no problem, or the text is lost", name)
		}
	}
	same := s.submit(edit, "edit", "show", http.StatusOK, nil)
	same.id("nothing").has(t, "There is nothing to write.")
	if n := s.writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// TestForgedForms sends forms that are not of the pages.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	s := writable(t)
	item := s.get(s.at("/item", "pk", "USER#ana", "sk", "SESSION#s-01"), http.StatusOK)
	review := s.submit(item, "delete", "delete", http.StatusOK, nil)
	before := len(s.faults.Requests())
	for name, forge := range map[string]func(*http.Request){
		"no origin":      func(r *http.Request) { r.Header.Del("Origin") },
		"origin null":    func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"another scheme": func(r *http.Request) { r.Header.Set("Origin", strings.Replace(s.url, "http:", "https:", 1)) },
		"another site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another host":   func(r *http.Request) { r.Host = "evil.example" },
		"plain text":     func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"in the address": func(r *http.Request) {
			r.URL.RawQuery += "&" + url.Values{"guard": {item.all(func(e element) bool { return e.attributes["name"] == "guard" })[0].attributes["value"]}, "do": {"delete"}}.Encode()
			r.Body, r.ContentLength = http.NoBody, 0
		},
	} {
		r := s.formOf(review, "confirm", "write", nil)
		forge(r)
		if response, _ := s.fetch(r); response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
	}
	for _, guard := range []string{"", "0", s.token} {
		r := s.formOf(review, "confirm", "write", map[string]string{"guard": guard})
		if response, _ := s.fetch(r); response.StatusCode != http.StatusForbidden {
			t.Errorf("guard %q: status %d", guard, response.StatusCode)
		}
	}
	stranger := s.formOf(review, "confirm", "write", nil)
	s.browser = &http.Client{}
	if response, _ := s.fetch(stranger); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without cookie: status %d", response.StatusCode)
	}
	if sent := s.sent(before); len(sent) > 0 {
		t.Errorf("requests: %v", sent)
	}
}

// After a lost response the page says so.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := writable(t)
	if err := s.table.Do(t.Context(), table.Update(anaKey, expression.Set(expression.Name("revision"), expression.Value("r1")))); err != nil {
		t.Fatal(err)
	}
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Ana", 1), "together": ""})
	s.faults.Always("UpdateItem", tabletest.DropResponse())
	s.submit(review, "confirm", "write", http.StatusBadGateway, nil).id("error").has(t, "Whether it was written is unknown", "Open the item")
}
