package backfill_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Account is written by a service on OneTable, too, which keeps e-mails unique.
type Account struct {
	ID      string    `dynamodbav:"id"`
	Email   string    `dynamodbav:"email"`
	Expires time.Time `dynamodbav:"expires,unixtime,omitempty"`
}

func accountKey(id string) keys.Key {
	return keys.Key{PK: keys.PK("account#" + id), SK: "account#"}
}

// emails is how the keys of the items of e-mails begin.
const emails = "_unique#Account#email#"

var accounts = repo.Entity[Account]{
	Type: "Account", Key: func(a Account) keys.Key { return accountKey(a.ID) },
	Shared: &repo.Shared[Account]{
		Unique: func(a Account) []keys.Key {
			return []keys.Key{{PK: keys.PK(emails + a.Email), SK: "_unique#"}}
		},
		UniqueType: "_Unique",
	},
}

// Repair of what the other service has left: items of e-mails that no account has are deleted, and
// those that are missing are created.
func ExampleJob_CheckUnique() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	spec := schema.Table{Name: "Shop", TypeAttribute: "_type", TTLAttribute: "expires"}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	tbl, err := table.New(engine.Client(), spec, &table.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	r, err := repo.New(tbl, accounts)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range []Account{{ID: "1", Email: "ana@x"}, {ID: "2", Email: "bob@x"}, {ID: "3", Email: "eva@x", Expires: now.Add(time.Hour)}} {
		if err := r.Create(ctx, &a); err != nil {
			log.Fatal(err)
		}
	}
	now = now.Add(2 * time.Hour)
	// The other service gives an e-mail twice, and changes another without its item.
	other := map[string]string{"_type": "Account", "id": "4", "email": "ana@x"}
	changed := map[string]string{"_type": "Account", "id": "2", "email": "bo@x"}
	if err := tbl.BatchWrite(ctx, table.Put(accountKey("4"), other), table.Put(accountKey("2"), changed)); err != nil {
		log.Fatal(err)
	}

	job := backfill.Job{Name: "check e-mails", Table: tbl, Entities: []backfill.Entity{r}, ReadUnits: 500}
	isEmail := func(k keys.Key) bool { return strings.HasPrefix(string(k.PK), emails) }
	report, err := job.CheckUnique(ctx, isEmail)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Faults {
		fmt.Println(f.Key.PK, f)
		if err := repairEmail(ctx, tbl, r, f); err != nil {
			log.Fatal(err)
		}
	}
	report, err = job.CheckUnique(ctx, isEmail)
	for _, f := range report.Faults {
		fmt.Println("left:", f.Live, f.Stored)
	}
	fmt.Println(report.SetAside, report.More, err)
	// Output:
	// _unique#Account#email#ana@x 2 entities have the value: change it in all but one
	// _unique#Account#email#bo@x the value has no item, so another entity can take it: create the item
	// _unique#Account#email#bob@x no entity has the value: delete the item to free it
	// _unique#Account#email#eva@x only expired entities have the value: delete the item to free it
	// left: [{account#1 account#} {account#4 account#}] true
	// 0 false <nil>
}

// repairEmail deletes or creates the item of an e-mail.
func repairEmail(ctx context.Context, tbl *table.Table, r *repo.Repo[Account], f backfill.UniqueFault) error {
	switch {
	case len(f.Live) == 0:
		ops := []table.Op{table.Delete(f.Key).IfType("_Unique")}
		for _, key := range f.Expired {
			ops = append(ops, table.CheckMissing(key)) // it has still expired
		}
		return tbl.Transact(ctx, ops...)
	case len(f.Live) == 1:
		_, err := r.UpdateWith(ctx, f.Live[0], func(a *Account) ([]table.Op, error) {
			if accounts.Shared.Unique(*a)[0] != f.Key {
				return nil, nil // it has another e-mail by now
			}
			return []table.Op{table.Create(f.Key, map[string]string{"_type": "_Unique"})}, nil
		})
		return err
	}
	return nil // somebody has to decide whose it is
}
