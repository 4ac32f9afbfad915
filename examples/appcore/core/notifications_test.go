package core_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
)

// notified returns the user's only notification.
func notified(t *testing.T, s *core.Service, user string) core.Notification {
	t.Helper()
	page := check.Must(s.Notifications(t.Context(), core.List{User: user, Limit: 10}))(t)
	if len(page.Items) != 1 {
		t.Fatalf("%d notifications of %s", len(page.Items), user)
	}
	return page.Items[0]
}

// An id leads to a notification of the user who sends it, or nowhere.
func TestAnIDLeadsToOnesOwnNotificationOnly(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	check.Must(s.Approve(t.Context(), create(t, s, "u-1", "k")))(t)
	n := notified(t, s, "u-1")
	id := n.PublicID()
	before := len(items(t, tbl))
	for _, c := range []struct{ user, id string }{
		{"u-2", id},
		{"", id},
		{"u-1", ""},
		{"u-1", "~"},
		{"u-1", n.ID},
		{"u-1", "~" + n.ID},
		{"u-1", strings.TrimSuffix(id, n.ID)},
		{"u-1", id + "~"},
		{"u-1", id + "#"},
		{"u-1", " " + id},
		{"u-1", strings.Replace(id, "~", "#", 1)},
		{"u-1", strings.Replace(id, ".", ",", 1)},
		{"u-1", strings.Replace(id, "Z~", "~", 1)},
		{"u-1", strings.Replace(id, "Z~", "+00:00~", 1)},
		{"u-1", "2024-02-30T10:05:00.000Z~" + n.ID},
		{"u-1", "2024-01-15T10:05:00.000Z~" + n.ID},
		{"u-1", "2024-01-15T10:05:00.000Z~\xff"},
		{"u-1", id + strings.Repeat("x", 64<<10)},
	} {
		check.Is(t, check.Err(s.MarkNotification(t.Context(), c.user, c.id, true)), core.ErrNotFound, c.user, " ", c.id)
	}
	check.Equal(t, "notification", notified(t, s, "u-1"), n)
	check.Equal(t, "items", len(items(t, tbl)), before)
}

func TestANotificationOfTheFormerReleaseIsRead(t *testing.T) {
	t.Parallel()
	s, tbl, _ := newService(t)
	put(t, tbl, table.Item{
		"pk": str("USER#u-1"), "sk": str("NOTIF#2024-01-15T10:07:00.000Z#notif-x"), "entityType": str("NOTIFICATION"),
		"notifId": str("notif-x"), "userId": str("u-1"), "txId": str("tx-1"),
		"text": str("Your transaction of 500 ARS was approved"), "createdAt": str("2024-01-15T10:07:00Z"),
	})
	n := notified(t, s, "u-1")
	if n.Read || n.Message != "Your transaction of 500 ARS was approved" || n.TxID != "tx-1" {
		t.Errorf("%+v", n)
	}
	marked := check.Must(s.MarkNotification(t.Context(), "u-1", "2024-01-15T10:07:00.000Z~notif-x", true))(t)
	check.Equal(t, "read", marked.Read, true)
	stored := items(t, tbl)[0]
	if text(stored, "text") != "" || text(stored, "message") != n.Message {
		t.Errorf("stored: %v", stored)
	}
}
