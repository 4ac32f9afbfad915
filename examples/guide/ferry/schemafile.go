package ferry

import (
	"context"
	"encoding/json"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// SchemaFile returns the schema with the entities that the items of a table show. It
// is for a table of sample data.
func SchemaFile(ctx context.Context, t *table.Table) ([]byte, error) {
	items, err := tablemodel.Scan(ctx, t, 0)
	if err != nil {
		return nil, err
	}
	model, err := tablemodel.Infer(Schema, items)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(model, "", "  ")
}
