package lease_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTablesThatHoldNoLease(t *testing.T) {
	t.Parallel()
	index := func(x schema.Index) schema.Table {
		x.Name = "byName"
		return schema.Table{Name: "Tasks", Indexes: []schema.Index{x}}
	}
	const never, asides, always = "", "with asides", "always"
	for name, tt := range map[string]struct {
		spec    schema.Table
		refused string
	}{
		"of the defaults":             {schema.Table{Name: "Tasks"}, never},
		"partition key":               {schema.Table{Name: "Tasks", PK: "leaseOwner"}, always},
		"sort key":                    {schema.Table{Name: "Tasks", SK: "leaseRevision"}, always},
		"type":                        {schema.Table{Name: "Tasks", TypeAttribute: "leaseUntil"}, always},
		"expiry":                      {schema.Table{Name: "Tasks", TTLAttribute: "leaseUntil"}, always},
		"sort key of what is aside":   {schema.Table{Name: "Tasks", SK: "itemSK"}, asides},
		"type of what is aside":       {schema.Table{Name: "Tasks", TypeAttribute: "reason"}, asides},
		"expiry of what is aside":     {schema.Table{Name: "Tasks", TTLAttribute: "at"}, asides},
		"index of owners":             {index(schema.Index{PK: "leaseOwner", SK: "leaseUntil", SKType: types.ScalarAttributeTypeN}), never},
		"index of another type":       {index(schema.Index{PK: "leaseOwner", SK: "leaseUntil"}), always},
		"index of states":             {index(schema.Index{PK: "state"}), always},
		"index of times that are set": {index(schema.Index{PK: "team", SK: "at"}), asides},
	} {
		tbl := expect.Value(table.New(tabletest.Client(t), tt.spec, nil))(t)
		for _, aside := range []bool{false, true} {
			err := lease.Check(tbl, keys.Key{PK: "A", SK: "B"}, aside)
			if tt.refused == always || tt.refused == asides && aside {
				expect.Err(t, err, table.ErrInvalid)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// An entity can have a type that the library has for itself, in a partition of that name.
func TestOwned(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Tasks"}.WithDefaults()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for name, tt := range map[string]struct {
		pk, itemType, attribute string
		owned                   bool
	}{
		"progress of a job":            {"BACKFILL#years", lease.JobType, "leaseRevision", true},
		"set aside by a job":           {"BACKFILL#years", lease.JobType, "itemPK", true},
		"position of a reader":         {"STREAM#a#b#c", lease.ReaderType, "leaseRevision", true},
		"lease":                        {"REPORT#1", lease.Type, "leaseRevision", true},
		"entity of the type of jobs":   {"BACKFILL#years", lease.JobType, "name", false},
		"entity of another partition":  {"JOB#years", lease.JobType, "itemPK", false},
		"entity of the type of leases": {"LEASE#car", lease.Type, "itemPK", false},
		"entity of the reader's type":  {"STREAMS#a", lease.ReaderType, "leaseRevision", false},
	} {
		stored := table.Item{"pk": text(tt.pk), "sk": text("x"), "entityType": text(tt.itemType), tt.attribute: text("x")}
		expect.Equal(t, name, lease.Owned(&spec, stored, tt.itemType), tt.owned)
		stored["entityType"] = text("ANOTHER")
		expect.Equal(t, name+", of another type", lease.Owned(&spec, stored, tt.itemType), false)
	}
}
