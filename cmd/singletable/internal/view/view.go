// Package view serves pages on DynamoDB tables to a browser on the same machine:
// entities, partitions, indexes, items with their copies and claims, queries, searches of vectors, and
// cursors.
//
// A page shows each request that it has sent and its cost. Opening one sends one Query,
// Scan, GetItem or SearchVectors, and none walks a table to its end.
package view

import (
	"cmp"
	"crypto/rand"
	"errors"
	"html/template"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/table/tablemodel"
)

// Options say what a handler shows and to whom.
type Options struct {
	// Client reaches DynamoDB.
	Client *dynamodb.Client
	// Table is the only table that is shown. If it is empty, all are.
	Table string
	// Model is the schema of one table, and its entities as far as they are known. Every
	// other table has the schema that DynamoDB describes.
	Model *tablemodel.Model
	// Findings are faults of the design of the Model.
	Findings []check.Finding
	// Type is the attribute with the types of the tables that have no Model; the default one if
	// it is empty.
	Type string
	// Inspect looks into a cursor.
	Inspect func(cursor string) Cursor
	// Write allows changes of items.
	Write bool
	// Port is the port that the server listens on.
	Port int
	// Token is the secret that opens the pages, and Prefix the first segment of their
	// paths. Each is from [NewToken].
	Token, Prefix string
	// Timeout bounds the requests of a page together; 30 seconds if it is zero.
	Timeout time.Duration
	// Now is the clock; [time.Now] if it is nil.
	Now func() time.Time
}

// Cursor is what a cursor says of itself.
type Cursor struct {
	Characters int
	Format     string
	Kind       string
	KeyID      string
	Keys       []string
	Issued     *time.Time
	Expires    *time.Time
	Position   []string
	Refused    string
	Notes      []string
}

// NewToken returns a secret of 130 random bits.
func NewToken() string { return rand.Text() }

// prefix is what NewToken returns. In the path of a page and of a cookie, it needs no
// escapes.
var prefix = regexp.MustCompile(`^[A-Z2-7]{26,}$`)

// server serves the pages. It is safe for concurrent use.
type server struct {
	options Options
	client  *dynamodb.Client // records
	tables  tables
	// root is the path of the browser's cookie. Another server of the machine that does
	// not know it cannot make a browser send the cookie there.
	root      root
	templates map[string]*template.Template
}

// New returns a handler of the pages, whose start is at "/" + Prefix + "/". It refuses
// requests that do not come from a browser which has opened that address with the token,
// and those that are for another host than the loopback addresses with the port.
func New(o Options) (http.Handler, error) {
	if o.Client == nil || o.Inspect == nil {
		return nil, errors.New("view: Client and Inspect are required")
	}
	if len(o.Token) < len(NewToken()) || !prefix.MatchString(o.Prefix) {
		return nil, errors.New("view: Token and Prefix are no secrets from NewToken")
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	at := root("/" + o.Prefix)
	s := &server{options: o, client: recording(o.Client), root: at, templates: loadTemplates(at)}
	mux := http.NewServeMux()
	handle := func(method, path string, h http.Handler) { mux.Handle(method+" "+string(at)+path, h) }
	handle("GET", "/assets/{name}", http.HandlerFunc(serveAsset))
	for path, show := range map[string]func(*visit) (*page, error){
		"/{$}":                 s.home,
		"/cursor":              s.cursor,
		"/t/{table}":           s.overview,
		"/t/{table}/browse":    s.browse,
		"/t/{table}/partition": s.partition,
		"/t/{table}/item":      s.item,
		"/t/{table}/item.json": s.itemJSON,
		"/t/{table}/query":     s.query,
		"/t/{table}/similar":   s.similar,
		"/":                    notFound,
	} {
		handle("GET", path, s.page(show))
	}
	if o.Write {
		handle("GET", "/t/{table}/edit", s.page(s.edit))
		handle("POST", "/t/{table}/edit", s.page(s.change))
		handle("GET", "/t/{table}/create", s.page(s.create))
		handle("POST", "/t/{table}/create", s.page(s.propose))
	}
	return s.guard(mux), nil
}
