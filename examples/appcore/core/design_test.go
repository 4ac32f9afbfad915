package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// The items of the source design, as it shows them.
const (
	designUser = `{"pk": "USER#u-123", "sk": "PROFILE", "entityType": "USER", "userId": "u-123",
		"email": "ana.garcia@mail.com", "name": "Ana García", "createdAt": "2024-01-15T10:00:00.000Z"}`
	designByUser = `{"pk": "USER#u-123", "sk": "TX#2024-01-15T10:05:00.000Z#tx-abc", "entityType": "TRANSACTION",
		"txId": "tx-abc", "userId": "u-123", "amount": 500, "currency": "ARS", "status": "PENDING",
		"createdAt": "2024-01-15T10:05:00.000Z", "GSI1PK": "GLOBAL_TX", "GSI1SK": "2024-01-15T10:05:00.000Z"}`
	designByID = `{"pk": "TX#tx-abc", "sk": "METADATA", "entityType": "TRANSACTION",
		"txId": "tx-abc", "userId": "u-123", "amount": 500, "currency": "ARS", "status": "COMPLETED",
		"createdAt": "2024-01-15T10:05:00.000Z", "GSI1PK": "GLOBAL_TX", "GSI1SK": "2024-01-15T10:05:00.000Z"}`
	designNotification = `{"pk": "USER#u-123", "sk": "NOTIF#2024-01-15T10:06:00.000Z#notif-xyz", "entityType": "NOTIFICATION",
		"notifId": "notif-xyz", "userId": "u-123", "message": "Tu transacción TX#tx-abc fue aprobada.",
		"read": false, "createdAt": "2024-01-15T10:06:00.000Z"}`
	designRecord = `{"pk": "IDE#req-uuid-xxxx", "sk": "METADATA", "entityType": "IDEMPOTENCY",
		"txId": "tx-abc", "userId": "u-123", "createdAt": "2024-01-15T10:05:00.000Z"}`
)

// ofDesign returns an item of the design.
func ofDesign(t *testing.T, text string) table.Item {
	t.Helper()
	var values map[string]any
	check.OK(t, json.Unmarshal([]byte(text), &values))
	return check.Must(attributevalue.MarshalMap(values))(t)
}

// newDesigned returns the application on a table with the items of the design,
// written by the SDK alone.
func newDesigned(t *testing.T) (*core.Service, *table.Table) {
	t.Helper()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, core.Schema("any"), nil)
	for _, text := range []string{designUser, designByUser, designByID, designNotification, designRecord} {
		name := tbl.Schema().Name
		check.Must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: ofDesign(t, text)}))(t)
	}
	return check.Must(core.New(tbl, &core.Options{Former: core.Former}))(t), tbl
}

func TestItemsOfTheDesignAreRead(t *testing.T) {
	t.Parallel()
	s, _ := newDesigned(t)
	list := core.List{User: "u-123", Limit: 10}
	byID := check.Must(s.Transaction(t.Context(), "u-123", "tx-abc"))(t)
	if byID.Amount != 500 || byID.Currency != "ARS" || byID.Status != core.Completed || byID.CreatedAt.IsZero() {
		t.Errorf("by id: %+v", byID)
	}
	listed := check.Must(s.Transactions(t.Context(), list))(t)
	byUser := byID
	byUser.Status = core.Pending // as the design has it
	check.Equal(t, "by user", listed.Items, []core.Transaction{byUser})
	n := notified(t, s, "u-123")
	if n.Message != "Tu transacción TX#tx-abc fue aprobada." || n.Read || n.PublicID() != "2024-01-15T10:06:00.000Z~notif-xyz" {
		t.Errorf("notification: %+v", n)
	}
	check.Equal(t, "marked", check.Must(s.MarkNotification(t.Context(), "u-123", n.PublicID(), true))(t).Read, true)
	check.Equal(t, "stored", notified(t, s, "u-123").Read, true)
}

// newest walks the list of all users' transactions, one at a time.
func newest(t *testing.T, s *core.Service) (ids []string) {
	t.Helper()
	for list := (core.List{User: "x", Limit: 1}); ; {
		page := check.Must(s.Newest(t.Context(), list))(t)
		for _, tx := range page.Items {
			ids = append(ids, tx.ID)
		}
		if list.After = page.Next; page.Next == "" {
			return ids
		}
	}
}

// Both items of the design are in the index, in the shard whose key has no number.
func TestTheListOfAllShowsATransactionOfTheDesignOnce(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	check.Equal(t, "newest", newest(t, s), []string{"tx-abc"})
	mine := create(t, s, "u-123", "k")
	check.Equal(t, "newest with one of ours", newest(t, s), []string{mine, "tx-abc"})
	// A change makes it one of ours: both copies agree, and one is in the index.
	_, err := s.Annotate(t.Context(), core.NewNote{User: "u-123", ID: "tx-abc", Note: "n"})
	check.OK(t, err)
	check.Equal(t, "newest after a change", newest(t, s), []string{mine, "tx-abc"})
	inIndex := 0
	for _, item := range ofType(t, tbl, "TRANSACTION") {
		if text(item, "txId") != "tx-abc" {
			continue
		}
		if text(item, "GSI1PK") != "" {
			inIndex++
		}
		check.Equal(t, "status", text(item, "status"), string(core.Completed))
	}
	check.Equal(t, "items in the index", inIndex, 1)
}

// Its sort key is the time alone.
func TestTransactionsOfTheDesignAtTheSameTimeAreAllListed(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	want := []string{"tx-abc"}
	for _, id := range []string{"tx-abd", "tx-abe", "tx-abf"} {
		for _, text := range []string{designByUser, designByID} {
			put(t, tbl, ofDesign(t, strings.ReplaceAll(text, "tx-abc", id)))
		}
		want = append(want, id)
	}
	got := newest(t, s)
	slices.Sort(got)
	check.Equal(t, "newest", got, want)
}

func TestAPendingTransactionOfTheDesignIsApproved(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	item := ofDesign(t, designByID)
	item["status"] = str("PENDING")
	put(t, tbl, item)
	check.Equal(t, "status", check.Must(s.Approve(t.Context(), "tx-abc"))(t).Status, core.Completed)
	check.Must(s.Approve(t.Context(), "tx-abc"))(t)
	listed := check.Must(s.Transactions(t.Context(), core.List{User: "u-123", Limit: 10}))(t)
	check.Equal(t, "status by user", listed.Items[0].Status, core.Completed)
	check.Equal(t, "notifications", len(ofType(t, tbl, "NOTIFICATION")), 2) // with the design's own
	check.Equal(t, "newest", newest(t, s), []string{"tx-abc"})
}

// The record of the design names its user, though its key does not.
func TestTheRecordOfTheDesignIsRespected(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	request := func(user string, amount int64) (string, bool, error) {
		n := core.NewTransaction{User: user, Key: "req-uuid-xxxx", Amount: amount, Currency: "ARS"}
		created, replayed, err := s.Create(t.Context(), n)
		return created.ID, replayed, err
	}
	for range 2 {
		id, replayed, err := request("u-123", 500)
		check.OK(t, err)
		check.Equal(t, "the same user's request", fmt.Sprint(id, replayed), "tx-abctrue")
	}
	_, _, err := request("u-123", 501)
	check.Is(t, err, core.ErrPayloadMismatch, "another request")
	check.Equal(t, "transactions", len(ofType(t, tbl, "TRANSACTION")), 2)
	// Another user's key is another key.
	for _, replayed := range []bool{false, true} {
		id, got, err := request("u-456", 501)
		check.OK(t, err)
		if id == "tx-abc" || got != replayed {
			t.Errorf("another user's request: %s, replayed %t", id, got)
		}
	}
	check.Equal(t, "transactions", len(ofType(t, tbl, "TRANSACTION")), 4)
}

// Such a POST has no transaction to return, and must not create a second one.
func TestARecordOfTheDesignWithoutItsTransactionIsOfAnotherRequest(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	for _, c := range []struct{ key, user, tx string }{{"gone", "u-123", "tx-gone"}, {"foreign", "u-456", "tx-abc"}} {
		put(t, tbl, ofDesign(t, strings.NewReplacer("req-uuid-xxxx", c.key, "u-123", c.user, "tx-abc", c.tx).Replace(designRecord)))
		n := core.NewTransaction{User: c.user, Key: c.key, Amount: 500, Currency: "ARS"}
		_, _, err := s.Create(t.Context(), n)
		check.Is(t, err, core.ErrPayloadMismatch, c.key)
	}
	check.Equal(t, "transactions", len(ofType(t, tbl, "TRANSACTION")), 2)
}

// The design has no item for an e-mail, so that of its user is free until the
// user is registered again, or refreshed.
func TestAUserOfTheDesignClaimsTheEmail(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	// The design does not say that it stores small letters.
	put(t, tbl, ofDesign(t, strings.ReplaceAll(designUser, "ana.garcia", "Ana.Garcia")))
	check.Equal(t, "owner at first", owner(t, tbl, "ana.garcia@mail.com"), "")
	n := core.NewUser{ID: "u-123", Email: "ana.garcia@mail.com", Name: "Ana García"}
	for range 2 {
		u, created, err := s.Register(t.Context(), n)
		check.OK(t, err)
		if created || u.Revision == "" || u.Email != "Ana.Garcia@mail.com" {
			t.Errorf("created %t, %+v", created, u)
		}
	}
	check.Equal(t, "owner", owner(t, tbl, "ana.garcia@mail.com"), "u-123")
	n.ID = "u-456"
	_, _, err := s.Register(t.Context(), n)
	check.Is(t, err, core.ErrEmailTaken)
}

// Somebody else was faster.
func TestAUserOfTheDesignMayHaveLostTheEmail(t *testing.T) {
	t.Parallel()
	s, tbl := newDesigned(t)
	register(t, s, "u-456", "ana.garcia@mail.com", "Other")
	_, _, err := s.Register(t.Context(), core.NewUser{ID: "u-123", Email: "ana.garcia@mail.com", Name: "Ana García"})
	check.Is(t, err, core.ErrEmailTaken)
	u, err := s.ChangeEmail(t.Context(), "u-123", "ana@mail.com")
	check.OK(t, err)
	check.Equal(t, "email", u.Email, "ana@mail.com")
	check.Equal(t, "owner of the new e-mail", owner(t, tbl, "ana@mail.com"), "u-123")
	check.Equal(t, "owner of the former e-mail", owner(t, tbl, "ana.garcia@mail.com"), "u-456")
}
