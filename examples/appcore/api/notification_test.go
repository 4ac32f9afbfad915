package api_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

// mark sends whether a notification is read.
func (a *app) mark(tb testing.TB, user, id, body string) response {
	tb.Helper()
	return a.do(tb, request{Method: http.MethodPatch, Path: "/notifications/" + url.PathEscape(id), User: user, Body: body})
}

func TestANotificationIsMarkedAsRead(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	tx := a.create(t, ana, "k")
	check.Must(a.service.Approve(t.Context(), tx))(t)
	list := func() notification {
		return decode[page[notification]](t, a.get(t, ana, "/notifications").Body).Items[0]
	}
	n := list()
	if n.Read || n.Message != "Your transaction of 500 EUR was approved" || n.TxID != tx {
		t.Errorf("at first: %+v", n)
	}
	for _, c := range []struct {
		body string
		read bool
	}{{`{"read":true}`, true}, {`{"read":true}`, true}, {`{"read":false}`, false}} {
		got := a.mark(t, ana, n.ID, c.body)
		got.is(t, http.StatusOK)
		n.Read = c.read
		check.Equal(t, "marked", decode[notification](t, got.Body), n)
		check.Equal(t, "listed", list(), n)
	}
	written := func() int { return len(a.faults.Requests("UpdateItem", "PutItem", "TransactWriteItems")) }
	before := written()
	a.mark(t, ana, n.ID, `{"read":false}`).is(t, http.StatusOK)
	check.Equal(t, "writes of a repetition", written(), before)
	check.Together(8, func(int) { a.mark(t, ana, n.ID, `{"read":true}`).is(t, http.StatusOK) })

	for _, c := range []struct {
		user, id, body string
		status         int
		code           string
	}{
		{"", n.ID, `{"read":true}`, 401, "unauthorized"},
		{bruno, n.ID, `{"read":false}`, 404, "not_found"},
		{ana, "../" + n.ID, `{"read":false}`, 404, "not_found"},
		{ana, "\xff", `{"read":false}`, 404, "not_found"},
		{ana, n.ID, `{}`, 400, "invalid_read"},
		{ana, n.ID, `{"read":null}`, 400, "invalid_read"},
		{ana, n.ID, `{"read":"true"}`, 400, "invalid_read"},
		{ana, n.ID, `{"read":1}`, 400, "invalid_read"},
		{ana, n.ID, `{"read":true,"message":"x"}`, 400, "unknown_field"},
	} {
		a.mark(t, c.user, c.id, c.body).refused(t, c.status, c.code, c)
	}
	check.Equal(t, "read", list().Read, true)
}
