package repo_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// seen is an entity without a version.
type seen struct {
	ID    string `dynamodbav:"id"`
	Place string `dynamodbav:"place,omitempty"`
	Room  string `dynamodbav:"room,omitempty"`
}

// TestSaveWithoutVersion sets what T has, and keeps what another program has stored, unless that
// has expired.
func TestSaveWithoutVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "ttl", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
	index := keys.Prefix("PLACE")
	r := newRepo(t, tbl, repo.Entity[seen]{
		Type: "SEEN",
		Key:  func(s seen) keys.Key { return keys.Key{PK: keys.User.PK(s.ID), SK: keys.Profile} },
		Indexes: repo.Indexes[seen]{"GSI1": func(s seen) keys.Key {
			if s.Place == "" {
				return keys.Key{}
			}
			return keys.Key{PK: index.PK(s.Place), SK: index.SK(keys.Str(s.ID))}
		}},
	})
	key := keys.Key{PK: keys.User.PK("1"), SK: keys.Profile}
	stored := func() table.Item {
		return expect.Value(table.Get[table.Item](t.Context(), tbl.IncludingExpired(), key))(t)
	}
	other := func(expiry int64) {
		expect.OK(t, tbl.Do(t.Context(), table.Patch(key, table.Item{
			"note": &types.AttributeValueMemberS{Value: "of another program"}, "ttl": &types.AttributeValueMemberN{Value: strconv.FormatInt(expiry, 10)},
		}).IfExists()))
	}
	expect.OK(t, r.Save(t.Context(), &seen{ID: "1", Place: "hall", Room: "2"}))
	expect.Equal(t, "in the index", stored()["GSI1PK"] != nil, true)

	other(0)
	expect.OK(t, r.Save(t.Context(), &seen{ID: "1", Room: "3"}))
	item := stored()
	for name, there := range map[string]bool{"note": true, "room": true, "place": false, "GSI1PK": false, "GSI1SK": false} {
		expect.Equal(t, name+" is stored", item[name] != nil, there)
	}
	expect.Equal(t, "as it is read", expect.Value(r.Get(t.Context(), key))(t), seen{ID: "1", Room: "3"})

	other(time.Now().Add(-time.Hour).Unix())
	expect.OK(t, r.Save(t.Context(), &seen{ID: "1", Room: "4"}))
	expect.Equal(t, "a note of what has expired stays", stored()["note"] != nil, false)
	expect.Equal(t, "as it is read", expect.Value(r.Get(t.Context(), key))(t), seen{ID: "1", Room: "4"})

	other(time.Now().Add(-time.Hour).Unix())
	_, err := table.DoReturning[table.Item](t.Context(), tbl.IncludingExpired(), table.Delete(key))
	expect.Err(t, err, table.ErrNotFound) // a write is that of the table

	expect.OK(t, tbl.Do(t.Context(), table.Put(key, map[string]string{"entityType": "OTHER"})))
	expect.Err(t, r.Save(t.Context(), &seen{ID: "1"}), table.ErrWrongType)
}
