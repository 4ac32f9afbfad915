package main

import (
	"fmt"
	"io"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/table"
)

// replicated counts the items that had attributes by which a global table of version
// 2017.11.29 replicates. DynamoDB writes them into the items of such a table. In another
// table they mean nothing, and in one of that version they would pass for its own. AWS:
// "DynamoDB global tables version 2017.11.29 (Legacy): How it works", Amazon DynamoDB
// Developer Guide.
type replicated int64

// drop removes these attributes from an item. dump keeps them, as an export does.
func (r *replicated) drop(item table.Item) {
	had := len(item)
	for _, name := range []string{"aws:rep:deleting", "aws:rep:updatetime", "aws:rep:updateregion"} {
		delete(item, name)
	}
	if len(item) < had {
		*r++
	}
}

// say says how many items had them, if any had.
func (r *replicated) say(w io.Writer) {
	if *r > 0 {
		fmt.Fprintf(w, "not loaded, of %s: the attributes aws:rep:… of a global table of version 2017.11.29\n", quantity.Of(int64(*r), "item"))
	}
}
