package view_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

const (
	booking keys.Prefix = "BOOKING"
	room    keys.Prefix = "ROOM"
	slot    keys.Prefix = "SLOT"
)

// reservation claims the slots of its room.
type reservation struct {
	ID       string   `dynamodbav:"bookingId"`
	Room     string   `dynamodbav:"room"`
	Slots    []string `dynamodbav:"slots"`
	Expires  int64    `dynamodbav:"expiresAt,omitempty"`
	Revision string   `dynamodbav:"revision"`
}

func slotKey(of, hour string) keys.Key { return keys.Key{PK: room.PK(of), SK: slot.SK(keys.Str(hour))} }

func bookingKey(id string) keys.Key { return keys.Key{PK: booking.PK(id), SK: keys.Metadata} }

// booked returns a site with two bookings, of two slots and one.
func booked(t *testing.T, change func(*view.Options)) (*site, *repo.Repo[reservation]) {
	t.Helper()
	s := serve(t, schema.Table{Name: "Rooms", TTLAttribute: "expiresAt"}, change)
	r, err := repo.New(s.table, repo.Entity[reservation]{
		Type: "BOOKING", Version: "revision",
		Key: func(r reservation) keys.Key { return bookingKey(r.ID) },
		Claims: func(r reservation) (claims []keys.Key) {
			for _, hour := range r.Slots {
				claims = append(claims, slotKey(r.Room, hour))
			}
			return claims
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []reservation{
		{ID: "b1", Room: "1", Slots: []string{"09", "10"}, Expires: now.Unix() + 7200}, {ID: "b2", Room: "2", Slots: []string{"09"}},
	} {
		if err := r.Create(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	return s.open(), r
}

// itemAt returns the address of the page of an item.
func (s *site) itemAt(k keys.Key) string {
	return s.at("/item", "pk", string(k.PK), "sk", string(k.SK))
}

// chips returns the texts of the chips in an element.
func chips(e element) (all []string) {
	for _, c := range e.all(func(e element) bool { return strings.HasPrefix(e.attributes["class"], "chip") }) {
		all = append(all, c.text)
	}
	return all
}

// hue returns the class of the colour of the first chip in an element.
func hue(e element) string {
	c := e.all(func(e element) bool { return strings.HasPrefix(e.attributes["class"], "chip hue") })[0]
	return strings.TrimPrefix(c.attributes["class"], "chip ")
}

// follow returns the page of the last link in an element.
func (s *site) follow(e element) element {
	s.t.Helper()
	links := e.all(named("a"))
	return s.get(links[len(links)-1].attributes["href"], http.StatusOK)
}

func lacks(t *testing.T, e element, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(e.text, p) {
			t.Errorf("%q is in: %s", p, strings.Join(strings.Fields(e.text), " "))
		}
	}
}

func TestClaimsInLists(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, nil)
	main := rows(s.get(s.at("/partition", "pk", "BOOKING#b1"), http.StatusOK))[0]
	claims := rows(s.get(s.at("/partition", "pk", "ROOM#1"), http.StatusOK))
	if len(claims) != 2 {
		t.Fatalf("%d claims", len(claims))
	}
	for _, claim := range claims {
		if got := chips(claim); !slices.Equal(got, []string{"BOOKING claim"}) {
			t.Errorf("chips %q", got)
		}
		if hue(claim) != hue(main) {
			t.Errorf("colour %s, want that of the entity, %s", hue(claim), hue(main))
		}
		claim.has(t, "owner", "BOOKING#b1 / METADATA", "expires in 2 h")
		lacks(t, claim, "ownerPK", "ownerSK")
		s.follow(claim).id("attributes").has(t, "bookingId", "b1")
	}
	grid := s.get(s.at("/browse"), http.StatusOK).id("partitions")
	grid.has(t, "BOOKING claim", "BOOKING#b2 / METADATA")
	lacks(t, grid, "ownerPK", "ownerSK")
	s.get(s.at("/browse", "as", "list"), http.StatusOK).id("items").has(t, "BOOKING claim", "BOOKING#b2 / METADATA")
}

func TestClaimsInTheOverview(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, nil)
	s.put(
		table.Item{"pk": str("A"), "sk": str("1"), "entityType": str("A")}, table.Item{"pk": str("Z"), "sk": str("1"), "entityType": str("Z")},
		table.Item{"pk": str("SEAT#1"), "sk": str("METADATA"), "entityType": str("ORDER claim"), "ownerPK": str("ORDER#1"), "ownerSK": str("METADATA")},
	)
	page := s.get(s.at(""), http.StatusOK)
	// The claims of entities that were not read come last.
	if got, want := mapRows(page), []string{"A", "BOOKING", "BOOKING claim", "Z", "ORDER claim"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	page.id("map").has(t, "ROOM#{1}", "SLOT#{2}", "METADATA")
	lacks(t, page.id("map"), "owner")
}

// A schema file that was inferred from items calls claims an entity, here one of two items.
func TestClaimsInASchemaFile(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, nil)
	s.put(table.Item{"pk": str("DOOR"), "sk": str("1"), "entityType": str("BOOKING claim"), "ownerPK": str("BOOKING#b1"), "ownerSK": str("METADATA")})
	items, err := tablemodel.Scan(t.Context(), s.table, 0)
	if err != nil {
		t.Fatal(err)
	}
	model, err := tablemodel.Infer(s.schema, items)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{"BOOKING", "BOOKING claim", "BOOKING claim"}, {"BOOKING", "BOOKING claim", "BOOKING claim", "BOOKING claim", "BOOKING claim copy 1"}} {
		other := serve(t, shop(), func(o *view.Options) { o.Model, o.Write = &model, true }).open()
		other.name = s.name
		page := other.get(other.at(""), http.StatusOK)
		if got := mapRows(page); !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
		page = other.get(other.itemAt(slotKey("1", "09")), http.StatusOK)
		if page.id("h-copies").name != "" || other.submit(page, "delete", "delete", http.StatusOK, nil).id("copies-stay").name != "" {
			t.Error("a claim has copies")
		}
		// The next one reads an item that is no claim, too.
		s.put(table.Item{"pk": str("NONE"), "sk": str("1"), "entityType": str("BOOKING claim")})
	}
}

// mapRows returns the names of the rows of the key map.
func mapRows(page element) (all []string) {
	for _, e := range page.id("map").all(func(e element) bool { return e.attributes["scope"] == "row" }) {
		all = append(all, e.text)
	}
	return all
}

func TestClaimedBy(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, nil)
	address := s.itemAt(slotKey("1", "09"))
	page := s.get(address, http.StatusOK)
	page.id("content").has(t, "Claimed by the item exists")
	if got, want := s.sent(0), []string{"DescribeTable", "DescribeTimeToLive", "GetItem", "GetItem"}; !slices.Equal(got, want) {
		t.Errorf("requests: %v, want %v", got, want)
	}
	for _, r := range s.faults.Requests("GetItem") {
		if !strings.Contains(string(r.Body), `"ConsistentRead":true`) {
			t.Errorf("not consistent: %s", r.Body)
		}
	}
	page.id("owner").has(t, "BOOKING", "BOOKING#b1 / METADATA")
	lacks(t, page.id("attributes"), "ownerPK", "ownerSK")
	if page.id("learn").name != "" || page.id("copies").name != "" {
		t.Error("a claim has copies")
	}
	s.follow(page.id("owner")).id("attributes").has(t, "bookingId", "b1")

	s.put(table.Item{"pk": str("BOOKING#b1"), "sk": str("METADATA"), "entityType": str("DRAFT")})
	page = s.get(address, http.StatusOK)
	page.id("content").has(t, "the item has another type", "The stored item is of the type DRAFT.")
	if err := s.table.Do(t.Context(), table.Delete(bookingKey("b1"))); err != nil {
		t.Fatal(err)
	}
	page = s.get(address, http.StatusOK)
	page.id("content").has(t, "Claimed by there is no such item", "Nobody claims the key any more: a refresh of this key removes the claim.")
}

func TestClaimsOfAnItem(t *testing.T) {
	t.Parallel()
	s, r := booked(t, nil)
	address := s.itemAt(bookingKey("b1"))
	if s.get(address, http.StatusOK).id("claims").name != "" {
		t.Error("there are claims that nobody has read")
	}
	s.get(s.at(""), http.StatusOK)
	// Claims that were deleted or have another owner by now are not shown.
	_, err := r.Update(t.Context(), bookingKey("b1"), func(b *reservation) error { b.Slots = []string{"10"}; return nil })
	if err == nil {
		_, err = r.Update(t.Context(), bookingKey("b2"), func(b *reservation) error { b.Room, b.Slots = "1", []string{"09", "11"}; return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.faults.Requests())
	page := s.get(address, http.StatusOK)
	if got, want := s.sent(before), []string{"BatchGetItem", "GetItem"}; !slices.Equal(got, want) {
		t.Errorf("requests: %v, want %v", got, want)
	}
	if body := string(s.faults.Requests("BatchGetItem")[0].Body); !strings.Contains(body, `"ConsistentRead":true`) {
		t.Errorf("not consistent: %s", body)
	}
	page.has(t, "Others may exist")
	page.id("claims").has(t, "ROOM#1 / SLOT#10")
	lacks(t, page.id("claims"), "SLOT#09", "SLOT#11")
	s.follow(page.id("claims")).id("owner").has(t, "BOOKING#b1")
	// After a read of the claim, its new owner has it.
	s.get(s.itemAt(slotKey("1", "09")), http.StatusOK)
	s.get(s.itemAt(bookingKey("b2")), http.StatusOK).id("claims").has(t, "ROOM#1 / SLOT#09")
}

func TestDeleteOfAClaim(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, func(o *view.Options) { o.Write = true })
	for k, claim := range map[keys.Key]bool{slotKey("1", "09"): true, bookingKey("b2"): false} {
		page := s.get(s.itemAt(k), http.StatusOK)
		review := s.submit(page, "delete", "delete", http.StatusOK, nil)
		if !claim {
			lacks(t, review, "is free")
			review.id("claims-unread").has(t, "stay taken, if there are any")
			continue
		}
		review.id("key-free").has(t, "the key is free", "An owner that exists still counts it as its own")
		if got := chips(review); !slices.Equal(got, []string{"BOOKING claim"}) {
			t.Errorf("chips %q", got)
		}
		edit := s.get(page.id("edit").attributes["href"], http.StatusOK)
		text := map[string]string{"text": strings.Replace(edit.id("text").text, "BOOKING#b1", "BOOKING#b9", 1)}
		review = s.submit(edit, "edit", "show", http.StatusOK, text)
		review.id("review").has(t, "BOOKING#b9")
		lacks(t, review, "free")
	}
}

// Items with the type of claims and without an owner keep a type of their own.
func TestNoClaims(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, func(o *view.Options) { o.Write = true })
	binary := &types.AttributeValueMemberB{Value: []byte("BOOKING#b1")}
	for name, attributes := range map[string]table.Item{
		"none": {}, "pk": {"ownerPK": str("BOOKING#b1")}, "sk": {"ownerSK": str("METADATA")},
		"binary": {"ownerPK": binary, "ownerSK": str("METADATA")}, "empty": {"ownerPK": str(""), "ownerSK": str("METADATA")},
		"long": {"ownerPK": str("BOOKING#b1"), "ownerSK": str(strings.Repeat("x", keys.MaxSK+1))},
		"list": {"ownerPK": str("BOOKING#b1"), "ownerSK": list(str("METADATA"))},
	} {
		item := table.Item{"pk": str("NONE"), "sk": str(name), "entityType": str("BOOKING claim"), "name": str("x")}
		maps.Copy(item, attributes)
		s.put(item)
		page := s.get(s.itemAt(keys.Key{PK: "NONE", SK: keys.SK(name)}), http.StatusOK)
		if got := page.all(func(e element) bool { return e.attributes["class"] == "claim" }); len(got) > 0 || page.id("owner").name != "" {
			t.Errorf("%s is shown as a claim", name)
		}
		lacks(t, s.submit(page, "delete", "delete", http.StatusOK, nil).id("content"), "free")
	}
	s.put(table.Item{"pk": str("NONE"), "sk": str("no type"), "entityType": str(" claim"), "ownerPK": str("a"), "ownerSK": str("b")})
	s.get(s.at("/partition", "pk", "NONE"), http.StatusOK).id("items").has(t, "ownerPK", "ownerSK")
	page := s.get(s.at(""), http.StatusOK)
	if got, want := mapRows(page), []string{" claim", "BOOKING", "BOOKING claim", "BOOKING claim"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

// Owners that no program writes.
func TestStrangeOwners(t *testing.T) {
	t.Parallel()
	s, _ := booked(t, nil)
	claim := func(pk, kind, owner string) table.Item {
		return table.Item{"pk": str(pk), "sk": str("1"), "entityType": str(kind), "ownerPK": str(owner), "ownerSK": str("1"), "<b>": str("more")}
	}
	s.put(claim("SELF", "BOOKING claim", "SELF"), claim("OUTER", "BOOKING claim claim", "SELF"), claim("HTML", "<b> claim", "<script>\u202e"))
	s.get(s.at(""), http.StatusOK)
	self := s.get(s.itemAt(keys.Key{PK: "SELF", SK: "1"}), http.StatusOK)
	self.id("content").has(t, "the item has another type", "The stored item is of the type BOOKING claim.")
	if self.id("claims").name != "" {
		t.Error("a claim has claims")
	}
	s.get(s.itemAt(keys.Key{PK: "OUTER", SK: "1"}), http.StatusOK).id("content").has(t, "Claimed by the item exists")
	s.get(s.itemAt(keys.Key{PK: "HTML", SK: "1"}), http.StatusOK).id("owner").has(t, "<b>", `<script>\u202e / 1`)
	// What else a claim has is shown.
	s.get(s.at("/partition", "pk", "HTML"), http.StatusOK).id("row-0").has(t, "<b> claim", `<script>\u202e / 1`, "more")
}

// TestClaimsOfSimpleKeys opens a table without a sort key, whose keys are numbers.
func TestClaimsOfSimpleKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, schema.Table{Name: "Simple", SimpleKey: true, PKType: "N"}, nil).open()
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	s.put(
		table.Item{"pk": number("1"), "entityType": str("USER"), "name": str("Ana")},
		table.Item{"pk": number("17"), "entityType": str("USER claim"), "ownerPK": number("1"), "ownerSK": str("data")},
		table.Item{"pk": number("3"), "entityType": str("USER claim"), "ownerPK": number("1")},
		table.Item{"pk": number("4"), "entityType": str("USER claim"), "ownerPK": str("1")},
	)
	s.get(s.at(""), http.StatusOK).id("map").has(t, "USER", "USER claim")
	page := s.get(s.at("/item", "pk", "17"), http.StatusOK)
	main := s.follow(page.id("owner"))
	main.id("attributes").has(t, "Ana")
	var got []string
	for _, a := range main.id("claims").all(named("a")) {
		got = append(got, a.text)
	}
	if want := []string{"3", "17"}; !slices.Equal(got, want) {
		t.Errorf("claims %q, want %q", got, want)
	}
	// ownerSK is data here.
	s.get(s.at("/partition", "pk", "17"), http.StatusOK).id("row-0").has(t, "ownerSK", "data")
	lacks(t, s.get(s.at("/partition", "pk", "3"), http.StatusOK).id("row-0"), "ownerPK")
}
