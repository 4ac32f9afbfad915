package repo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type (
	lasting[E any] struct {
		Until E `dynamodbav:"expiresAt,omitempty"`
	}
	lastingUnix[E any] struct {
		Until E `dynamodbav:"expiresAt,unixtime"`
	}
	lastingText[E any] struct {
		Until E `dynamodbav:"expiresAt,string"`
	}
	// Life and livesOn have the field in an embedded struct.
	Life struct {
		Lasting
		Name string `dynamodbav:"name"`
	}
	Lasting struct {
		Until time.Time `dynamodbav:"expiresAt"`
	}
	livesOn struct{ *Life }
	// hides has a field of its own for what the embedded struct has too.
	hides struct {
		Life
		Until int64 `dynamodbav:"expiresAt"`
	}
	// inside has an attribute of that name, which is not the item's.
	inside struct {
		Life Life `dynamodbav:"life"`
	}
	moment  time.Time
	seconds int64
	// readsItself reads its attribute itself, and does not write it.
	readsItself struct{}
)

func (*readsItself) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

// TestTypesOfTheTTLAttribute describes entities whose items DynamoDB would never
// expire: it takes numbers only.
func TestTypesOfTheTTLAttribute(t *testing.T) {
	t.Parallel()
	tbl := expect.Value(table.New(tabletest.Client(t), spec, nil))(t)
	const unixtime = "is stored as text, and DynamoDB expires by a number of seconds; use the tag option unixtime"
	const notSeconds = "is no number of seconds, by which DynamoDB expires; use a time.Time with the tag option unixtime"
	never := func(typ string) string { return typ + " is not of type N, and DynamoDB expires by a number of seconds" }
	for name, tt := range map[string]struct{ got, want string }{
		"time":                   {ttlProblem[lasting[time.Time]](t, tbl), "a time.Time " + unixtime},
		"pointer to a time":      {ttlProblem[lasting[*time.Time]](t, tbl), "a time.Time " + unixtime},
		"named time":             {ttlProblem[lasting[moment]](t, tbl), "a repo_test.moment " + unixtime},
		"embedded":               {ttlProblem[Life](t, tbl), "a time.Time " + unixtime},
		"embedded by a pointer":  {ttlProblem[livesOn](t, tbl), "a time.Time " + unixtime},
		"string":                 {ttlProblem[lasting[string]](t, tbl), never("a string")},
		"pointer to a string":    {ttlProblem[lasting[*string]](t, tbl), never("a string")},
		"bytes":                  {ttlProblem[lasting[[]byte]](t, tbl), never("a []uint8")},
		"array of bytes":         {ttlProblem[lasting[[8]byte]](t, tbl), never("a [8]uint8")},
		"bool":                   {ttlProblem[lasting[bool]](t, tbl), never("a bool")},
		"struct":                 {ttlProblem[lasting[Lasting]](t, tbl), never("a repo_test.Lasting")},
		"map":                    {ttlProblem[lasting[map[string]int64]](t, tbl), never("a map[string]int64")},
		"list":                   {ttlProblem[lasting[[]int64]](t, tbl), never("a []int64")},
		"list of strings":        {ttlProblem[lasting[[]string]](t, tbl), never("a []string")},
		"list of fixed length":   {ttlProblem[lasting[[1]int64]](t, tbl), never("a [1]int64")},
		"integer as text":        {ttlProblem[lastingText[int64]](t, tbl), never("a int64")},
		"number as text":         {ttlProblem[lastingText[attributevalue.Number]](t, tbl), never("a attributevalue.Number")},
		"unixtime of an integer": {ttlProblem[lastingUnix[int64]](t, tbl), ""},

		"milliseconds":       {ttlProblem[lasting[table.UnixMilli]](t, tbl), "a table.UnixMilli " + notSeconds},
		"pointer to them":    {ttlProblem[lasting[*table.UnixMilli]](t, tbl), "a *table.UnixMilli " + notSeconds},
		"text of JavaScript": {ttlProblem[lasting[table.ISOTime]](t, tbl), "a table.ISOTime " + notSeconds},

		"unixtime":              {ttlProblem[lastingUnix[time.Time]](t, tbl), ""},
		"unixtime of a pointer": {ttlProblem[lastingUnix[*time.Time]](t, tbl), ""},
		"unixtime, named":       {ttlProblem[lastingUnix[moment]](t, tbl), ""},
		"UnixTime":              {ttlProblem[lasting[attributevalue.UnixTime]](t, tbl), ""},
		"integer":               {ttlProblem[lasting[int64]](t, tbl), ""},
		"pointer to an integer": {ttlProblem[lasting[*uint32]](t, tbl), ""},
		"named integer":         {ttlProblem[lasting[seconds]](t, tbl), ""},
		"float":                 {ttlProblem[lasting[float64]](t, tbl), ""},
		"number":                {ttlProblem[lasting[attributevalue.Number]](t, tbl), ""},
		"its own attribute":     {ttlProblem[lasting[selfMade]](t, tbl), ""},
		"reads itself":          {ttlProblem[lasting[readsItself]](t, tbl), ""},
		"anything":              {ttlProblem[lasting[any]](t, tbl), ""},
		"hidden":                {ttlProblem[hides](t, tbl), ""},
		"not the item's":        {ttlProblem[inside](t, tbl), ""},
		"no field":              {ttlProblem[struct{ ID string }](t, tbl), ""},
		"a map":                 {ttlProblem[map[string]any](t, tbl), ""},
	} {
		if tt.want != "" {
			tt.want = `TTL: attribute "expiresAt": ` + tt.want
		}
		expect.Equal(t, name, tt.got, tt.want)
	}
	bare := expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "Lasting"}, nil))(t)
	expect.Equal(t, "table without TTL", ttlProblem[Life](t, bare), "")
}

// ttlProblem returns the only problem of an entity of the type, "" if it has none.
func ttlProblem[T any](t *testing.T, tbl *table.Table) string {
	t.Helper()
	err := repo.Declared(tbl, repo.Entity[T]{Type: "T", Key: func(T) keys.Key { return keys.Key{} }})
	e, ok := errors.AsType[*schema.Error](err)
	if !ok {
		expect.OK(t, err)
		return ""
	}
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "problems", len(e.Problems), 1)
	return e.Problems[0]
}

// An expiry that can only be in milliseconds is refused where a value brings it. One that is
// stored already, as by another program, keeps no entity from being changed or moved, and
// package table stores items as they are.
func TestExpiriesInMilliseconds(t *testing.T) {
	t.Parallel()
	type session struct {
		ID       string `dynamodbav:"id"`
		At       string `dynamodbav:"at"`
		Until    int64  `dynamodbav:"expiresAt"`
		Revision string `dynamodbav:"revision"`
	}
	const last, late = 253402300799, 1700000000000
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
	key := func(s session) keys.Key { return keys.Key{PK: "SESSION", SK: keys.SK(s.ID + s.At)} }
	r := newRepo(t, tbl, repo.Entity[session]{Type: "SESSION", Version: "revision", Key: key})
	plain := newRepo(t, tbl, repo.Entity[session]{Type: "SESSION", Key: key})
	shared := newRepo(t, tbl, repo.Entity[session]{Type: "SESSION", Key: key, Shared: &repo.Shared[session]{}})
	s := session{ID: "a", Until: last}
	expect.OK(t, r.Create(t.Context(), &s))
	ms := s
	ms.Until = late
	for name, err := range map[string]error{
		"Create":               r.Create(t.Context(), &session{ID: "b", Until: late}),
		"Save":                 r.Save(t.Context(), new(ms)),
		"Save without version": plain.Save(t.Context(), new(ms)),
		"PutOps":               tbl.Transact(t.Context(), plain.PutOps(new(ms))...),
		"UpdateOps":            tbl.Transact(t.Context(), r.UpdateOps(s, new(ms))...),
		"Update":               expect.ErrOf(r.Update(t.Context(), key(s), func(s *session) error { s.Until = late; return nil })),
		"Update that moves":    expect.ErrOf(r.Update(t.Context(), key(s), func(s *session) error { s.Until, s.At = late, "x"; return nil })),
		"Patch":                expect.ErrOf(r.Patch(t.Context(), key(s), set("expiresAt", late))),
		"PatchOps":             tbl.Transact(t.Context(), r.PatchOps(key(s), set("expiresAt", late))...),
		"Upsert":               expect.ErrOf(r.Upsert(t.Context(), s, set("expiresAt", late))),
		"Upsert that creates":  expect.ErrOf(r.Upsert(t.Context(), session{ID: "c", Until: late}, set("at", ""))),
		"CreateOps":            tbl.Transact(t.Context(), r.CreateOps(&session{ID: "d", Until: late})...),
		"Shared":               expect.ErrOf(shared.Update(t.Context(), key(s), func(s *session) error { s.Until = late; return nil })),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Equal(t, "stored", expect.Value(r.Get(t.Context(), key(s)))(t), s)

	theirs := expect.Value(table.Get[table.Item](t.Context(), tbl, key(s)))(t)
	theirs["expiresAt"] = &types.AttributeValueMemberN{Value: "1700000000000"}
	expect.OK(t, tbl.Do(t.Context(), table.Put(key(s), theirs)))
	moved := expect.Value(r.Update(t.Context(), key(s), func(s *session) error { s.At = "y"; return nil }))(t)
	expect.Equal(t, "moved", [2]any{moved.Until, moved.At}, [2]any{int64(late), "y"})
}
