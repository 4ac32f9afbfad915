package view

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

//go:embed assets pages
var files embed.FS

// asset is a file of the program that pages refer to.
type asset struct {
	kind string
	data []byte
}

// assets are the files by name, and assetNames the names by file. A name holds a hash
// of the file, so that browsers may keep it.
var assets, assetNames = loadAssets()

func loadAssets() (byName map[string]asset, names map[string]string) {
	byName, names = map[string]asset{}, map[string]string{}
	for file, kind := range map[string]string{
		"view.css": "text/css; charset=utf-8", "view.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		data, err := files.ReadFile("assets/" + file)
		if err != nil {
			panic(err) // The program was built without it.
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(file)
		name := strings.TrimSuffix(file, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		byName[name], names[file] = asset{kind, data}, name
	}
	return byName, names
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		refuse(w, http.StatusNotFound, "There is no such file.")
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(a.data) // The browser may be gone.
}

// loadTemplates returns the pages by name, each with the layout around it. Their links
// lead to pages under the root.
func loadTemplates(under root) map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(template.FuncMap{
		"at":       func(path string) string { return string(under) + path },
		"asset":    func(file string) string { return string(under) + "/assets/" + assetNames[file] },
		"units":    units,
		"spent":    func(u float64) string { return units(u) + " read " + noun(u) },
		"wrote":    func(u float64) string { return units(u) + " write " + noun(u) },
		"bytes":    sizeText,
		"vector":   func(bytes float64) string { return sizeText(int64(bytes)) + " of vectors" },
		"rows":     newRowTable,
		"took":     took,
		"plural":   quantity.Of[int],
		"plural32": func(n int32, noun string) string { return quantity.Of(int(n), noun) },
	}).ParseFS(files, "pages/layout.html", "pages/parts.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{"home", "overview", "browse", "partition", "item", "query", "similar", "cursor", "change", "create", "done", "error"} {
		t := template.Must(layout.Clone())
		all[name] = template.Must(t.ParseFS(files, "pages/"+name+".html"))
	}
	return all
}

// page is a response before it is rendered.
type page struct {
	// Template is the name of a template, and Content what it shows.
	Template string
	Content  any
	Title    string
	// Status is 200 if it is zero.
	Status int
	// At marks the tab that the page belongs to.
	At string
	// Redirect is an address to go to instead.
	Redirect string
	// Data is JSON to send instead, of this Kind or as application/json. A File is saved
	// under this name.
	Data       []byte
	Kind, File string
}

// frame is what the layout shows.
type frame struct {
	*page
	Table, Where string
	Local        bool
	All          bool // tables are listed
	Write        bool // items may be changed
	Tabs         []tab
	Requests     []sent
	Units        float64
	Written      float64 // write units
	VectorBytes  float64
	Read         bool
	Scanned      int32
	Duration     time.Duration
}

// tab is a page that the layout links to.
type tab struct {
	Name, Href string
	Here       bool
}

// visit is a request for a page. Its context has the time limit and the record.
type visit struct {
	*http.Request
	now time.Time
	// state is that of the table that the page is about, once it was opened.
	state *state
}

// page returns the handler of a page.
func (s *server) page(show func(*visit) (*page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.options.Timeout, errTimeout)
		defer cancel()
		// With an observer, requests about single items ask for what they consume, too.
		ctx = table.WithObserver(ctx, func(context.Context, table.Event) {})
		rec := &record{flags: commandFlags(s.client.Options())}
		v := &visit{Request: r.WithContext(recorded(ctx, rec)), now: s.options.Now()}
		p, err := show(v)
		if err != nil {
			if r.Context().Err() != nil {
				return // The browser has gone.
			}
			p = s.failure(ctx, err)
		}
		if p.Redirect != "" {
			http.Redirect(w, r, p.Redirect, http.StatusSeeOther)
			return
		}
		if p.Data != nil {
			w.Header().Set("Content-Type", cmp.Or(p.Kind, "application/json"))
			if p.File != "" {
				w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": p.File}))
			}
			_, _ = w.Write(p.Data) // The browser may be gone.
			return
		}
		s.render(w, v, p, rec.requests())
	})
}

var errTimeout = errors.New("the time limit of a page")

func (s *server) render(w http.ResponseWriter, v *visit, p *page, requests []sent) {
	o := s.client.Options()
	f := frame{page: p, Where: "AWS " + o.Region, Requests: requests, All: s.options.Table == "", Write: s.options.Write}
	if o.BaseEndpoint != nil {
		f.Where, f.Local = escaped(*o.BaseEndpoint), true
	}
	for _, q := range requests {
		f.Units += q.Units
		f.Written += q.Written
		f.VectorBytes += q.VectorBytes
		f.Duration += q.Duration
		f.Scanned += q.Scanned
		f.Read = f.Read || q.Units > 0 || q.Read
	}
	if v.state != nil {
		f.Table = v.state.schema.Name
		f.Tabs = append(f.Tabs, tab{"Overview", s.root.address(f.Table, ""), p.At == "overview"})
		for _, l := range v.state.layouts {
			f.Tabs = append(f.Tabs, tab{l.title(), s.root.address(f.Table, "browse", "index", l.Index), p.At == "browse:"+l.Index})
		}
		for _, x := range v.state.schema.Vectors {
			f.Tabs = append(f.Tabs, tab{x.Name, s.root.address(f.Table, "similar", "index", x.Name), p.At == "similar:"+x.Name})
		}
		f.Tabs = append(f.Tabs, tab{"Query", s.root.address(f.Table, "query"), p.At == "query"})
		if s.options.Write {
			f.Tabs = append(f.Tabs, tab{"Create", s.root.address(f.Table, "create"), p.At == "create"})
		}
	}
	var body bytes.Buffer
	if err := s.templates[p.Template].ExecuteTemplate(&body, "layout", f); err != nil {
		refuse(w, http.StatusInternalServerError, "The page cannot be made: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	_, _ = w.Write(body.Bytes()) // The browser may be gone.
}

// pageError is an error of the address of a page.
type pageError struct {
	status int
	title  string
	text   string
}

func (e *pageError) Error() string { return e.text }

// noItem is the error of a key without an item. Its address is that of the partition.
type noItem struct {
	pageError
	key link
}

func (e *noItem) Unwrap() error { return &e.pageError }

// notFound is the page for all other addresses.
func notFound(*visit) (*page, error) {
	return nil, &pageError{http.StatusNotFound, "No such page", "There is no page at this address."}
}

// failed is the content of the page for an error.
type failed struct {
	Title string
	Text  text
	Hints []string
	Retry bool
	// Missing is the key without an item that the page is about, with the address of its partition.
	Missing *link
}

// failure returns the page for an error.
func (s *server) failure(ctx context.Context, err error) *page {
	f := failed{Title: "DynamoDB has not given a result", Retry: true}
	status := http.StatusBadGateway
	shown := err.Error()
	api, _ := errors.AsType[smithy.APIError](err)
	own, isOwn := errors.AsType[*pageError](err)
	switch {
	case isOwn:
		status, f.Title, f.Retry = own.status, own.title, false
		if none, ok := errors.AsType[*noItem](err); ok {
			f.Missing = &none.key
		}
	case errors.Is(err, paginate.ErrInvalidCursor):
		status, f.Title, f.Retry = http.StatusBadRequest, "This page has expired", false
		shown = "The address continues a list, with a position that this process did not seal: singletable view was started again, or the address was changed."
		f.Hints = append(f.Hints, "Open the list from its beginning.")
	case errors.Is(err, table.ErrOutcomeUnknown):
		f.Title, f.Retry = "Whether it was written is unknown", false
		f.Hints = append(f.Hints, "The response was lost. Open the item to see how it is stored.")
	case errors.Is(err, table.ErrInvalid):
		status, f.Title, f.Retry = http.StatusBadRequest, "DynamoDB has no such read", false
	case errors.Is(context.Cause(ctx), errTimeout):
		status, f.Title = http.StatusGatewayTimeout, "DynamoDB does not respond"
		f.Hints = append(f.Hints, fmt.Sprintf("The page waited %v, its time limit.", s.options.Timeout))
	case api != nil && api.ErrorCode() == "ResourceNotFoundException":
		status, f.Title = http.StatusNotFound, "No such table or index"
	case api != nil && api.ErrorCode() == "ValidationException":
		status, f.Title, f.Retry = http.StatusBadRequest, "DynamoDB refuses the request", false
	case api != nil && api.ErrorCode() == "AccessDeniedException":
		status, f.Title = http.StatusForbidden, "Permission denied"
		f.Hints = append(f.Hints, "The pages need dynamodb:DescribeTable, DescribeTimeToLive, Scan, Query, GetItem, BatchGetItem and SearchVectors, ListTables for the list of tables, and PutItem, UpdateItem and DeleteItem to change items.")
	}
	if o := s.client.Options(); o.BaseEndpoint != nil && status >= 500 {
		f.Hints = append(f.Hints, "Requests go to "+escaped(*o.BaseEndpoint)+" and not to AWS.")
	}
	f.Text = newText(shown, longText)
	return &page{Template: "error", Title: f.Title, Content: f, Status: status}
}

// units returns a number of capacity units, such as 0.5.
func units(u float64) string { return strconv.FormatFloat(u, 'f', -1, 64) }

func noun(u float64) string {
	if u == 1 {
		return "unit"
	}
	return "units"
}

// sizeText returns a number of bytes.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// took returns a duration of a request.
func took(d time.Duration) string {
	if d < 10*time.Millisecond {
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
}
