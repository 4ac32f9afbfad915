package view_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

var anaByMail = keys.Key{PK: "EMAIL#ana@example.com", SK: keys.Profile}

// An entity is edited as one: its copy follows, in one transaction.
func TestChangeAnEntity(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	edit.id("edit").has(t, "Change the 2 known items together", "Copies under keys that were not read stay as they are")
	text := map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Anna", 1)}
	review := s.submit(edit, "edit", "show", http.StatusOK, text)
	review.id("content").has(t, "EMAIL#ana@example.com / PROFILE changes")
	review.id("guarded").has(t, "The 2 items are written in one transaction, all or none")
	if n := strings.Count(review.id("content").text, "Anna"); n != 2 {
		t.Errorf("the new name is shown %d times", n)
	}
	if review.id("copies-stay").name != "" || s.writes() != 0 {
		t.Error("the copies stay, or were written")
	}
	done := s.submit(review, "confirm", "write", http.StatusOK, nil)
	done.id("written").has(t, "write units")
	done.id("requests").has(t, "aws dynamodb transact-write-items")
	main, byMail := s.stored(anaKey), s.stored(anaByMail)
	if values(main, "name") != "Anna" || values(byMail, "name") != "Anna" || values(main, "revision") != values(byMail, "revision") {
		t.Errorf("stored: %v and %v", main, byMail)
	}
	s.submit(review, "confirm", "write", http.StatusConflict, nil).id("changed").has(t, "Nothing was written")
	s.get(s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK).id("drift").has(t, "all attributes of the items that are known are equal")
}

// A copy whose key changes moves, and a status that is a part of a key in an index moves the
// item there.
func TestKeysFollow(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := map[string]string{"text": strings.Replace(edit.id("text").text, "ana@example.com", "new@example.com", 1)}
	review := s.submit(edit, "edit", "show", http.StatusOK, text)
	review.id("content").has(t, "EMAIL#ana@example.com / PROFILE is deleted", "EMAIL#new@example.com / PROFILE is created")
	s.submit(review, "confirm", "write", http.StatusOK, nil)
	s.get(s.at("/item", "pk", "EMAIL#ana@example.com", "sk", "PROFILE"), http.StatusNotFound)
	if got := s.stored(keys.Key{PK: "EMAIL#new@example.com", SK: keys.Profile}); values(got, "name") != "Person 0" {
		t.Errorf("stored: %v", got)
	}
	// The address of another user is taken.
	text["text"] = strings.Replace(edit.id("text").text, "ana@example.com", "ben@example.com", 1)
	edit = s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text["text"] = strings.Replace(edit.id("text").text, "new@example.com", "ben@example.com", 1)
	s.submit(edit, "edit", "show", http.StatusBadRequest, text).id("problem").has(t, "another item is stored under the key")

	order := []string{"pk", "USER#ana", "sk", "ORDER#2024-01-13T06:00:00.000Z#o-04"}
	edit = s.get(s.at("/edit", order...), http.StatusOK)
	edit.id("edit").has(t, "Change keys in indexes that are made of changed attributes, too")
	review = s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, `"status": {"S": "paid"}`, `"status": {"S": "sent"}`, 1)})
	review.id("review").has(t, "status", "STATUS#paid", "STATUS#sent")
	s.submit(review, "confirm", "write", http.StatusOK, nil)
	s.get(s.at("/item", order...), http.StatusOK).id("places").has(t, "STATUS#sent")
}

// A write of another program to the copy is not overwritten.
func TestEntityChangedInBetween(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Anna", 1)})
	byMail := s.stored(anaByMail)
	byMail["revision"] = str("r2")
	s.put(byMail)
	again := s.submit(review, "confirm", "write", http.StatusConflict, nil)
	again.id("changed").has(t, "Nothing was written")
	if got := values(s.stored(anaKey), "name"); got != "Person 0" {
		t.Errorf("stored: %q", got)
	}
	s.submit(again, "confirm", "write", http.StatusOK, nil).id("done").has(t, "written")
	// Where an item is missing, the other one is changed alone, after the page has said so.
	if err := s.table.Do(t.Context(), table.Delete(anaByMail)); err != nil {
		t.Fatal(err)
	}
	edit = s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	review = s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "Anna", "Annie", 1)})
	review.id("alone").has(t, "changed alone", "item 2 of 2 is not stored")
	s.submit(review, "confirm", "write", http.StatusOK, nil).id("done").has(t, "written")
	if got := values(s.stored(anaKey), "name"); got != "Annie" {
		t.Errorf("stored: %q", got)
	}
}

func TestDeleteAnEntity(t *testing.T) {
	t.Parallel()
	s := writable(t)
	item := s.get(s.at("/item", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	one := s.submit(item, "delete", "delete", http.StatusOK, nil)
	one.id("copies-stay").has(t, "1 other item that is known, which stays: reads by other keys still find the entity", "EMAIL#ana@example.com / PROFILE")
	one.id("claims-unread").has(t, "Unique values that the entity has claimed stay taken")
	all := s.submit(one, "entity", "delete-all", http.StatusOK, nil)
	all.id("content").has(t, "EMAIL#ana@example.com / PROFILE is deleted", "2 items are deleted in one transaction")
	if s.writes() != 0 {
		t.Fatal("it was deleted before it was confirmed")
	}
	s.submit(all, "confirm", "write", http.StatusOK, nil).id("done").has(t, "The item was deleted.")
	for _, pk := range []string{"USER#ana", "EMAIL#ana@example.com"} {
		s.get(s.at("/item", "pk", pk, "sk", "PROFILE"), http.StatusNotFound)
	}
	s.submit(all, "confirm", "write", http.StatusNotFound, nil)
}

// The page of a deletion names the claims that were read.
func TestDeleteNamesClaims(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, func(o *view.Options) { o.Write = true })
	s.get(s.itemAt(slotKey("1", "09")), http.StatusOK)
	page := s.get(s.itemAt(bookingKey("b1")), http.StatusOK)
	review := s.submit(page, "delete", "delete", http.StatusOK, nil)
	if claims := page.id("claims"); claims.name == "" {
		t.Fatal("no claim was read")
	}
	review.id("claims-stay").has(t, "no other entity can claim th", "ROOM#1")
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := writable(t)
	choice := s.get(s.at("/create"), http.StatusOK)
	choice.id("patterns").has(t, "USER", "ORDER", "USER#{userId} / ORDER#{placedAt:time}#{orderId}")
	var href string
	for _, a := range choice.id("patterns").all(named("a")) {
		if a.text == "USER" {
			href = a.attributes["href"]
		}
	}
	form := s.get(href, http.StatusOK)
	form.id("text").has(t, `"name": {"S": ""}`, `"settings": {`)
	for _, made := range []string{`"pk"`, `"revision"`, `"userId"`, `"entityType"`} {
		if strings.Contains(form.id("text").text, made) {
			t.Errorf("the text has %s, which is made", made)
		}
	}
	text := strings.Replace(strings.Replace(form.id("text").text, `"name": {"S": ""}`, `"name": {"S": "Zoë"}`, 1), `"email": {"S": ""}`, `"email": {"S": "zoe@example.com"}`, 1)
	review := s.submit(form, "create", "show", http.StatusOK, map[string]string{"with": "zoë#1", "text": text})
	review.id("content").has(t, "Create USER", "USER#zoë#1 / PROFILE", "EMAIL#zoe@example.com / PROFILE is created", "name", "Zoë", "in one transaction")
	if s.writes() != 0 {
		t.Fatal("it was written before it was confirmed")
	}
	s.submit(review, "confirm", "write", http.StatusOK, nil).id("done").has(t, "written")
	got, byMail := s.stored(keys.Key{PK: "USER#zoë%231", SK: keys.Profile}), s.stored(keys.Key{PK: "EMAIL#zoe@example.com", SK: keys.Profile})
	if values(got, "userId") != "zoë#1" || values(got, "entityType") != "USER" || len(values(got, "revision")) != 26 || values(byMail, "revision") != values(got, "revision") {
		t.Errorf("stored: %v and %v", got, byMail)
	}
	s.submit(review, "confirm", "write", http.StatusConflict, nil).id("changed").has(t, "Nothing was written")
	s.submit(form, "create", "show", http.StatusBadRequest, map[string]string{"with": "ana", "text": text}).id("problem").has(t, "stored under this key already")
	s.submit(form, "create", "show", http.StatusBadRequest, map[string]string{"with": "", "text": text}).id("problem").has(t, "needs all of its attributes")
	problem := s.submit(form, "create", "show", http.StatusBadRequest, map[string]string{"with": "yan", "text": "{\n\"a\": {\"S\" 1}}"})
	problem.id("problem").has(t, "line 2, column 11", "is not JSON")
	if problem.id("with-0").attributes["value"] != "yan" {
		t.Error("the form has lost its fields")
	}
}

// Without a type, an item is made of JSON. Keys of an index are made of its attributes.
func TestCreateOtherItems(t *testing.T) {
	t.Parallel()
	s := writable(t)
	form := s.get(s.at("/create"), http.StatusOK)
	form.id("text").has(t, `"pk": {"S": ""}`)
	review := s.submit(form, "create", "show", http.StatusOK, map[string]string{"text": `{"pk": {"S": "X"}, "sk": {"S": "1"}, "n": {"N": "7"}}`})
	s.submit(review, "confirm", "write", http.StatusOK, nil)
	if got := s.stored(keys.Key{PK: "X", SK: "1"}); values(got, "n") != "7" {
		t.Errorf("stored: %v", got)
	}
	s.submit(form, "create", "show", http.StatusBadRequest, map[string]string{"text": `{"pk": {"S": "X"}}`}).id("problem").has(t, "sk")
	order := s.get(s.at("/create", "of", "ORDER"), http.StatusOK)
	r := s.formOf(order, "create", "show", nil)
	body := url.Values{
		"guard": {order.all(func(e element) bool { return e.attributes["name"] == "guard" })[0].attributes["value"]}, "do": {"put"},
		"with": {"ana", "2024-01-18T11:00:00Z", "o-99"}, "text": {`{"status": {"S": "placed"}, "totalCents": {"N": "1"}}`},
	}.Encode()
	r.Body, r.ContentLength = http.NoBody, 0
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL.String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.url)
	_, shown := s.fetch(r)
	parse(t, shown).id("review").has(t, "gsi1pk", "STATUS#placed", "gsi1sk", "ORDER#2024-01-18T11:00:00.000Z")

	readOnly := filled(t, nil)
	readOnly.get(readOnly.at("/create"), http.StatusNotFound)
}

// What is on a page is exported as lines that load reads.
func TestExport(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	for name, page := range map[string]element{
		"partition": s.get(s.at("/partition", "pk", "USER#ana"), http.StatusOK),
		"query":     s.get(s.at("/query", "pk", "USER#ana", "op", "begins", "sk", "ORDER", "attribute", "status", "equals", "paid"), http.StatusOK),
		"browse":    s.get(s.at("/browse"), http.StatusOK),
	} {
		response, body := s.fetch(s.request(http.MethodGet, page.id("export").attributes["href"]))
		if got := response.Header.Get("Content-Disposition"); got != "attachment; filename="+s.name+".jsonl" || response.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: headers %v", name, response.Header)
		}
		want := map[string]int{"partition": 9, "query": 2, "browse": 26}[name]
		n := 0
		for line := range strings.Lines(body) {
			item, err := dynamojson.DecodeLine([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil || item["pk"] == nil {
				t.Errorf("%s: %v", name, err)
			}
			n++
		}
		if n != want {
			t.Errorf("%s: %s lines, want %d", name, strconv.Itoa(n), want)
		}
	}
	// A part of an item is none.
	part := s.get(s.at("/browse", "index", "GSI2"), http.StatusOK)
	if part.id("export").name != "" {
		t.Error("parts of items are exported")
	}
	response, _ := s.fetch(s.request(http.MethodGet, s.at("/browse", "index", "GSI2", "export", "items.jsonl")))
	if response.Header.Get("Content-Disposition") != "" {
		t.Error("parts of items are exported by their address")
	}
	s.put(table.Item{"pk": str("H"), "sk": str("1"), "x": str("\u202e\n\x00"), "b": &types.AttributeValueMemberB{Value: []byte{0, 255}}})
	_, body := s.fetch(s.request(http.MethodGet, s.at("/partition", "pk", "H", "export", "items.jsonl")))
	if strings.Count(body, "\n") != 1 {
		t.Errorf("a line end in a value ends a line: %q", body)
	}
}
