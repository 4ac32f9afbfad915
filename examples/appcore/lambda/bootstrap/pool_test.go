// The functions trust the pool by SSL_CERT_FILE, which Go does not read on these two systems.

//go:build !darwin && !windows

package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// Each function serves its endpoint and no other, to users with a token of the pool. Only
// those that need the cursor keys read the secret.
func TestEachFunctionServesItsEndpoint(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	ids := map[string]string{} // of what is in responses, by the members that have them
	var invoked []string
	for _, c := range []struct {
		handler, id, body string
		status            int
		has               string
	}{
		{"createTransaction", "", `{"amount":500,"currency":"ARS"}`, http.StatusCreated, `"amount":500`},
		{"getTransaction", "txId", "", http.StatusOK, `"currency":"ARS"`},
		{"patchTransaction", "txId", `{"note":"rent"}`, http.StatusOK, `"note":"rent"`},
		{"approveTransaction", "txId", "", http.StatusOK, `"status":"COMPLETED"`},
		{"listTransactions", "", "", http.StatusOK, `"note":"rent"`},
		{"newestTransactions", "", "", http.StatusOK, `"note":"rent"`},
		{"listNotifications", "", "", http.StatusOK, `"read":false`},
		{"patchNotification", "notifId", `{"read":true}`, http.StatusOK, `"read":true`},
		{"registerUser", "", `{"userId":"u-9","email":"ana@example.com","name":"Ana"}`, http.StatusCreated, `"userId":"u-9"`},
		{"getUser", "userId", "", http.StatusOK, `"email":"ana@example.com"`},
		{"patchUser", "userId", `{"email":"ana@example.org"}`, http.StatusOK, `"email":"ana@example.org"`},
	} {
		reads := d.secrets.Reads()
		f := d.Start(t, c.handler)
		invoked = append(invoked, c.handler)
		for handler := range d.Functions {
			statuses := []int{http.StatusNotFound, http.StatusMethodNotAllowed}
			// /transactions/global has the form of /transactions/{id}.
			if handler == c.handler || c.handler == "getTransaction" && handler == "newestTransactions" {
				statuses = []int{http.StatusUnauthorized}
			}
			f.Serve(t, d.request(handler, "x-1"), statuses...)
		}
		r := d.request(c.handler, ids[c.id])
		r.Body = c.body
		r.Token, r.Claims = d.pool.Token(t, "u-123", map[string]any{"cognito:groups": []string{api.BackOffice}})
		d.Faults.Always("", tabletest.DropRequest())
		f.Serve(t, r, http.StatusServiceUnavailable)
		d.Faults.Always("", nil)
		body := f.Serve(t, r, c.status).Body
		if !strings.Contains(body, c.has) {
			t.Errorf("%s: %s, want %s", c.handler, body, c.has)
		}
		for _, id := range identifier.FindAllStringSubmatch(body, -1) {
			ids[id[1]] = id[2]
		}
		f.Fails(t, []byte(`{"Records":[{"messageId":"m-1","body":"{}","eventSource":"aws:sqs"}]}`), `records of "aws:sqs"`)
		check.Equal(t, c.handler+" reads the secret", d.secrets.Reads() > reads, strings.HasPrefix(c.handler, "list") || c.handler == "newestTransactions")
	}
	slices.Sort(invoked)
	check.Equal(t, "functions", invoked, slices.Sorted(maps.Keys(d.Functions)))
}
