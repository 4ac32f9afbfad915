package table_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var (
	roomKey  = keys.Key{PK: "ROOM#1", SK: keys.Metadata}
	guestKey = keys.Key{PK: "GUEST#1", SK: keys.Metadata}
)

// room is the item with numbers.
type room struct {
	Type   string `dynamodbav:"entityType,omitempty"`
	Name   string `dynamodbav:"name,omitempty"`
	Guests int64  `dynamodbav:"guests,omitempty"`
	Beds   int64  `dynamodbav:"beds,omitempty"`
	Until  int64  `dynamodbav:"expiresAt,omitempty"`
}

// adding returns the op that counts n guests and as many beds, of which there are four.
func adding(n int64) table.Op {
	return table.Add(roomKey, addition(n)).WithName("GUEST guests")
}

func addition(n int64) item.Addition {
	return item.Addition{Type: "ROOM", Counts: n > 0, Terms: []item.Term{
		{Counter: "GUEST guests", Attribute: "guests", N: n, Min: new(int64)},
		{Counter: "GUEST beds", Attribute: "beds", N: n, Max: new(int64(4))},
	}}
}

// creating returns the op of a repository that creates the room.
func creating(ofType string) table.Op {
	made := table.Item{"pk": text(string(roomKey.PK)), "sk": text(string(roomKey.SK)), "entityType": text(ofType)}
	return table.Create(roomKey, item.Made{Item: made}).WithName("ROOM")
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func setName(v string) table.Op {
	return table.Patch(roomKey, table.Item{"name": text(v)}).IfExists().IfType("ROOM").WithName("ROOM")
}

// TestAddsAreMerged has a room of 2 guests and 2 beds at first, unless it is missing: one op is
// about it.
func TestAddsAreMerged(t *testing.T) {
	t.Parallel()
	guest, missing := table.Create(guestKey, nil), table.CheckMissing(roomKey)
	alone := addition(2)
	alone.Creates = true
	name, no := expression.Name("name"), expression.Name("name").Equal(expression.Value("no"))
	for what, c := range map[string]struct {
		ops     []table.Op
		missing bool
		want    room
		err     error
		failed  string // the op's name
		number  int    // its place
		text    string // in the error
	}{
		"one":                    {ops: []table.Op{guest, adding(2)}, want: room{Guests: 4, Beds: 4}},
		"two":                    {ops: []table.Op{adding(1), guest, adding(1)}, want: room{Guests: 4, Beds: 4}},
		"bounds hold for a sum":  {ops: []table.Op{adding(4), adding(-3)}, want: room{Guests: 3, Beds: 3}},
		"a sum of 0":             {ops: []table.Op{adding(9), adding(-9)}, want: room{Guests: 2, Beds: 2}},
		"above Max":              {ops: []table.Op{guest, adding(3)}, want: room{Guests: 2, Beds: 2}, err: table.ErrLimit, failed: "GUEST beds", number: 2},
		"above Max together":     {ops: []table.Op{adding(1), guest, adding(2)}, want: room{Guests: 2, Beds: 2}, err: table.ErrLimit, failed: "GUEST beds", number: 1},
		"below Min":              {ops: []table.Op{adding(-3), guest}, want: room{Guests: 2, Beds: 2}, err: table.ErrLimit, failed: "GUEST guests", number: 1},
		"more than 64 bits":      {ops: []table.Op{adding(math.MaxInt64), adding(1)}, want: room{Guests: 2, Beds: 2}, err: table.ErrInvalid, failed: "GUEST guests", number: 2},
		"with a Create":          {ops: []table.Op{adding(1), creating("ROOM"), adding(3)}, missing: true, want: room{Guests: 4, Beds: 4}},
		"a Create above Max":     {ops: []table.Op{creating("ROOM"), adding(1), adding(4)}, missing: true, err: table.ErrLimit, failed: "GUEST beds", number: 2},
		"a Create of another":    {ops: []table.Op{creating("HALL"), adding(1)}, missing: true, err: table.ErrUncounted, failed: "ROOM", number: 1},
		"a Create that exists":   {ops: []table.Op{creating("ROOM"), adding(1)}, want: room{Guests: 2, Beds: 2}, err: table.ErrExists, failed: "ROOM", number: 1},
		"with a Patch":           {ops: []table.Op{adding(1), setName("x"), adding(1)}, want: room{Name: "x", Guests: 4, Beds: 4}},
		"a Patch above Max":      {ops: []table.Op{setName("x"), adding(3)}, want: room{Guests: 2, Beds: 2}, err: table.ErrLimit, failed: "GUEST beds", number: 2},
		"a Patch, full or not":   {ops: []table.Op{adding(3), setName("x").If(no)}, want: room{Guests: 2, Beds: 2}, err: table.ErrLimit, failed: "GUEST beds", number: 1},
		"a Patch of none":        {ops: []table.Op{adding(1), setName("x")}, missing: true, err: table.ErrNotFound, failed: "ROOM", number: 2},
		"with an Update":         {ops: []table.Op{table.Update(roomKey, expression.Set(name, expression.Value("x")).Add(expression.Name("n"), expression.Value(1))).IfExists(), adding(2)}, want: room{Name: "x", Guests: 4, Beds: 4}},
		"an Update of the same":  {ops: []table.Op{table.Update(roomKey, expression.Set(expression.Name("beds"), expression.Value(1))).IfExists(), adding(2)}, want: room{Guests: 2, Beds: 2}, err: table.ErrInvalid, number: 1, text: "list it in Counted"},
		"with a Check":           {ops: []table.Op{adding(1), table.CheckExists(roomKey), adding(1)}, want: room{Guests: 4, Beds: 4}},
		"a Check that fails":     {ops: []table.Op{adding(1), table.Check(roomKey, no).WithName("check")}, want: room{Guests: 2, Beds: 2}, err: table.ErrConditionFailed, failed: "check", number: 2},
		"a Check of none":        {ops: []table.Op{adding(1), table.CheckExists(roomKey).WithName("check")}, missing: true, err: table.ErrNotFound, failed: "check", number: 2},
		"with CheckMissing":      {ops: []table.Op{adding(1), missing}, want: room{Guests: 2, Beds: 2}, err: table.ErrInvalid, number: 2},
		"with a Delete":          {ops: []table.Op{adding(-1), table.Delete(roomKey)}, want: room{Type: "none"}},
		"a Delete and one more":  {ops: []table.Op{adding(1), table.Delete(roomKey)}, want: room{Guests: 2, Beds: 2}, err: table.ErrInvalid, number: 2},
		"with a Put":             {ops: []table.Op{adding(1), table.Put(roomKey, room{Type: "ROOM"})}, want: room{Guests: 2, Beds: 2}, err: table.ErrInvalid, number: 2},
		"none":                   {ops: []table.Op{guest, adding(1)}, missing: true, err: table.ErrUncounted, failed: "GUEST guests", number: 2},
		"none, created":          {ops: []table.Op{guest, table.Add(roomKey, alone), table.Add(roomKey, alone)}, missing: true, want: room{Guests: 4, Beds: 4}},
		"none, created and held": {ops: []table.Op{table.Add(roomKey, alone), adding(2)}, missing: true, err: table.ErrUncounted, number: 1},
		"created twice":          {ops: []table.Op{table.Add(roomKey, alone), table.Patch(roomKey, table.Item{"name": text("x")})}, missing: true, err: table.ErrInvalid, number: 2},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
			if !c.missing {
				expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, room{Type: "ROOM", Guests: 2, Beds: 2})))
			}
			err := tbl.Transact(t.Context(), c.ops...)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if c.text != "" && !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error does not have %q: %v", c.text, err)
			}
			if failed, ok := table.FailedOp(err, ""); ok && (failed.Name != c.failed || failed.OpNumber != c.number) {
				t.Errorf("op %d %q failed, want %d %q: %v", failed.OpNumber, failed.Name, c.number, c.failed, err)
			}
			got, err := table.Get[room](t.Context(), tbl, roomKey)
			if gone := c.want.Type == "none" || c.missing && c.err != nil; gone {
				expect.Err(t, err, table.ErrNotFound)
				return
			}
			expect.OK(t, err)
			c.want.Type = "ROOM"
			expect.Equal(t, "stored", got, c.want)
		})
	}
}

// TestAddFails says why a number was not added to.
func TestAddFails(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		stored any
		err    error
	}{
		"missing":         {nil, table.ErrUncounted},
		"another type":    {room{Type: "HALL"}, table.ErrUncounted},
		"expired":         {room{Type: "ROOM", Until: 1}, table.ErrUncounted},
		"without numbers": {room{Type: "ROOM"}, nil},
		"full":            {room{Type: "ROOM", Beds: 4}, table.ErrLimit},
		"above Max":       {room{Type: "ROOM", Beds: 40}, table.ErrLimit},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
			if c.stored != nil {
				expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, c.stored)))
			}
			err := tbl.Transact(t.Context(), table.Create(guestKey, nil), adding(1))
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if c.err == nil {
				return
			}
			expect.NotErr(t, err, table.ErrNotFound, table.ErrWrongType, table.ErrConditionFailed)
			expect.Equal(t, "class", table.Classify(err), table.Permanent)
			if strings.Contains(err.Error(), "ROOM#1") {
				t.Errorf("the error has the key: %v", err)
			}
			if _, ok := table.FailedOp(err, map[bool]string{true: "GUEST guests", false: "GUEST beds"}[errors.Is(err, table.ErrUncounted)]); !ok {
				t.Errorf("the error does not name the counter: %v", err)
			}
			expect.Err(t, expect.ErrOf(table.Get[room](t.Context(), tbl, guestKey)), table.ErrNotFound)
		})
	}
}

// TestAddCreates creates the item that counts, unless it has expired: it would be deleted soon.
func TestAddCreates(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		stored any
		want   int64
		err    error
	}{
		"missing":         {nil, 3, nil},
		"there":           {room{Type: "ROOM", Guests: 2}, 5, nil},
		"another type":    {room{Type: "HALL"}, 0, table.ErrUncounted},
		"expired":         {room{Type: "ROOM", Guests: 2, Until: 1}, 0, table.ErrUncounted},
		"another expired": {room{Type: "HALL", Until: 1}, 0, table.ErrUncounted},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
			if c.stored != nil {
				expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, c.stored)))
			}
			a := addition(3)
			a.Creates = true
			if err := tbl.Do(t.Context(), table.Add(roomKey, a)); !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if c.err == nil {
				expect.Equal(t, "stored", expect.Value(table.Get[room](t.Context(), tbl.OfType("ROOM"), roomKey))(t).Guests, c.want)
			}
		})
	}
}

// TestLimitIsReportedAlone: the writer itself may have taken the last place before.
func TestLimitIsReportedAlone(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, room{Type: "ROOM", Beds: 4})))
	expect.OK(t, tbl.Do(t.Context(), table.Create(guestKey, nil)))
	err := tbl.Transact(t.Context(), table.Create(guestKey, nil), adding(1))
	expect.Err(t, err, table.ErrExists)
	expect.NotErr(t, err, table.ErrLimit)

	// An entity that exists already needs no room.
	expect.OK(t, tbl.Do(t.Context(), table.Delete(roomKey)))
	err = tbl.Transact(t.Context(), table.Create(guestKey, nil), adding(1))
	expect.Err(t, err, table.ErrExists)
	expect.NotErr(t, err, table.ErrUncounted)
}

// TestAddsStayInAnInt64: a number without bounds stays where each program can read it. Amounts
// that cannot bring it there cost no condition.
func TestAddsStayInAnInt64(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		is, n int64
		err   error
	}{
		"small, far away":  {1<<62 - 1, 1 << 24, nil},
		"small, back":      {1 << 62, -1 << 24, nil},
		"large":            {1<<62 - 1<<60, 1 << 60, nil},
		"too large":        {1<<62 - 1<<60, 1<<60 + 1, table.ErrLimit},
		"large, back":      {1<<62 + 5, -1 << 60, nil},
		"below":            {-1 << 62, -1 << 60, table.ErrLimit},
		"too large for 0":  {0, 1<<62 + 1, table.ErrLimit},
		"too small for 0":  {0, math.MinInt64, table.ErrLimit},
		"the least from 0": {0, -1 << 62, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			faults := &tabletest.Faults{}
			tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
			expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, room{Type: "ROOM", Guests: c.is})))
			a := item.Addition{Type: "ROOM", Terms: []item.Term{{Counter: "GUEST guests", Attribute: "guests", N: c.n}}}
			if err := tbl.Do(t.Context(), table.Add(roomKey, a)); !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			want := c.is
			if c.err == nil {
				want += c.n
			}
			expect.Equal(t, "stored", expect.Value(table.Get[room](t.Context(), tbl, roomKey))(t).Guests, want)
			body := string(faults.Requests("TransactWriteItems")[0].Body)
			expect.Equal(t, "has a bound", strings.Contains(body, ":b0x0"), c.n > 1<<24 || c.n < -1<<24)
		})
	}
}

// TestAddToWhatIsNoNumber says which attribute is to be removed, without its value.
func TestAddToWhatIsNoNumber(t *testing.T) {
	t.Parallel()
	for what, is := range map[string]types.AttributeValue{
		"NULL": &types.AttributeValueMemberNULL{Value: true}, "a text": text("secret"),
	} {
		for _, attribute := range []string{"guests", "beds"} { // of which the latter has a bound
			t.Run(what+" in "+attribute, func(t *testing.T) {
				t.Parallel()
				tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
				expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, table.Item{"entityType": text("ROOM"), attribute: is})))
				err := tbl.Transact(t.Context(), table.Create(guestKey, nil), adding(1))
				expect.Err(t, err, table.ErrUncounted)
				expect.NotErr(t, err, table.ErrConflict)
				expect.Equal(t, "class", table.Classify(err), table.Permanent)
				if said := err.Error(); !strings.Contains(said, `"`+attribute+`"`) || strings.Contains(said, "secret") {
					t.Errorf("the error does not name the attribute alone: %v", err)
				}
			})
		}
	}
}

// TestAddAlone: an op that adds is sent as a transaction, so that a lost response counts once.
func TestAddAlone(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	expect.OK(t, tbl.Do(t.Context(), table.Put(roomKey, room{Type: "ROOM"})))
	faults.Next("TransactWriteItems", tabletest.DropResponse())
	expect.OK(t, tbl.Do(t.Context(), adding(2)))
	expect.Equal(t, "stored", expect.Value(table.Get[room](t.Context(), tbl, roomKey))(t), room{Type: "ROOM", Guests: 2, Beds: 2})
	err := tbl.Do(t.Context(), adding(3))
	expect.Err(t, err, table.ErrLimit)
	if failed, ok := table.FailedOp(err, "GUEST beds"); !ok || failed.Key != roomKey {
		t.Errorf("the error does not name the counter: %v", err)
	}
}
