package tablemodel_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// A schema file is the model of a table as JSON. Here it is made of two users, each
// of whom is stored under the id, and a second time under the e-mail.
func ExampleInfer() {
	var users []table.Item
	for _, id := range []string{"u-1", "u-2"} {
		for pk, sk := range map[string]string{"USER#" + id: "PROFILE", "EMAIL#" + id + "@example.com": "METADATA"} {
			users = append(users, table.Item{
				"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
				"entityType": &types.AttributeValueMemberS{Value: "USER"},
				"userId":     &types.AttributeValueMemberS{Value: id},
				"email":      &types.AttributeValueMemberS{Value: id + "@example.com"},
				"version":    &types.AttributeValueMemberN{Value: "1"},
			})
		}
	}
	model, err := tablemodel.Infer(schema.Table{Name: "AppCore"}, users)
	if err != nil {
		log.Fatal(err)
	}
	file, err := json.MarshalIndent(model, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(file))
	// Output:
	// {
	//   "name": "AppCore",
	//   "entities": [
	//     {
	//       "type": "USER",
	//       "version": "version",
	//       "items": [
	//         {
	//           "pk": "USER#{userId}",
	//           "sk": "PROFILE"
	//         },
	//         {
	//           "pk": "EMAIL#{email}",
	//           "sk": "METADATA"
	//         }
	//       ]
	//     }
	//   ]
	// }
}

// An item that was found somewhere leads to the other items of its entity.
func ExampleModel_Find() {
	model := tablemodel.Model{
		Table: schema.Table{Name: "AppCore"},
		Entities: []tablemodel.Entity{{Type: "USER", Version: "version", Items: []tablemodel.Pattern{
			{PK: "USER#{userId}", SK: "PROFILE"},
			{PK: "EMAIL#{email}", SK: "METADATA"},
		}}},
	}
	if err := model.Validate(); err != nil {
		log.Fatal(err)
	}
	item := table.Item{
		"pk": &types.AttributeValueMemberS{Value: "EMAIL#ana@example.com"}, "sk": &types.AttributeValueMemberS{Value: "METADATA"},
		"entityType": &types.AttributeValueMemberS{Value: "USER"},
		"userId":     &types.AttributeValueMemberS{Value: "ana"},
		"email":      &types.AttributeValueMemberS{Value: "ana@example.com"},
	}
	entity, n, ok := model.Find(item)
	fmt.Println(entity.Type, n, ok)
	all, err := entity.Keys(item)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range all {
		fmt.Println(key.PK, key.SK)
	}
	// Output:
	// USER 1 true
	// USER#ana PROFILE
	// EMAIL#ana@example.com METADATA
}

// Indexes have patterns too.
func ExamplePattern() {
	order := tablemodel.Pattern{
		PK: "CUSTOMER#{customerId}", SK: "ORDER#{number:6}",
		Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "STATUS#{status}", SK: "{placed:time}"}},
	}
	fmt.Println(order.Indexes["GSI1"].PK, order.Indexes["GSI1"].SK)
	// Output: STATUS#{status} {placed:time}
}
