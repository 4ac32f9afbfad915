package core_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// newService returns the application on a table of its own.
func newService(t *testing.T) (*core.Service, *table.Table, *tabletest.Faults) {
	t.Helper()
	faults := &tabletest.Faults{}
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), core.Schema("any"), &table.Options{MaxAttempts: 3})
	s := check.Must(core.New(tbl, nil))(t)
	return s, tbl, faults
}

// create makes a transaction and returns its id.
func create(t *testing.T, s *core.Service, user, key string) string {
	t.Helper()
	n := core.NewTransaction{User: user, Key: key, Amount: 500, Currency: "ARS"}
	created, _, err := s.Create(t.Context(), n)
	check.OK(t, err)
	return created.ID
}

// register adds a user.
func register(t *testing.T, s *core.Service, id, email, name string) {
	t.Helper()
	_, created, err := s.Register(t.Context(), core.NewUser{ID: id, Email: email, Name: name})
	check.OK(t, err)
	check.Equal(t, "created", created, true)
}

// put stores an item as another program has written it.
func put(t *testing.T, tbl *table.Table, item table.Item) {
	t.Helper()
	key := keys.Key{PK: keys.PK(text(item, "pk")), SK: keys.SK(text(item, "sk"))}
	check.OK(t, tbl.Do(t.Context(), table.Put(key, item)))
}

// items returns everything that is stored.
func items(t *testing.T, tbl *table.Table) []table.Item {
	t.Helper()
	var all []table.Item
	for scan := (table.Scan{Consistent: true}); ; {
		page := check.Must(table.ScanPage[table.Item](t.Context(), tbl, scan))(t)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		scan.After = page.Next
	}
}

// ofType returns the stored items of a type.
func ofType(t *testing.T, tbl *table.Table, name string) []table.Item {
	t.Helper()
	var found []table.Item
	for _, item := range items(t, tbl) {
		if text(item, "entityType") == name {
			found = append(found, item)
		}
	}
	return found
}

func text(item table.Item, attribute string) string {
	s, _ := item[attribute].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
