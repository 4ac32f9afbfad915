package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// hostile are tenants whose names try to spell each other's keys.
var hostile = []string{
	"ACME", "ACME#", "#ACME", "ACME#X", "ACME#X#Y", "ACME%23X", "ACME%2523X", "acme", " ACME", "ACME\x00", "%", "#", "X",
	"ACME#ORDER", "_CMD#ACME", "ACME#" + importID,
}

// strange are codes that try to spell keys of other tenants, types and versions.
var strange = []string{
	"X", "X#Y", "#", "##", "X#", "#X", "X%23Y", "Y", "%23", "X#0000000001", "0000000001", "PRODUCT#X", "..", "*", "$", " ", "é",
}

// tenants returns the hostile tenants of a system.
func tenants(s system) []Tenant {
	var all []Tenant
	for _, name := range hostile {
		all = append(all, s.as(Caller{Tenant: name, User: "u", IP: "192.0.2.1"}))
	}
	return all
}

func TestNoKeysMeet(t *testing.T) {
	t.Parallel()
	whose := map[keys.Key]string{}
	ids := map[string]string{}
	codePartitions := map[keys.PK]string{}
	for _, tenant := range hostile {
		for _, code := range strange {
			owner := fmt.Sprintf("%q %q", tenant, code)
			refs := []Ref{NewRef("PRODUCT", code), NewRef("ORDER", "2024", code), NewRef("DEPT", code), NewRef("DEPT", "X", code), NewRef("DEPT", code, "X", "0000000001")}
			for i, r := range refs {
				for kind, k := range map[string]keys.Key{
					"data": dataKey(tenant, r), "command": commands.key(tenant, r, 1), "history": histories.key(tenant, r, 1),
				} {
					claim(t, whose, k, fmt.Sprint(owner, kind, i))
				}
				claim(t, ids, recordID(tenant, r), fmt.Sprint(owner, i))
			}
			claim(t, whose, taskKey(tenant, code), owner+"task")
			claim(t, whose, listingKey(tenant, code), owner+"listing")
			claim(t, whose, counterEntity.Key(counter{TenantCode: tenant, Prefix: code, Year: 2024}), owner+"counter")
			claim(t, whose, Import{TenantCode: tenant, ID: code}.Key(), owner+"import")
			claim(t, whose, Row{TenantCode: tenant, ImportID: code, Number: 1}.key(rowPrefix), owner+"row")
			claim(t, codePartitions, codePartition(tenant, code), owner)
		}
	}
}

func claim[K comparable](t *testing.T, whose map[K]string, key K, owner string) {
	t.Helper()
	if other, taken := whose[key]; taken {
		t.Errorf("%s has the key of %s: %v", owner, other, key)
	}
	whose[key] = owner
}

func TestIdsOfOtherTenantsAreNotFound(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := newSystemWith(t, tabletest.Client(t, faults.Install))
	secret := check.Must(s.as(Caller{Tenant: "ACME#X"}).Publish(t.Context(), Change{Ref: NewRef("PRODUCT", "Y")}))(t)
	s.settle(t)
	before := len(faults.Requests())
	unescaped := strings.ReplaceAll(secret.ID, "%23", "#")
	for _, who := range tenants(s) {
		for _, id := range []string{secret.ID, unescaped} {
			got, err := who.ByID(t.Context(), id)
			switch {
			case who.caller.Tenant == "ACME#X" && id == secret.ID:
				check.Equal(t, "own", got, secret)
			case !errors.Is(err, table.ErrNotFound):
				t.Errorf("%q gets %+v, %v", who.caller.Tenant, got, err)
			}
		}
	}
	check.Equal(t, "requests", len(faults.Requests())-before, 1) // for its own

	// Ids that no record has, some of which name items of another kind.
	for _, id := range []string{
		"", "#", "PRODUCT", "PRODUCT#ACME", "PRODUCT#ACME#", "PRODUCT#ACME##X", "PRODUCT_CMD#ACME#X", "SEQ#ACME#ORD#2024",
		"TASK#ACME#X", "IMPORT#ACME#X", "PRODUCT#ACME#X%2", "PRODUCT#ACME#X\xff", strings.Repeat("X", 5000),
	} {
		if got, err := s.acme().ByID(t.Context(), id); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}

func TestTokensOfOtherTenantsAreRefused(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := newSystemWith(t, tabletest.Client(t, faults.Install))
	acme := s.acme()
	for _, code := range []string{"A", "B", "C"} {
		check.Must(acme.Publish(t.Context(), Change{Ref: NewRef("PRODUCT", code)}))(t)
	}
	check.Must(acme.Publish(t.Context(), Change{Ref: NewRef("PRODUCT", "A"), Version: 1}))(t)
	s.settle(t)
	list := check.Must(acme.List(t.Context(), "PRODUCT", 1, ""))(t).Next
	listed := check.Must(acme.Catalogue(t.Context(), 1, ""))(t).Next
	past := check.Must(acme.Versions(t.Context(), NewRef("PRODUCT", "A"), 1, ""))(t).Next
	before := len(faults.Requests())
	refuse := func(what string, err error) {
		t.Helper()
		check.Is(t, err, paginate.ErrInvalidCursor, what)
	}
	for _, who := range tenants(s) {
		if who.caller.Tenant == "ACME" {
			continue
		}
		_, err := who.List(t.Context(), "PRODUCT", 1, list)
		refuse("list", err)
		_, err = who.Catalogue(t.Context(), 1, listed)
		refuse("catalogue", err)
		_, err = who.Versions(t.Context(), NewRef("PRODUCT", "A"), 1, past)
		refuse("history", err)
	}
	_, err := acme.List(t.Context(), "DEPT", 1, list)
	refuse("another type", err)
	_, err = acme.Versions(t.Context(), NewRef("PRODUCT", "B"), 1, past)
	refuse("another record", err)
	_, err = acme.Commands(t.Context(), NewRef("PRODUCT", "A"), 1, past)
	refuse("the commands", err)
	check.Equal(t, "requests", len(faults.Requests())-before, 0)
	check.Equal(t, "own", codesOf(check.Must(acme.List(t.Context(), "PRODUCT", 1, list))(t).Items), []string{"B"})
}

func TestACallerWithoutATenantGetsNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	nobody := s.as(Caller{User: "u"})
	_, published := nobody.Publish(t.Context(), Change{Ref: NewRef("PRODUCT", "X")})
	_, read := nobody.Get(t.Context(), NewRef("PRODUCT", "X"))
	_, listed := nobody.List(t.Context(), "PRODUCT", 0, "")
	_, found := nobody.ByCode(t.Context(), "", "X", 0, "")
	_, numbered := nobody.PlaceOrder(t.Context(), "order", nil)
	imported := nobody.Import(t.Context(), importID, catalogue())
	rebuilt := nobody.RebuildCatalogue(t.Context(), "rebuild")
	_, listings := nobody.Catalogue(t.Context(), 0, "")
	_, tasks := nobody.Tasks(t.Context(), 0, "")
	for i, err := range []error{published, read, listed, found, numbered, imported, rebuilt, listings, tasks} {
		check.Is(t, err, keys.ErrInvalid, i)
	}
	for _, typ := range []string{"", "TASK", "PRODUCT_CMD", "CODE"} {
		_, listed := s.acme().List(t.Context(), typ, 0, "")
		_, below := s.acme().Below(t.Context(), NewRef(typ, "X"), 0, "")
		if !errors.Is(listed, ErrInvalid) || !errors.Is(below, ErrInvalid) {
			t.Errorf("type %q: %v, %v", typ, listed, below)
		}
	}
}
