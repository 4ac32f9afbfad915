package view_test

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// site is a running server with a browser that has not opened its address yet.
type site struct {
	t       *testing.T
	url     string
	token   string
	root    string // the path of all pages
	port    int
	browser *http.Client
	faults  *tabletest.Faults
	// name and schema are those of its table.
	name   string
	schema schema.Table
	table  *table.Table
}

// serve serves an empty table with the schema. change may be nil.
func serve(t *testing.T, spec schema.Table, change func(*view.Options)) *site {
	t.Helper()
	tbl := tabletest.New(t, spec, &table.Options{Now: clock})
	s := &site{t: t, token: view.NewToken(), root: "/" + view.NewToken(), faults: &tabletest.Faults{}, name: tbl.Schema().Name, schema: tbl.Schema(), table: tbl}
	server := httptest.NewUnstartedServer(nil)
	s.port = server.Listener.Addr().(*net.TCPAddr).Port
	o := view.Options{
		Client: tabletest.Client(t, s.faults.Install), Port: s.port, Token: s.token, Prefix: s.root[1:], Now: clock,
		Inspect: func(cursor string) view.Cursor {
			return view.Cursor{Characters: len(cursor), Format: "sealed", Kind: "page", Position: []string{`S "TX#<b>"`}, Notes: []string{"not authenticated"}}
		},
	}
	if change != nil {
		change(&o)
	}
	handler, err := view.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Jar: jar}
	return s
}

// open opens the address with the token.
func (s *site) open() *site {
	s.t.Helper()
	s.get("/cursor?token="+s.token, http.StatusOK)
	return s
}

// fetch requests a page and returns the response and its body.
func (s *site) fetch(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	response, err := s.browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(body)
}

// request returns a request for an address of a page's link, or for one under the root.
func (s *site) request(method, address string) *http.Request {
	s.t.Helper()
	if !strings.HasPrefix(address, s.root) {
		address = s.root + address
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// get returns the page at an address, which has to be a good one in every respect.
func (s *site) get(address string, status int) element {
	s.t.Helper()
	response, body := s.fetch(s.request(http.MethodGet, address))
	if response.StatusCode != status {
		s.t.Fatalf("%s: status %d, want %d:\n%s", address, response.StatusCode, status, body)
	}
	page := parse(s.t, body)
	page.check(s.t)
	return page
}

// at returns the address of a page of the table.
func (s *site) at(page string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Add(parameters[i], parameters[i+1])
	}
	return "/t/" + s.name + page + "?" + v.Encode()
}

// put stores items as they are.
func (s *site) put(items ...map[string]types.AttributeValue) {
	s.t.Helper()
	for _, item := range items {
		_, err := tabletest.Client(s.t).PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &s.name, Item: item})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// element is an element of a page. Pages are well-formed XML, as far as control
// characters in the values of inputs allow.
type element struct {
	name       string
	attributes map[string]string
	children   []element
	text       string // its own and that of all elements in it
}

func parse(t *testing.T, body string) element {
	t.Helper()
	body = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, body)
	d := xml.NewDecoder(strings.NewReader(body))
	d.Entity = xml.HTMLEntity
	open := []element{{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		last := &open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
			parent := &open[len(open)-1]
			parent.text += last.text
			parent.children = append(parent.children, *last)
		case xml.CharData:
			last.text += string(token)
		}
	}
	return open[0]
}

// all returns the elements that want is true of, in the order of the page.
func (e element) all(want func(element) bool) []element {
	var found []element
	for _, c := range e.children {
		if want(c) {
			found = append(found, c)
		}
		found = append(found, c.all(want)...)
	}
	return found
}

func named(name string) func(element) bool { return func(e element) bool { return e.name == name } }

// id returns the element with the id. It is the zero element if there is none.
func (e element) id(id string) element {
	found := e.all(func(e element) bool { return e.attributes["id"] == id })
	if len(found) == 0 {
		return element{}
	}
	return found[0]
}

// allowed are the names of all attributes that pages may have.
var allowed = strings.Fields("action aria-current aria-hidden aria-label aria-labelledby autocomplete charset checked class content cx cy d " +
	"datetime fill for height hidden href id lang max maxlength method min name open placeholder r rel required role rows rx scope " +
	"selected spellcheck src stroke stroke-width tabindex title type value viewBox width x y " +
	"data-bytes data-count data-drift data-find data-go data-label data-missing data-operation data-page data-row data-scanned data-type data-units")

// ownAddress is an address under the root of a server.
var ownAddress = regexp.MustCompile(`^/[A-Z2-7]{26}/`)

// check checks what has to be so on every page, whatever is in the table.
func (e element) check(t *testing.T) {
	t.Helper()
	ids := map[string]bool{}
	labelled := map[string]bool{}
	for _, l := range e.all(named("label")) {
		labelled[l.attributes["for"]] = true
	}
	for _, c := range e.all(func(element) bool { return true }) {
		for name, value := range c.attributes {
			if !slices.Contains(allowed, name) {
				t.Errorf("<%s> has the attribute %s", c.name, name)
			}
			if slices.Contains([]string{"href", "src", "action"}, name) && !strings.HasPrefix(value, "#") &&
				!ownAddress.MatchString(value) {
				t.Errorf("<%s> has an address outside of the root: %s", c.name, value)
			}
		}
		if id, ok := c.attributes["id"]; ok && ids[id] {
			t.Errorf("two elements have the id %s", id)
		}
		ids[c.attributes["id"]] = true
		switch c.name {
		case "script":
			if !strings.Contains(c.attributes["src"], "/assets/view-") || c.text != "" {
				t.Errorf("a script: %+v", c)
			}
		case "style", "iframe", "object", "embed", "base", "img":
			t.Errorf("there is a <%s>", c.name)
		case "table":
			if len(c.all(named("caption"))) != 1 || len(c.all(func(e element) bool { return e.attributes["scope"] == "col" })) == 0 {
				t.Errorf("the table %s lacks a caption or scopes", c.attributes["id"])
			}
		case "input", "select", "textarea":
			if c.attributes["type"] != "hidden" && c.attributes["aria-label"] == "" && !labelled[c.attributes["id"]] {
				t.Errorf("no label for %v", slices.Sorted(maps.Keys(c.attributes)))
			}
		}
	}
	for _, id := range []string{"content", "cost"} {
		if !ids[id] {
			t.Errorf("there is no #%s", id)
		}
	}
	if len(e.all(named("h1"))) != 1 {
		t.Error("there is not one h1")
	}
}

// has fails the test unless the text of the element has all of the parts.
func (e element) has(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(e.text, p) {
			t.Errorf("%q is not in: %s", p, strings.Join(strings.Fields(e.text), " "))
		}
	}
}

// sent returns the names of the requests to the table since the last call.
func (s *site) sent(before int) (names []string) {
	for _, r := range s.faults.Requests()[before:] {
		names = append(names, r.Operation)
	}
	slices.Sort(names)
	return names
}

func pointer[T any](v T) *T { return &v }

func raw(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

func list(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}

func fields(name string, v types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: table.Item{name: v}}
}

func set(all ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: all} }

// reflected reports whether the character is in the value of a form's input only, which
// has to be what the user has sent.
func reflected(body string, r rune) bool {
	for part := range strings.SplitSeq(body, "<") {
		if strings.ContainsRune(part, r) && !strings.HasPrefix(part, "input ") && !strings.HasPrefix(part, "textarea ") {
			return false
		}
	}
	return true
}
