// Package view serves pages on DynamoDB tables to a browser on the same machine:
// entities, partitions, indexes, items with their copies, queries, and cursors.
//
// A page shows each request that it has sent and its cost. Opening one sends one Query,
// Scan or GetItem, and none walks a table to its end.
package view

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// Options say what a handler shows and to whom.
type Options struct {
	// Client reaches DynamoDB.
	Client *dynamodb.Client
	// Table is the only table that is shown. If it is empty, all are.
	Table string
	// Model is the schema of one table, and its entities as far as they are known. Every
	// other table has the schema that Describe returns.
	Model *tablemodel.Model
	// Describe returns the schema of a table that DynamoDB describes so, and what the
	// table has and a schema cannot say.
	Describe func(name string, t *types.TableDescription) (table.Schema, []string, error)
	// Inspect looks into a cursor.
	Inspect func(cursor string) Cursor
	// Write allows changes of items.
	Write bool
	// Port is the port that the server listens on.
	Port int
	// Token is the secret that opens the pages, from [NewToken].
	Token string
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

// server serves the pages. It is safe for concurrent use.
type server struct {
	options Options
	client  *dynamodb.Client // records
	tables  tables
}

// New returns a handler of the pages. It refuses requests that do not come from a
// browser which has opened the address with the token, and those that are for another
// host than the loopback addresses with the port.
func New(o Options) (http.Handler, error) {
	if o.Client == nil || o.Describe == nil || o.Inspect == nil {
		return nil, errors.New("view: Client, Describe and Inspect are required")
	}
	if len(o.Token) < len(NewToken()) {
		return nil, errors.New("view: the token is too short for a secret")
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{options: o, client: recording(o.Client)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	for pattern, show := range map[string]func(*visit) (*page, error){
		"GET /{$}":                 s.home,
		"GET /cursor":              s.cursor,
		"GET /t/{table}":           s.overview,
		"GET /t/{table}/browse":    s.browse,
		"GET /t/{table}/partition": s.partition,
		"GET /t/{table}/item":      s.item,
		"GET /t/{table}/item.json": s.itemJSON,
		"GET /t/{table}/query":     s.query,
		"GET /":                    notFound,
	} {
		mux.Handle(pattern, s.page(show))
	}
	if o.Write {
		mux.Handle("GET /t/{table}/edit", s.page(s.edit))
		mux.Handle("POST /t/{table}/edit", s.page(s.change))
	}
	return s.guard(mux), nil
}
