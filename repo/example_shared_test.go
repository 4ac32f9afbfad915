package repo_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Crate is stored by a service on OneTable, too, which keeps the time of the last write.
type Crate struct {
	ID      string `dynamodbav:"id"`
	Label   string `dynamodbav:"label"`
	Pieces  int64  `dynamodbav:"pieces"`
	Updated int64  `dynamodbav:"updated"`
}

func crateKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("crate").PK(id), SK: keys.SK("crate#")}
}

// A service in another language writes the same items. Nothing that it writes is lost by an
// Update, and labels are unique for both.
func ExampleShared() {
	ctx := context.Background()
	engine, tbl := openTable(ctx, schema.Table{TypeAttribute: "_type"})
	defer engine.Close()
	crates, err := repo.New(tbl, repo.Entity[Crate]{
		Type: "Crate", Version: "updated", Key: func(c Crate) keys.Key { return crateKey(c.ID) },
		Shared: &repo.Shared[Crate]{
			Unique: func(c Crate) []keys.Key {
				return []keys.Key{{PK: keys.PK("_unique#Crate#label#" + c.Label), SK: "_unique#"}}
			},
			UniqueType: "_Unique",
			Constants:  map[string]string{"kind": "stock"}, // an attribute that the other service expects
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := crates.Create(ctx, &Crate{ID: "c-1", Label: "north", Pieces: 1}); err != nil {
		log.Fatal(err)
	}
	err = crates.Create(ctx, &Crate{ID: "c-2", Label: "north"})
	fmt.Println(errors.Is(err, table.ErrExists))

	runs := 0
	crate, err := crates.Update(ctx, crateKey("c-1"), func(c *Crate) error {
		if runs++; runs == 1 { // the other service is faster
			if err := tbl.Do(ctx, table.Update(crateKey("c-1"), expression.Add(expression.Name("pieces"), expression.Value(10)))); err != nil {
				return err
			}
		}
		c.Pieces++
		return nil
	})
	fmt.Println(crate.Pieces, runs, err)

	stored, err := table.Get[table.Item](ctx, tbl, crateKey("c-1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(crates.UniqueKeys(stored))
	// Output:
	// true
	// 12 2 <nil>
	// [{_unique#Crate#label#north _unique#}] <nil>
}
