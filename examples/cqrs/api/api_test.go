package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	lamp    = `{"type":"PRODUCT","path":["LAMP"],"name":"Desk lamp","attributes":{"price":40}}`
	lamp45  = `{"type":"PRODUCT","path":["LAMP"],"name":"Desk lamp","attributes":{"price":45},"version":1}`
	ofLamp  = "?type=PRODUCT&path=LAMP"
	imports = `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["DESK"],"name":"Desk"},{"type":"PRODUCT","path":["DESK"]},{"type":"DEPT","path":["NOWHERE","TEAM"]}]}`
)

// eventually repeats a request until its response is as wanted.
func (c client) eventually(t *testing.T, path string, done func(record) bool) record {
	t.Helper()
	var last record
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		status, body := c.do(t, path, "")
		last = decode(t, body)
		return status == http.StatusOK && done(last), nil
	}))
	return last
}

func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	ana := newApp(t).as(t, "ACME", "ana")
	first := decode(t, ana.is(t, http.StatusOK, "/records", lamp))
	check.Equal(t, "id", first.ID, "PRODUCT#ACME#LAMP")
	ana.is(t, http.StatusOK, "/records", lamp45)
	order := decode(t, ana.is(t, http.StatusOK, "/orders", `{"name":"A lamp","attributes":{"product":"LAMP"}}`))
	check.Equal(t, "order", order.Path[1], "ORD-000001")
	ana.is(t, http.StatusOK, "/records", `{"type":"USER","path":["ana"],"name":"Ana","attributes":{"email":"ana@example.com","disabled":false}}`)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["ENG"]}`)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["ENG","a/b?c#d"]}`)

	check.Equal(t, "user at once", decode(t, ana.is(t, http.StatusOK, "/record?type=USER&path=ana", "")).Attributes, map[string]any{"email": "ana@example.com", "disabled": false})
	check.Equal(t, "version 1", decode(t, ana.is(t, http.StatusOK, "/record/version"+ofLamp+"&version=1", "")).Attributes, map[string]any{"price": 40.0})
	check.Equal(t, "versions", decode(t, ana.is(t, http.StatusOK, "/record/versions"+ofLamp, "")).Items[0].Version, int64(2))
	command := decode(t, ana.is(t, http.StatusOK, "/record/commands"+ofLamp+"&limit=1", "")).Items[0]
	check.Equal(t, "source", command.Source, "POST /records")
	ana.eventually(t, "/record"+ofLamp, func(r record) bool { return r.Version == 2 })
	ana.eventually(t, "/record?id="+url.QueryEscape(first.ID), func(r record) bool { return r.Version == 2 })
	ana.eventually(t, "/records?type=PRODUCT", func(r record) bool { return len(r.Items) == 1 })
	below := ana.eventually(t, "/records?type=DEPT&path=ENG", func(r record) bool { return len(r.Items) == 1 })
	check.Equal(t, "below", below.Items[0].Path, []string{"ENG", "a/b?c#d"})
	ana.eventually(t, "/records?code=ORD-000001", func(r record) bool { return len(r.Items) == 1 })

	check.Equal(t, "import", decode(t, ana.is(t, http.StatusAccepted, "/imports", imports)).ID, "imp-1")
	task := ana.eventually(t, "/task?id=imp-1", func(r record) bool { return r.Status == "DONE" })
	check.Equal(t, "progress", []int{task.Done, task.Rejected}, []int{1, 2})
	rejected := decode(t, ana.is(t, http.StatusOK, "/imports/rejected?id=imp-1", "")).Items
	check.Equal(t, "rejected", rejected[1].Reason, "the parent does not exist")
	ana.is(t, http.StatusAccepted, "/catalogue/rebuild", `{"id":"rebuild-1"}`)
	ana.eventually(t, "/tasks", func(r record) bool {
		return len(r.Items) == 2 && r.Items[0].Status == "DONE" && r.Items[1].Status == "DONE"
	})
	listed := ana.is(t, http.StatusOK, "/catalogue", "")
	check.Equal(t, "catalogue", len(decode(t, listed).Items), 2)
	for _, want := range []string{
		`{"code":"DESK","name":"Desk","priceChanges":0,"version":1}`,
		`{"code":"LAMP","name":"Desk lamp","price":45,"lowest":40,"priceChanges":1,"version":2}`,
	} {
		if !strings.Contains(listed, want) {
			t.Errorf("the catalogue %s has no %s", listed, want)
		}
	}
	ana.is(t, http.StatusConflict, "/task/cancel", `{"id":"imp-1"}`)

	ana.eventually(t, "/search?name=LAMP", func(r record) bool { return len(r.Items) == 2 && r.Items[1].Version == 2 })
	ana.eventually(t, "/counts", func(r record) bool { return len(r.Items) == 4 && r.Items[2].Records == 2 && r.Items[2].Versions == 3 })
}

func TestARepeatedRequestHasItsFirstResponse(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ana := a.as(t, "ACME", "ana").with("Idempotency-Key", "k-1")
	a.faults.Next("TransactWriteItems", tabletest.DropResponse())
	first := ana.is(t, http.StatusOK, "/records", lamp)
	a.as(t, "ACME", "bob").is(t, http.StatusOK, "/records", lamp45)
	check.Equal(t, "again", ana.is(t, http.StatusOK, "/records", lamp), first)
	check.Equal(t, "reused", decode(t, ana.is(t, http.StatusUnprocessableEntity, "/records", lamp45)).Error.Code, "idempotency_key_reused")
	check.Equal(t, "without key", decode(t, a.as(t, "ACME", "ana").is(t, http.StatusConflict, "/records", lamp)).Error.Code, "version_conflict")
	check.Equal(t, "of another user", decode(t, a.as(t, "ACME", "bob").with("Idempotency-Key", "k-1").is(t, http.StatusConflict, "/records", lamp)).Error.Code, "version_conflict")
	command := decode(t, ana.is(t, http.StatusOK, "/record/commands"+ofLamp, "")).Items[1]
	check.Equal(t, "request of the command", command.RequestID, "k-1")
	order := `{"name":"A lamp"}`
	ana = ana.with("Idempotency-Key", "k-2")
	check.Equal(t, "order again", ana.is(t, http.StatusOK, "/orders", order), ana.is(t, http.StatusOK, "/orders", order))
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ana := a.as(t, "ACME", "ana")
	for _, tt := range []struct {
		status     int
		path, body string
	}{
		{400, "/records", `{"type":"CAT","path":["TOM"]}`},
		{400, "/records", `{"type":"PRODUCT_CMD","path":["LAMP"]}`},
		{400, "/records", `{"type":"PRODUCT"}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"attributes":{"price":9007199254740993}}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"attributes":{"colour":"red"}}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"attributes":[1]}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"attributes":{"price":1,"price":2}}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"tenant":"GLOBEX"}`},
		{400, "/records", `{"type":"PRODUCT","path":[""]}`},
		{409, "/records", lamp45},
		{409, "/records", `{"type":"PRODUCT","path":["LAMP"],"version":-1}`},
		{409, "/records", `{"type":"PRODUCT","path":["LAMP"],"version":99999999999}`},
		{400, "/records", `{"type":"PRODUCT","path":["LAMP"],"version":1.5}`},
		{400, "/records", `{"type":"ORDER","path":["2024","ORD-000001"]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"ORDER","path":["2024","ORD-000001"]}]}`},
		{409, "/records", `{"type":"DEPT","path":["NOWHERE","TEAM"]}`},
		{400, "/records?type=NONE", ""},
		{400, "/records?type=PRODUCT&limit=0", ""},
		{400, "/records?type=PRODUCT&limit=101", ""},
		{400, "/records?type=PRODUCT&lastKey=nonsense", ""},
		{400, "/records?type=PRODUCT&type=USER", ""},
		{400, "/records?code=", ""},
		{400, "/records?code=LAMP&type=NONE", ""},
		{400, "/record?type=PRODUCT", ""},
		{400, "/record?%zz", ""},
		{404, "/record" + ofLamp, ""},
		{404, "/record?id=PRODUCT%23ACME%23LAMP", ""},
		{400, "/record/version" + ofLamp, ""},
		{400, "/record/version" + ofLamp + "&version=0", ""},
		{400, "/record/version" + ofLamp + "&version=99999999999", ""},
		{404, "/record/version" + ofLamp + "&version=1", ""},
		{400, "/imports", `{"id":"imp-1","rows":[]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"version":1}]}`},
		{400, "/imports", `{"id":"","rows":[{"type":"PRODUCT","path":["A"]}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"nmae":"A"}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"name":"A","NAME":"B"}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"name":"A","name":"B"}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"attributes":{"price":1,"price":2}}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[{"type":"PRODUCT","path":["A"],"name":"\ud800"}]}`},
		{400, "/imports", `{"id":"imp-1","rows":[null]}`},
		{404, "/task?id=none", ""},
		{404, "/task/cancel", `{"id":"none"}`},
		{400, "/catalogue/rebuild", `{"id":""}`},
		{405, "/orders", ""},
		{404, "/tenants", ""},
	} {
		ana.is(t, tt.status, tt.path, tt.body)
	}
	if text := ana.is(t, 400, "/records?type=PRODUCT&lastKey=nonsense", ""); !strings.Contains(text, "invalid_cursor") {
		t.Errorf("a lastKey of no list is %s", text)
	}
	ana.with("Idempotency-Key", strings.Repeat("k", 256)).is(t, 400, "/records", lamp)
	ana.with("Idempotency-Key", "a,b").is(t, 400, "/records", lamp)
	if strings.Contains(a.log.String(), `"level":"ERROR"`) {
		t.Error(a.log)
	}
	a.faults.Always("", tabletest.DropRequest())
	ana.is(t, http.StatusServiceUnavailable, "/records", lamp)
}

// attackers are tenants whose names try to spell ACME's keys.
var attackers = []string{"GLOBEX", "acme", "ACME ", " ACME", "ACME#", "#ACME", "ACME#LAMP", "ACME%23", "ACME%", "%", "*", "ACME' OR '1'='1", "A_ME", "ACM_"}

func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ana := a.as(t, "ACME", "ana").with("Idempotency-Key", "k-1")
	ana.is(t, http.StatusOK, "/records", lamp)
	ana.with("Idempotency-Key", "k-2").is(t, http.StatusOK, "/records", lamp45)
	ana = a.as(t, "ACME", "ana")
	ana.is(t, http.StatusOK, "/records", `{"type":"USER","path":["ana"],"name":"Secret"}`)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["ENG"],"name":"Secret"}`)
	ana.is(t, http.StatusAccepted, "/imports", imports)
	ana.eventually(t, "/task?id=imp-1", func(r record) bool { return r.Status == "DONE" })
	ana.eventually(t, "/counts", func(r record) bool { return len(r.Items) == 3 })
	pages := map[string]string{}
	for _, path := range []string{"/records?type=PRODUCT", "/record/versions" + ofLamp, "/record/commands" + ofLamp, "/catalogue?", "/imports/rejected?id=imp-1", "/search?name=d"} {
		next := ana.eventually(t, path+"&limit=1", func(r record) bool { return r.LastKey != "" }).LastKey
		pages[path] = url.QueryEscape(next)
	}

	for _, tenant := range attackers {
		// The same user id and the same keys of requests.
		eve := a.as(t, tenant, "ana")
		for _, header := range []string{"X-Tenant", "Tenant", "X-Tenant-Id", "X-Forwarded-User"} {
			eve = eve.with(header, "ACME")
		}
		refused := func(status int, path, body string) {
			t.Helper()
			if text := eve.is(t, status, path, body); strings.Contains(text, "Secret") || strings.Contains(text, "Desk") {
				t.Errorf("%q, %s: %s", tenant, path, text)
			}
		}
		for _, path := range []string{
			"/record" + ofLamp, "/record" + ofLamp + "&tenant=ACME", "/record?type=USER&path=ana", "/record?type=DEPT&path=ENG",
			"/record?id=PRODUCT%23ACME%23LAMP", "/record?id=USER%23ACME%23ana", "/record/version" + ofLamp + "&version=1", "/task?id=imp-1",
		} {
			refused(http.StatusNotFound, path, "")
		}
		for _, path := range []string{
			"/records?type=PRODUCT", "/records?type=USER&tenant=ACME", "/records?type=DEPT&path=ENG", "/records?code=LAMP", "/record/versions" + ofLamp,
			"/record/commands" + ofLamp, "/catalogue", "/tasks", "/imports/rejected?id=imp-1", "/search?name=", "/search?name=Secret&tenant=ACME", "/search?name=%25", "/counts",
		} {
			refused(http.StatusOK, path, "")
			check.Equal(t, tenant+" reads "+path, decode(t, eve.is(t, http.StatusOK, path, "")).Items, []record{})
		}
		for path, next := range pages {
			refused(http.StatusBadRequest, path+"&limit=1&lastKey="+next, "")
		}
		refused(http.StatusConflict, "/records", lamp45)
		refused(http.StatusConflict, "/records", `{"type":"DEPT","path":["ENG","TEAM"]}`)
		refused(http.StatusNotFound, "/task/cancel", `{"id":"imp-1"}`)
		for _, member := range []string{"tenant", "tenantCode", "createdBy", "id"} {
			refused(http.StatusBadRequest, "/records", fmt.Sprintf(`{"type":"PRODUCT","path":["X"],%q:"ACME"}`, member))
		}
		// What it writes is its own, under names that ACME uses too.
		own := decode(t, eve.with("Idempotency-Key", "k-1").is(t, http.StatusOK, "/records", lamp))
		check.Equal(t, "version", own.Version, int64(1))
		if own.ID == "PRODUCT#ACME#LAMP" {
			t.Errorf("%q has written a record of ACME", tenant)
		}
		check.Equal(t, "its order", decode(t, eve.is(t, http.StatusOK, "/orders", `{"name":"mine"}`)).Path[1], "ORD-000001")
		eve.is(t, http.StatusAccepted, "/imports", imports)
	}
	check.Equal(t, "lamp", decode(t, ana.is(t, http.StatusOK, "/record"+ofLamp, "")).Version, int64(2))
	check.Equal(t, "order of ACME", decode(t, ana.is(t, http.StatusOK, "/orders", `{"name":"mine"}`)).Path[1], "ORD-000001")
	for _, tenant := range attackers {
		a.as(t, tenant, "x").eventually(t, "/counts", func(r record) bool {
			return len(r.Items) == 2 && r.Items[0].Records == 1 && r.Items[1].Records == 2
		})
	}
}

// requests has a request for each route: its query, or its body.
var requests = map[string]string{
	"POST /records":           `{"type":"PRODUCT","path":["LAMP"],"version":7}`,
	"POST /orders":            `{"name":"mine"}`,
	"POST /catalogue/rebuild": `{"id":"rebuild-1"}`,
	"POST /imports":           imports,
	"POST /task/cancel":       `{"id":"imp-1"}`,
	"GET /records":            "?type=PRODUCT",
	"GET /record":             ofLamp,
	"GET /record/version":     ofLamp + "&version=1",
	"GET /record/versions":    ofLamp,
	"GET /record/commands":    ofLamp,
	"GET /catalogue":          "",
	"GET /imports/rejected":   "?id=imp-1",
	"GET /tasks":              "",
	"GET /task":               "?id=imp-1",
	"GET /search":             "?name=lamp",
	"GET /counts":             "",
}

// Each route refuses those without a token, a tenant or the role, and writes nothing then.
func TestEachRouteHasItsRoles(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ana := a.as(t, "ACME", "ana")
	ana.is(t, http.StatusOK, "/records", lamp)
	ana.eventually(t, "/counts", func(r record) bool { return len(r.Items) == 1 })
	all := append(api.Routes(true), api.Routes(false)...)
	check.Equal(t, "routes", len(all), len(requests))
	of := func(groups ...string) map[string]any {
		return map[string]any{auth.TenantClaim: "ACME", "cognito:groups": groups}
	}
	const read, write, manage = "read", "write", "manage"
	for who, c := range map[string]struct {
		claims map[string]any
		may    []string
	}{
		"no tenant":    {map[string]any{"cognito:groups": []string{api.Admin}}, nil},
		"no role":      {of(), nil},
		"another role": {of("admins", "ADMIN", ""), nil},
		"reader":       {of(api.Reader), []string{read}},
		"writer":       {of(api.Writer), []string{read, write}},
		"admin":        {of(api.Admin), []string{read, write, manage}},
		"two roles":    {of("other", api.Reader, api.Writer), []string{read, write}},
	} {
		user := client{app: a, token: signed(t, "bob", c.claims)}
		for _, route := range all {
			method, path, _ := strings.Cut(route, " ")
			need, body := read, ""
			switch {
			case route == "POST /records" || route == "POST /orders":
				need, body = write, requests[route]
			case method == http.MethodPost:
				need, body = manage, requests[route]
			default:
				path += requests[route]
			}
			status, text := user.do(t, path, body)
			refused := status == http.StatusForbidden && strings.Contains(text, map[bool]string{true: "no_tenant", false: "insufficient_role"}[who == "no tenant"])
			if refused == slices.Contains(c.may, need) || status >= 500 || status == http.StatusUnauthorized {
				t.Errorf("%s, %s: %d %s", who, route, status, text)
			}
			client{app: a}.is(t, http.StatusUnauthorized, path, body)
			client{app: a, token: "nonsense"}.is(t, http.StatusUnauthorized, path, body)
		}
		if !slices.Contains(c.may, write) { // what is refused is not written
			check.Equal(t, who+" writes", decode(t, ana.is(t, http.StatusOK, "/record"+ofLamp, "")).Version, int64(1))
		}
	}
	for _, claim := range []any{"", []string{"ACME"}, 1, "ACME\x00"} {
		client{app: a, token: signed(t, "ana", map[string]any{"custom:tenant": claim})}.is(t, http.StatusUnauthorized, "/tasks", "")
	}
}

// A list has the same items in pages of one as in one page.
func TestListsHavePages(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	ana := a.as(t, "ACME", "ana")
	for _, id := range []string{"imp-1", "imp-2"} {
		ana.is(t, http.StatusAccepted, "/imports", strings.Replace(imports, "imp-1", id, 1))
	}
	ana.is(t, http.StatusOK, "/records", lamp)
	ana.is(t, http.StatusOK, "/records", lamp45)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["LAMP"],"name":"Desk lamp"}`)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["LAMP","A"],"name":"Desk`+strings.Repeat(" desk", 1000)+`"}`)
	ana.is(t, http.StatusOK, "/records", `{"type":"DEPT","path":["LAMP","B"],"name":"Desk`+strings.Repeat(" desk", 1000)+`"}`)
	ana.eventually(t, "/tasks", func(r record) bool {
		return len(r.Items) == 2 && r.Items[0].Status == "DONE" && r.Items[1].Status == "DONE"
	})
	ana.eventually(t, "/search?name=desk", func(r record) bool { return len(r.Items) == 5 })
	ana.eventually(t, "/records?code=LAMP", func(r record) bool { return len(r.Items) == 2 && r.Items[1].Version == 2 })
	ana.eventually(t, "/catalogue", func(r record) bool { return len(r.Items) == 2 })
	for path, want := range map[string]int{
		"/tasks?": 2, "/imports/rejected?id=imp-2": 3, "/records?code=LAMP": 2, "/records?code=LAMP&type=DEPT": 1, "/search?name=desk": 5, "/records?type=PRODUCT": 2,
		"/records?type=DEPT&path=LAMP": 2, "/catalogue?": 2, "/record/versions" + ofLamp: 2, "/record/commands" + ofLamp: 2,
	} {
		whole := decode(t, ana.is(t, http.StatusOK, path, ""))
		check.Equal(t, path, len(whole.Items), want)
		var pages []record
		for after := ""; ; {
			page := decode(t, ana.is(t, http.StatusOK, path+"&limit=1"+after, ""))
			pages = append(pages, page.Items...)
			if page.LastKey == "" {
				break
			}
			after = "&lastKey=" + url.QueryEscape(page.LastKey)
		}
		check.Equal(t, path+" in pages", pages, whole.Items)
		ana.is(t, http.StatusBadRequest, path+"&lastKey=nonsense", "")
		ana.is(t, http.StatusBadRequest, path+"&limit=0", "")
	}
	a.noKeys.Store(true)
	check.Equal(t, "without keys", decode(t, ana.is(t, http.StatusServiceUnavailable, "/tasks", "")).Error.Code, "unavailable")
	a.noKeys.Store(false)
	next := decode(t, ana.is(t, http.StatusOK, "/search?name=desk&limit=1", "")).LastKey
	ana.is(t, http.StatusBadRequest, "/search?name=des&lastKey="+url.QueryEscape(next), "")
}

func TestAFileIsImported(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	write := func(tenant, text string) {
		t.Helper()
		dir := filepath.Join(a.files, tenant)
		check.OK(t, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "products.jsonl"), []byte(text), 0o600))
	}
	write("ACME", `{"type":"PRODUCT","path":["DESK"],"name":"Desk"}`+"\n"+`{"type":"PRODUCT","path":["CHAIR"],"Name":"Chair"}`+"\n")
	ana := a.as(t, "ACME", "ana")
	const body = `{"id":"imp-1","file":"products.jsonl"}`
	check.Equal(t, "task", decode(t, ana.is(t, http.StatusAccepted, "/imports", body)).ID, "imp-1")
	task := ana.eventually(t, "/task?id=imp-1", func(r record) bool { return r.Status == "DONE" })
	check.Equal(t, "progress", []int{task.Done, task.Rejected}, []int{1, 1})
	if task.ExpiresAt == "" {
		t.Error("the task does not expire")
	}
	check.Equal(t, "rejected", decode(t, ana.is(t, http.StatusOK, "/imports/rejected?id=imp-1", "")).Items[0].Reason, "an object has an unknown member")
	ana.is(t, http.StatusAccepted, "/imports", body)
	write("ACME", "{}")
	ana.is(t, http.StatusConflict, "/imports", body)
	ana.is(t, http.StatusNotFound, "/imports", `{"id":"imp-2","file":"none.jsonl"}`)
	ana.is(t, http.StatusBadRequest, "/imports", `{"id":"imp-2","file":"../ACME/products.jsonl"}`)
	ana.is(t, http.StatusBadRequest, "/imports", `{"id":"imp-2","file":"products.jsonl","rows":[]}`)
	for _, tenant := range attackers {
		a.as(t, tenant, "eve").is(t, http.StatusNotFound, "/imports", body)
	}
}
