package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/singletable/singletable/examples/internal/httpapi"
)

// The paths of the documentation, which needs no token.
const (
	documentPath = "GET /openapi.json"
	pagePath     = "GET /docs"
)

// document describes the API in OpenAPI 3.1. Tests compare it with the routes, and
// every response with its schema.
//
//go:embed openapi.json
var document []byte

// documentation returns the endpoints of the document and of its page.
func documentation() map[string]httpapi.Endpoint {
	return map[string]httpapi.Endpoint{
		documentPath: func(w http.ResponseWriter, _ *http.Request) error {
			write(w, "application/json", document)
			return nil
		},
		pagePath: func(w http.ResponseWriter, _ *http.Request) error {
			body, err := page()
			if err != nil {
				return err
			}
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Referrer-Policy", "no-referrer")
			write(w, "text/html; charset=utf-8", body)
			return nil
		},
	}
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(body) // a client that has gone gets nothing
}

// The page has no scripts, loads nothing, and is in no frame. Its style is known by
// its hash.
const pageStyle = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem } code, pre { font-family: ui-monospace, monospace }
pre { background: #8881; padding: .7rem; overflow: auto } table { border-collapse: collapse }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
`

var pagePolicy = func() string {
	hash := sha256.Sum256([]byte(pageStyle))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(hash[:]))
}()

var pageTemplate = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Info.Title}}</title><style>{{.Style}}</style></head><body>
<h1>{{.Info.Title}}</h1>
<p>{{.Info.Description}}</p>
<p><a href="/openapi.json">The same in OpenAPI 3.1</a></p>
{{range .Operations}}
<h2 id="{{.ID}}"><code>{{.Method}} {{.Path}}</code></h2>
<p>{{.Summary}}. {{.Description}}{{if .Public}} It needs no token.{{end}}</p>
{{with .Parameters}}<table><tr><th>parameter</th><th>in</th><th></th></tr>
{{range .}}<tr><td><code>{{.Name}}</code>{{if .Required}} *{{end}}</td><td>{{.In}}</td><td>{{.Description}}</td></tr>{{end}}
</table>{{end}}
{{with .Body}}<p>Body: <a href="#{{.}}">{{.}}</a></p>{{end}}
<table><tr><th>status</th><th></th><th></th></tr>
{{range .Responses}}<tr><td>{{.Status}}</td><td>{{.Description}}</td><td>{{with .Schema}}<a href="#{{.}}">{{.}}</a>{{end}}{{range .Codes}}<code>{{.}}</code> {{end}}</td></tr>
{{end}}</table>
{{end}}
{{range .Schemas}}<h2 id="{{.Name}}">{{.Name}}</h2><pre>{{.Text}}</pre>
{{end}}</body></html>
`))

// page makes the page of the document, once.
var page = sync.OnceValues(func() ([]byte, error) {
	var d openAPI
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	type schema struct{ Name, Text string }
	data := struct {
		Info       any
		Style      template.CSS
		Operations []pageOperation
		Schemas    []schema
	}{Info: d.Info, Style: pageStyle, Operations: d.operations()}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		var text bytes.Buffer
		if err := json.Indent(&text, d.Components.Schemas[name], "", "  "); err != nil {
			return nil, err
		}
		data.Schemas = append(data.Schemas, schema{name, text.String()})
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, data)
	return b.Bytes(), err
})

// openAPI is what the page shows of the document.
type openAPI struct {
	Info struct {
		Title, Description string
	}
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]json.RawMessage
		Parameters map[string]parameter
		Responses  map[string]response
	}
}

type operation struct {
	ID                   string `json:"operationId"`
	Summary, Description string
	Security             *[]any
	Parameters           []reference
	RequestBody          struct{ Content map[string]media }
	Responses            map[string]response
}

type parameter struct {
	Name, In, Description string
	Required              bool
}

type response struct {
	reference
	Description string
	Content     map[string]media
}

type media struct {
	Schema struct {
		reference
		AllOf []struct {
			Properties struct {
				Error struct {
					Properties struct{ Code struct{ Enum []string } }
				}
			}
		}
	}
}

type reference struct {
	Ref string `json:"$ref"`
}

// name returns the last part of a reference.
func (r reference) name() string { return r.Ref[strings.LastIndexByte(r.Ref, '/')+1:] }

type pageOperation struct {
	ID, Method, Path, Summary, Description, Body string
	Public                                       bool
	Parameters                                   []parameter
	Responses                                    []pageResponse
}

type pageResponse struct {
	Status, Description, Schema string
	Codes                       []string
}

// operations returns the operations in order of their paths.
func (d openAPI) operations() (all []pageOperation) {
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			shown := pageOperation{
				ID: o.ID, Method: strings.ToUpper(method), Path: path, Summary: o.Summary, Description: o.Description,
				Body: o.RequestBody.Content["application/json"].Schema.name(), Public: o.Security != nil,
			}
			for _, p := range o.Parameters {
				shown.Parameters = append(shown.Parameters, d.Components.Parameters[p.name()])
			}
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				r := o.Responses[status]
				if r.Ref != "" {
					r = d.Components.Responses[r.name()]
				}
				spec := r.Content["application/json"].Schema
				s := pageResponse{Status: status, Description: r.Description, Schema: spec.name()}
				for _, part := range spec.AllOf {
					s.Codes = append(s.Codes, part.Properties.Error.Properties.Code.Enum...)
				}
				shown.Responses = append(shown.Responses, s)
			}
			all = append(all, shown)
		}
	}
	return all
}
