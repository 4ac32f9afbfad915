package view

import (
	"net/url"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/table"
)

// exportAddress returns the address of the items of the page as lines of JSON. They are read
// again. A part of an item is not exported: as a line, it looks like an item.
func exportAddress(v *visit, whole bool, items int) string {
	if !whole || items == 0 {
		return ""
	}
	to := url.URL{Path: v.URL.Path}
	in := v.URL.Query()
	in.Set("export", "items.jsonl")
	to.RawQuery = in.Encode()
	return to.RequestURI()
}

// exported returns the items as lines that singletable load and an import from S3 read, if
// the address is that of an export of whole items.
func exported(v *visit, whole bool, items []table.Item) (*page, bool) {
	if v.FormValue("export") == "" || !whole {
		return nil, false
	}
	p := &page{Kind: "application/x-ndjson", File: v.state.schema.Name + ".jsonl", Data: []byte{}}
	for _, item := range items {
		line, err := dynamojson.Append([]byte(`{"Item":`), item)
		if err != nil {
			continue // DynamoDB has returned a value of a type that it does not have.
		}
		p.Data = append(append(p.Data, line...), '}', '\n')
	}
	return p, true
}
