package tablemodel_test

import (
	"context"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

func ExampleMarkdown() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	schema := table.Schema{Name: "ExampleMarkdown"}
	if err := schema.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), schema, nil)
	if err != nil {
		log.Fatal(err)
	}
	ana := keys.User.PK("ana")
	err = tbl.BatchWrite(ctx,
		table.Put(keys.Key{PK: ana, SK: keys.Profile}, map[string]any{"entityType": "USER", "name": "Ana"}),
		table.Put(keys.Key{PK: ana, SK: keys.Tx.SK(keys.Str("2"))}, map[string]any{"entityType": "TX", "amount": 20}),
		table.Put(keys.Key{PK: ana, SK: keys.Tx.SK(keys.Str("1"))}, map[string]any{"entityType": "TX", "amount": 10}),
	)
	if err != nil {
		log.Fatal(err)
	}

	items, err := tablemodel.Scan(ctx, tbl, 0)
	if err != nil {
		log.Fatal(err)
	}
	picture, err := tablemodel.Markdown(schema, items, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(picture)
	// Output:
	// **Table `ExampleMarkdown`**, partition key `pk`, sort key `sk`
	//
	// | `pk` | `sk` | `entityType` | other attributes |
	// |---|---|---|---|
	// | `USER#ana` | `PROFILE` | USER | name `Ana` |
	// |  | `TX#1` | TX | amount `10` |
	// |  | `TX#2` | TX | amount `20` |
}

func ExampleTerraform() {
	config, err := tablemodel.Terraform(table.Schema{Name: "Notes", TTL: "expiresAt"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(config))
	// Output:
	// {
	//   "resource": {
	//     "aws_dynamodb_table": {
	//       "table": {
	//         "name": "Notes",
	//         "billing_mode": "PAY_PER_REQUEST",
	//         "hash_key": "pk",
	//         "range_key": "sk",
	//         "attribute": [
	//           {
	//             "name": "pk",
	//             "type": "S"
	//           },
	//           {
	//             "name": "sk",
	//             "type": "S"
	//           }
	//         ],
	//         "ttl": {
	//           "attribute_name": "expiresAt",
	//           "enabled": true
	//         }
	//       }
	//     }
	//   }
	// }
}
