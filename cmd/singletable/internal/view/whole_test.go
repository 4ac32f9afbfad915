package view_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// shopEntities are the users and orders of the tests as a schema file has them. A user can
// have a copy by phone, and a copy by the day of the last visit.
func shopEntities() []tablemodel.Entity {
	return []tablemodel.Entity{
		{Type: "USER", Version: "revision", Items: []tablemodel.Pattern{
			{PK: "USER#{userId}", SK: "PROFILE"},
			{PK: "EMAIL#{email}", SK: "PROFILE"},
			{PK: "PHONE#{phone}", SK: "PROFILE"},
			{PK: "VISIT#{visitedAt:time}", SK: "{userId}"},
		}},
		{Type: "ORDER", Items: []tablemodel.Pattern{{PK: "USER#{userId}", SK: "ORDER#{placedAt:time}#{orderId}", Indexes: map[string]tablemodel.Pattern{
			"GSI1": {PK: "STATUS#{status}", SK: "ORDER#{placedAt:time}"},
		}}}},
	}
}

// withSchema returns a filled site that lets items be changed, and that has a schema file.
func withSchema(t *testing.T) *site {
	t.Helper()
	model := tablemodel.Model{Table: shop(), Entities: shopEntities()}
	s := filled(t, func(o *view.Options) { o.Write, o.Model = true, &model })
	model.Name = s.name
	return s
}

// Of items that were read one cannot tell that an entity has no other copies: every page on
// which it is changed says so, also after a Scan that has not met the copy.
func TestCopiesThatWereNotRead(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), func(o *view.Options) { o.Write = true }).open()
	main := keys.Key{PK: "ORDER#1", SK: "METADATA"}
	order := table.Item{"pk": str("ORDER#1"), "sk": str("METADATA"), "entityType": str("ORDER"), "orderId": str("1"), "userId": str("ana"), "status": str("paid")}
	s.put(order)
	s.get(s.at(""), http.StatusOK)
	// The copy is one that the overview has not read.
	byUser := keys.Key{PK: "USER#ana", SK: "ORDER#1"}
	if err := s.table.Do(t.Context(), table.Put(byUser, map[string]any{"entityType": "ORDER", "orderId": "1", "userId": "ana", "status": "paid"})); err != nil {
		t.Fatal(err)
	}
	const note = "No schema file says which copies this item has. Copies under keys that were not read"
	item := s.get(s.itemAt(main), http.StatusOK)
	edit := s.get(item.id("edit").attributes["href"], http.StatusOK)
	edit.id("copies-unread").has(t, note+" stay as they are", "-schema")
	lacks(t, edit, "as one")
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "paid", "sent", 1)})
	review.id("copies-unread").has(t, note+" stay as they are")
	remove := s.submit(item, "delete", "delete", http.StatusOK, nil)
	remove.id("copies-unread").has(t, note+" stay as they are")
	lacks(t, remove, "the entity as one", "all items of the entity")
	form := s.get(s.at("/create", "of", "ORDER"), http.StatusOK)
	created := s.submit(form, "create", "show", http.StatusOK, map[string]string{"with": "2", "text": `{"status": {"S": "new"}}`})
	created.id("copies-unread").has(t, note+" are not made")

	known := withSchema(t)
	item = known.get(known.itemAt(anaKey), http.StatusOK)
	edit = known.get(item.id("edit").attributes["href"], http.StatusOK)
	edit.id("edit").has(t, "Change the entity as one: 1 other item follows")
	review = known.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Anna", 1)})
	remove = known.submit(item, "delete", "delete", http.StatusOK, nil)
	for _, page := range []element{item, edit, review, remove} {
		if page.id("copies-unread").name != "" {
			t.Error("a schema file names all copies, and the page says that it does not")
		}
	}
	// A type that the file lacks.
	session := keys.Key{PK: "USER#ana", SK: "SESSION#s-01"}
	item = known.get(known.itemAt(session), http.StatusOK)
	known.get(item.id("edit").attributes["href"], http.StatusOK).id("copies-unread").has(t, note)
}

// What the key of an item is made of cannot be changed: the item would stay under the old key.
func TestDetachedItem(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	order := keys.Key{PK: "USER#ana", SK: "ORDER#2024-01-13T06:00:00.000Z#o-04"}
	for _, key := range []keys.Key{anaKey, anaByMail, order} {
		for _, together := range []string{"1", ""} {
			edit := s.get(s.at("/edit", "pk", string(key.PK), "sk", string(key.SK)), http.StatusOK)
			text := strings.Replace(edit.id("text").text, `"userId": {"S": "ana"}`, `"userId": {"S": "x"}`, 1)
			refused := s.submit(edit, "edit", "show", http.StatusBadRequest, map[string]string{"text": text, "together": together})
			refused.id("problem").has(t, "another key", "USER#x", "Repo.Update")
		}
	}
	// A pattern that was inferred can be a coincidence: the item alone can be changed.
	inferred := writable(t)
	edit := inferred.get(inferred.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := strings.Replace(edit.id("text").text, `"userId": {"S": "ana"}`, `"userId": {"S": "x"}`, 1)
	inferred.submit(edit, "edit", "show", http.StatusBadRequest, map[string]string{"text": text}).id("problem").has(t, "USER#x", "change the item alone")
	alone := inferred.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": text, "together": ""})
	alone.id("detached").has(t, "USER#x / PROFILE", "was inferred")
	if s.writes()+inferred.writes() != 0 {
		t.Error("it was written")
	}
}

// Only copies that are stored are said to stay.
func TestCopiesThatDoNotExist(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	if err := s.table.Do(t.Context(), table.Update(anaKey, expression.Set(expression.Name("phone"), expression.Value("1")))); err != nil {
		t.Fatal(err)
	}
	item := s.get(s.itemAt(anaKey), http.StatusOK)
	review := s.submit(item, "delete", "delete", http.StatusOK, nil)
	review.id("copies-stay").has(t, "The entity has 1 other item, which stays", "EMAIL#ana@example.com")
	lacks(t, review.id("copies-stay"), "PHONE")
	// One of another entity is not, either.
	ben := s.stored(keys.Key{PK: "USER#ben", SK: keys.Profile})
	ben["pk"] = str(string(anaByMail.PK))
	s.put(ben)
	if stay := s.submit(item, "delete", "delete", http.StatusOK, nil).id("copies-stay"); stay.name != "" {
		t.Errorf("the copy of another entity stays: %s", stay.text)
	}
}

// The item is deleted by another program while it is edited, and its copy is left.
func TestItemThatIsGone(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Anna", 1)}
	review := s.submit(edit, "edit", "show", http.StatusOK, text)
	if err := s.table.Do(t.Context(), table.Delete(anaKey)); err != nil {
		t.Fatal(err)
	}
	s.submit(edit, "edit", "show", http.StatusBadRequest, text).id("problem").has(t, "The item is gone", "EMAIL#ana@example.com / PROFILE")
	s.submit(review, "confirm", "write", http.StatusBadRequest, nil).id("problem").has(t, "The item is gone")
	text["together"] = ""
	s.submit(edit, "edit", "show", http.StatusConflict, text).id("changed").has(t, "The item is gone")
	if s.writes() != 0 {
		t.Error("it was written")
	}
}

// The page says which item has changed.
func TestCopyThatChanged(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(edit.id("text").text, "Person 0", "Anna", 1)})
	byMail := s.stored(anaByMail)
	byMail["revision"] = str("r2")
	s.put(byMail)
	s.submit(review, "confirm", "write", http.StatusConflict, nil).id("changed").has(t, "Another item of the entity has changed")
}

// A new entity without some of its copies or keys in indexes says so.
func TestCreateWithoutCopies(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	form := s.get(s.at("/create", "of", "USER"), http.StatusOK)
	review := s.submit(form, "create", "show", http.StatusOK, map[string]string{"with": "zoe", "text": `{"email": {"S": "z@x"}}`})
	review.id("not-made").has(t, "copy 2, PHONE#{phone} / PROFILE", "copy 3, VISIT#{visitedAt:time} / {userId}", "an attribute in braces is missing")
	lacks(t, review.id("not-made"), "EMAIL")
	bad := s.submit(form, "create", "show", http.StatusOK, map[string]string{"with": "zoe", "text": `{"email": {"S": "z@x"}, "visitedAt": {"S": "yesterday"}}`})
	bad.id("alone").has(t, "Only this item is created.")
	bad.id("not-made").has(t, "copy 1, EMAIL#{email} / PROFILE: the item is created alone", "copy 3, VISIT#{visitedAt:time} / {userId}: an attribute in braces is missing or has another form")
	lacks(t, bad, "changed alone")
	order := s.get(s.at("/create"), http.StatusOK)
	made := s.submit(order, "create", "show", http.StatusOK, map[string]string{"text": `{"pk": {"S": "USER#zoe"}, "sk": {"S": "ORDER#2024-01-13T06:00:00.000Z#1"}, "entityType": {"S": "ORDER"},
		"userId": {"S": "zoe"}, "placedAt": {"S": "2024-01-13T06:00:00Z"}, "orderId": {"S": "1"}}`})
	made.id("not-made").has(t, "the keys in GSI1, STATUS#{status} / ORDER#{placedAt:time}")
}

// The type stays on the page after a refusal, and where the text is edited further.
func TestTypeOfAnEditedItem(t *testing.T) {
	t.Parallel()
	s := writable(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := edit.id("text").text
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": strings.Replace(text, "Person 0", "Anna", 1)})
	back := s.submit(review, "confirm", "write", http.StatusOK, map[string]string{"do": "back"})
	refused := s.submit(edit, "edit", "show", http.StatusBadRequest, map[string]string{"text": strings.Replace(text, "USER#ana", "USER#x", 1)})
	unread := s.submit(edit, "edit", "show", http.StatusBadRequest, map[string]string{"text": text + "}"})
	for _, page := range []element{edit, back, refused, unread} {
		page.has(t, "Edit USER")
		page.id("edit").has(t, "Change the 2 known items together")
	}
}

// A copy that moves is not shown with the revision from before.
func TestPreviewOfAMovedCopy(t *testing.T) {
	t.Parallel()
	s := withSchema(t)
	edit := s.get(s.at("/edit", "pk", "USER#ana", "sk", "PROFILE"), http.StatusOK)
	text := strings.Replace(edit.id("text").text, "ana@example.com", "new@example.com", 1)
	review := s.submit(edit, "edit", "show", http.StatusOK, map[string]string{"text": text})
	review.id("h-other-1").has(t, "EMAIL#new@example.com / PROFILE is created")
	revision := values(s.stored(anaKey), "revision")
	if n := strings.Count(review.id("content").text, revision); n != 1 {
		t.Errorf("the revision is shown %d times, want once, in the copy that is deleted", n)
	}
	s.submit(review, "confirm", "write", http.StatusOK, nil)
}

// Where no item has the type attribute, it can have another name.
func TestNoItemHasAType(t *testing.T) {
	t.Parallel()
	s := serve(t, shop(), nil).open()
	if page := s.get(s.at(""), http.StatusOK); page.id("untyped").name != "" {
		t.Error("an empty table has items without a type")
	}
	s.put(table.Item{"pk": str("A"), "sk": str("1"), "kind": str("A")})
	page := s.get(s.at(""), http.StatusOK)
	page.id("untyped").has(t, "entityType", "-schema")
	page.id("cost").has(t, "1 item read")
	list := s.get(s.at("/browse", "as", "list"), http.StatusOK)
	item := s.get(s.at("/item", "pk", "A", "sk", "1"), http.StatusOK)
	for _, e := range []element{page.id("content"), list.id("items"), item.id("content")} {
		lacks(t, e, "no type", "Type attribute")
	}
	lacks(t, list.id("items"), "Type")
	s.put(table.Item{"pk": str("B"), "sk": str("1"), "entityType": str("B")})
	page = s.get(s.at(""), http.StatusOK)
	if page.id("untyped").name != "" {
		t.Error("an item has a type")
	}
	page.id("facts").has(t, "Type attribute")
	page.id("partitions").has(t, "no type")
}

// The form of a query keeps the order of the partition.
func TestOrderOfAsQuery(t *testing.T) {
	t.Parallel()
	s := filled(t, nil)
	for order, first := range map[string]string{"desc": "SESSION#s-01", "": "ORDER#2024-01-11"} {
		partition := s.get(s.at("/partition", "pk", "USER#ana", "order", order), http.StatusOK)
		query := s.get(partition.id("as-query").attributes["href"], http.StatusOK)
		query.id("row-0").has(t, first)
	}
}

// Items without a type attribute have the type that their keys and attributes tell, and one that
// is created for a type gets these.
func TestKindsOfTheSchema(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Devices", Kinds: []schema.Kind{
		{Type: "DEVICE", PK: "DEVICE#", SK: "META", Equal: map[string]string{"schema": "device"}},
		{Type: "READING", PK: "DEVICE#", SK: "READING#", Exists: []string{"at"}},
	}}
	model := tablemodel.Model{Table: spec, Entities: []tablemodel.Entity{
		{Type: "DEVICE", Items: []tablemodel.Pattern{{PK: "DEVICE#{id}", SK: "META"}}},
		{Type: "READING", Items: []tablemodel.Pattern{{PK: "DEVICE#{id}", SK: "READING#{at}"}}},
	}}
	s := serve(t, spec, func(o *view.Options) { o.Model, o.Write = &model, true }).open()
	model.Name = s.name
	s.put(table.Item{"pk": str("DEVICE#d-1"), "sk": str("META"), "id": str("d-1"), "schema": str("device"), "entityType": str("pump")})
	s.put(table.Item{"pk": str("DEVICE#d-1"), "sk": str("READING#1"), "id": str("d-1"), "at": str("1")})
	page := s.get(s.at(""), http.StatusOK)
	page.id("map").has(t, "DEVICE", "READING")
	lacks(t, page.id("facts"), "Type attribute")
	if page.id("untyped").name != "" {
		t.Error("the items have no type")
	}
	partition := s.get(s.at("/partition", "pk", "DEVICE#d-1"), http.StatusOK)
	partition.id("row-0").has(t, "DEVICE", "pump")
	partition.id("row-1").has(t, "READING")
	var href string
	for _, a := range s.get(s.at("/create"), http.StatusOK).id("patterns").all(named("a")) {
		if a.text == "DEVICE" {
			href = a.attributes["href"]
		}
	}
	form := s.get(href, http.StatusOK)
	review := s.submit(form, "create", "show", http.StatusOK, map[string]string{"with": "d-2", "text": form.id("text").text})
	s.submit(review, "confirm", "write", http.StatusOK, nil)
	got := s.stored(keys.Key{PK: "DEVICE#d-2", SK: "META"})
	if values(got, "schema") != "device" || values(got, "id") != "d-2" || values(got, "entityType") != "" {
		t.Errorf("stored: %v", got)
	}
}
