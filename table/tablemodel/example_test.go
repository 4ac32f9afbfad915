package tablemodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
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
	spec := schema.Table{Name: "ExampleMarkdown"}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
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
	picture, err := tablemodel.Markdown(spec, items, nil)
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

// A picture for a wiki: one item of each type, one attribute, and keys cut after 12
// characters.
func ExampleOptions() {
	var items []table.Item
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for _, user := range []string{"ana", "bob"} {
		for _, note := range []string{"2024-01-15T10:05:00.000Z", "2024-01-16T11:20:00.000Z"} {
			items = append(items, table.Item{
				"pk": text("USER#" + user), "sk": text("NOTE#" + note), "entityType": text("NOTE"),
				"title": text("Milk"), "body": text("…"), "color": text("red"),
			})
		}
	}
	picture, err := tablemodel.Markdown(schema.Table{Name: "Notes"}, items, &tablemodel.Options{
		Attributes: []string{"title"}, Partitions: 1, Items: 1, Length: 12,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(picture)
	// Output:
	// **Table `Notes`**, partition key `pk`, sort key `sk`
	//
	// | `pk` | `sk` | `entityType` | other attributes |
	// |---|---|---|---|
	// | `USER#ana` | `NOTE#2024-01…` | NOTE | title `Milk` |
	// |  | … 1 more NOTE |  |  |
	// | … 1 more of USER#… |  |  |  |
}

// A page for a browser. What would be markup in it is text.
func ExampleMermaid() {
	item := table.Item{
		"pk": &types.AttributeValueMemberS{Value: "USER#ana"}, "sk": &types.AttributeValueMemberS{Value: "PROFILE"},
		"entityType": &types.AttributeValueMemberS{Value: "USER"},
	}
	picture, err := tablemodel.Mermaid(schema.Table{Name: "Shop"}, []table.Item{item}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(picture)
	// Output:
	// %%{init: {"flowchart": {"wrappingWidth": 900}}}%%
	// flowchart LR
	//   subgraph v0["table Shop"]
	//     v0p0["<b>USER#35;ana</b><br/>PROFILE · <i>USER</i>"]
	//   end
}

func ExampleHTML() {
	note := table.Item{
		"pk": &types.AttributeValueMemberS{Value: "USER#ana"}, "sk": &types.AttributeValueMemberS{Value: "NOTE#1"},
		"entityType": &types.AttributeValueMemberS{Value: "NOTE"}, "text": &types.AttributeValueMemberS{Value: "<b>Milk</b>"},
	}
	page, err := tablemodel.HTML(schema.Table{Name: "Notes"}, []table.Item{note}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(page) {
		if strings.Contains(line, "<summary>") || strings.Contains(line, "Milk") {
			fmt.Print(line)
		}
	}
	// Output:
	// <details open="open"><summary><code>USER#ana</code> <span class="soft">1 item</span></summary>
	// <tr class="typed c0"><td><span class="pair"><code>NOTE#1</code></span> </td><td><span class="type">NOTE</span></td><td><span class="pair">text <code>&lt;b&gt;Milk&lt;/b&gt;</code></span> </td></tr>
}

// A model for AWS's NoSQL Workbench, with items as sample data.
func ExampleWorkbench() {
	note := table.Item{
		"pk": &types.AttributeValueMemberS{Value: "USER#ana"}, "sk": &types.AttributeValueMemberS{Value: "NOTE#1"},
		"entityType": &types.AttributeValueMemberS{Value: "NOTE"},
	}
	file, err := tablemodel.Workbench(schema.Table{Name: "Notes"}, []table.Item{note})
	if err != nil {
		log.Fatal(err)
	}
	var model struct {
		ModelName     string
		ModelMetadata struct{ DateCreated, Version string }
	}
	if err := json.Unmarshal(file, &model); err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.ModelName, model.ModelMetadata)
	// Output: Notes {Jan 01, 1970, 12:00 AM 3.0}
}

// The template has the table as its one resource.
func ExampleCloudFormation() {
	template, err := tablemodel.CloudFormation(schema.Table{Name: "Notes", SimpleKey: true, TTLAttribute: "expiresAt"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(template))
	// Output:
	// {
	//   "AWSTemplateFormatVersion": "2010-09-09",
	//   "Resources": {
	//     "Table": {
	//       "Properties": {
	//         "AttributeDefinitions": [
	//           {
	//             "AttributeName": "pk",
	//             "AttributeType": "S"
	//           }
	//         ],
	//         "BillingMode": "PAY_PER_REQUEST",
	//         "KeySchema": [
	//           {
	//             "AttributeName": "pk",
	//             "KeyType": "HASH"
	//           }
	//         ],
	//         "TableName": "Notes",
	//         "TimeToLiveSpecification": {
	//           "AttributeName": "expiresAt",
	//           "Enabled": true
	//         }
	//       },
	//       "Type": "AWS::DynamoDB::Table"
	//     }
	//   }
	// }
}

func ExampleTerraform() {
	config, err := tablemodel.Terraform(schema.Table{Name: "Notes", TTLAttribute: "expiresAt"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(config))
	// Output:
	// {
	//   "resource": {
	//     "aws_dynamodb_table": {
	//       "table": {
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
	//         "billing_mode": "PAY_PER_REQUEST",
	//         "hash_key": "pk",
	//         "name": "Notes",
	//         "range_key": "sk",
	//         "ttl": {
	//           "attribute_name": "expiresAt",
	//           "enabled": true
	//         }
	//       }
	//     }
	//   }
	// }
}
