package repo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// parcel is stored by a service in another language, too.
type parcel struct {
	ID      string            `dynamodbav:"id"`
	Mail    string            `dynamodbav:"mail,omitempty"`
	Weight  float64           `dynamodbav:"weight"`
	Tags    []string          `dynamodbav:"tags,stringset,omitempty"`
	To      map[string]string `dynamodbav:"to,omitempty"`
	Stops   []string          `dynamodbav:"stops,omitempty"`
	Note    *string           `dynamodbav:"note,omitempty"`
	Expires int64             `dynamodbav:"expires,omitempty"`
}

// dated parcels have the time of the last write in milliseconds, texted ones as text.
type (
	dated struct {
		parcel
		Updated int64 `dynamodbav:"updated"`
	}
	texted struct {
		parcel
		Updated string `dynamodbav:"_md"`
	}
)

var parcels = schema.Table{TypeAttribute: "_type", TTLAttribute: "expires", Indexes: []schema.Index{{Name: "mail", PK: "mailPK"}}}

func parcelKey(id string) keys.Key {
	return keys.Key{PK: keys.PK("$shop#parcelid_" + id), SK: "$parcel_1"}
}

func uniqueKey(mail string) keys.Key {
	if mail == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.PK("_unique#Parcel#mail#" + mail), SK: "_unique#"}
}

func sharedParcel() repo.Entity[parcel] {
	return repo.Entity[parcel]{
		Type: "Parcel", Key: func(p parcel) keys.Key { return parcelKey(p.ID) },
		Indexes: repo.Indexes[parcel]{"mail": func(p parcel) keys.Key { return keys.Key{PK: keys.PK(p.Mail)} }},
		Shared: &repo.Shared[parcel]{
			Constants: map[string]string{"__edb_v__": "1"}, UniqueType: "_Unique",
			Unique: func(p parcel) []keys.Key { return []keys.Key{uniqueKey(p.Mail)} },
		},
	}
}

// post is a table of parcels, with the other program's client.
type post struct {
	*testing.T
	table   *table.Table
	parcels *repo.Repo[parcel]
	faults  *tabletest.Faults
	now     time.Time
}

func newPost(t *testing.T, e repo.Entity[parcel]) *post {
	t.Helper()
	p := &post{T: t, faults: &tabletest.Faults{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	client := tabletest.Client(t, p.faults.Install, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	p.table = tabletest.NewWith(t, client, parcels, &table.Options{Now: func() time.Time { return p.now }})
	p.parcels = expect.Value(repo.New(p.table, e))(t)
	return p
}

// theirs has the other program change a parcel.
func (p *post) theirs(id string, set table.Item, remove ...string) {
	p.Helper()
	expect.OK(p, p.table.Do(p.Context(), table.Patch(parcelKey(id), set, remove...)))
}

// stored returns what is stored under a key, as JSON; nothing if that is nothing.
func (p *post) stored(key keys.Key) map[string]string {
	p.Helper()
	stored, err := table.Get[table.Item](p.Context(), p.table.Consistent().IncludingExpired(), key)
	if !errors.Is(err, table.ErrNotFound) {
		expect.OK(p, err)
	}
	return inJSON(stored)
}

func inJSON(attributes table.Item) map[string]string {
	all := map[string]string{}
	for name, value := range attributes {
		all[name] = string(item.JSON(table.Item{"is": value}))
	}
	return all
}

// is returns the JSON of a value, as stored shows it.
func is(value types.AttributeValue) string { return inJSON(table.Item{"": value})[""] }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numeral(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// Whatever the other program changes while an Update, a Save, a Delete or a check works on what
// it has read, these see.
func TestSharedLosesNothing(t *testing.T) {
	t.Parallel()
	theirs := map[string]struct {
		set    table.Item
		remove []string
	}{
		"a number":               {table.Item{"weight": numeral("100")}, nil},
		"a number of 38 digits":  {table.Item{"weight": numeral("2.0000000000000000000000000000000000001")}, nil},
		"a set":                  {table.Item{"tags": &types.AttributeValueMemberSS{Value: []string{"b", "c"}}}, nil},
		"a member of a map":      {table.Item{"to": &types.AttributeValueMemberM{Value: table.Item{"city": text("Rosario"), "zip": text("2000")}}}, nil},
		"an unknown member":      {table.Item{"to": &types.AttributeValueMemberM{Value: table.Item{"city": text("Salta"), "floor": &types.AttributeValueMemberNULL{Value: true}}}}, nil},
		"a list":                 {table.Item{"stops": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x")}}}, nil},
		"an attribute that was":  {nil, []string{"to"}},
		"one that was not there": {table.Item{"note": text("fragile")}, nil},
		"NULL":                   {table.Item{"note": &types.AttributeValueMemberNULL{Value: true}}, nil},
		"an expiry":              {table.Item{"expires": numeral("99999999999")}, nil},
		"another spelling":       {table.Item{"Note": text("fragile")}, nil},
		"what nobody knows":      {table.Item{"colour": text("red")}, nil},
	}
	for name, change := range theirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t, sharedParcel())
			id, runs := "", 0
			fresh := func(as string) *parcel {
				id, runs = as, 0
				v := &parcel{ID: id, Mail: id + "@x", Weight: 2, Tags: []string{"a"}, To: map[string]string{"city": "Salta"}, Stops: []string{"s"}}
				expect.OK(t, p.parcels.Create(t.Context(), v))
				if name == "another spelling" {
					p.theirs(id, table.Item{"Note": text("heavy")})
				}
				return v
			}
			meanwhile := func() {
				if runs++; runs == 1 {
					p.theirs(id, change.set, change.remove...)
				}
			}
			want := 2
			if name == "what nobody knows" {
				want = 1
			}
			check := func(but string) {
				t.Helper()
				expect.Equal(t, id+": runs", runs, want)
				stored := p.stored(parcelKey(id))
				for attribute, value := range inJSON(change.set) {
					if attribute != but {
						expect.Equal(t, id+": "+attribute, stored[attribute], value)
					}
				}
				for _, attribute := range change.remove {
					expect.Equal(t, id+": "+attribute, stored[attribute], "")
				}
			}
			// between has the other program write before a request arrives, and counts these.
			between := func(operation string) {
				p.faults.Always(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					p.faults.Always(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
						runs++
						return next.RoundTrip(r)
					})
					p.theirs(id, change.set, change.remove...)
					runs = 1
					return next.RoundTrip(r)
				})
			}

			fresh("update")
			_, err := p.parcels.Update(t.Context(), parcelKey(id), func(v *parcel) error {
				meanwhile()
				v.Weight += 0.5
				return nil
			})
			expect.OK(t, err)
			check("weight")

			fresh("check")
			_, err = p.parcels.UpdateWith(t.Context(), parcelKey(id), func(*parcel) ([]table.Op, error) {
				meanwhile()
				return []table.Op{table.Put(parcelKey("other"), map[string]string{"x": "y"})}, nil
			})
			expect.OK(t, err)
			check("")

			// A Save sets what T has, and keeps the rest. What is theirs by its name is not changed.
			v := fresh("save")
			v.Stops = []string{"s", "t"}
			between("UpdateItem")
			if err := p.parcels.Save(t.Context(), v); name == "another spelling" {
				expect.Err(t, err, table.ErrInvalid)
			} else {
				expect.OK(t, err)
				expect.Equal(t, "Save: runs", runs, want)
			}
			expect.Equal(t, "what nobody knows", p.stored(parcelKey(id))["colour"], inJSON(change.set)["colour"])
			p.faults.Always("UpdateItem", nil)

			fresh("delete")
			between("TransactWriteItems")
			expect.OK(t, p.parcels.Delete(t.Context(), parcelKey(id)))
			expect.Equal(t, "Delete: runs", runs, want)
			expect.Equal(t, "deleted", len(p.stored(parcelKey(id))), 0)
		})
	}
}

// An entity that moves would be written as it was read, without what the other program adds
// meanwhile.
func TestSharedMoves(t *testing.T) {
	t.Parallel()
	e := sharedParcel()
	e.Key = func(p parcel) keys.Key { return parcelKey(p.ID + "-" + p.To["city"]) }
	p := newPost(t, e)
	expect.OK(t, p.parcels.Create(t.Context(), &parcel{ID: "1", Mail: "a@x", To: map[string]string{"city": "Salta"}}))
	before := p.stored(parcelKey("1-Salta"))
	_, err := p.parcels.Update(t.Context(), parcelKey("1-Salta"), func(v *parcel) error { v.To = map[string]string{"city": "Rosario"}; return nil })
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "where it was", p.stored(parcelKey("1-Salta")), before)
}

// An item that has other constants is of somebody else, for a stream and a backfill too. So two
// versions of an entity of ElectroDB can be in one table.
func TestConstantsOfOthers(t *testing.T) {
	t.Parallel()
	p := newPost(t, sharedParcel())
	expect.OK(t, p.parcels.Create(t.Context(), &parcel{ID: "1"}))
	expect.OK(t, p.parcels.Create(t.Context(), &parcel{ID: "2"}))
	p.theirs("2", table.Item{"__edb_v__": text("2")})
	items := expect.Value(table.TransactGet[table.Item](t.Context(), p.table, []keys.Key{parcelKey("1"), parcelKey("2")}))(t)
	ours, others := 0, 0
	router := expect.Value(stream.New(p.table, nil,
		stream.On(p.parcels, func(context.Context, stream.Change[parcel]) error { ours++; return nil }),
		stream.OnOther(func(context.Context, stream.Change[table.Item]) error { others++; return nil })))(t)
	for i, id := range []string{"1", "2"} {
		key := expect.Value(p.table.IndexKey("", parcelKey(id)))(t)
		event := fmt.Sprintf(`{"Records":[{"eventID":"%d","eventName":"INSERT","eventSource":"aws:dynamodb",
			"eventSourceARN":"arn:aws:dynamodb:us-east-1:1:table/%s/stream/1970-01-01T00:00:00.000",
			"dynamodb":{"SequenceNumber":"%d","Keys":%s,"NewImage":%s}}]}`,
			i, p.table.Schema().Name, i, item.JSON(key), item.JSON(items[parcelKey(id)]))
		expect.OK(t, expect.Value(router.Handle(t.Context(), json.RawMessage(event)))(t).Err)
	}
	expect.Equal(t, "changes", [2]int{ours, others}, [2]int{1, 1})
	report := expect.Value(backfill.Job{Name: "all", Table: p.table, Entities: []backfill.Entity{p.parcels}}.Run(t.Context()))(t)
	expect.Equal(t, "complete", report.Complete(), true)
	expect.Equal(t, "matched", report.Matched, 1)
}

// A number that another program counts is no time.
func TestSharedVersionThatCounts(t *testing.T) {
	t.Parallel()
	p := newPost(t, sharedParcel())
	counted := expect.Value(repo.New(p.table, repo.Entity[dated]{
		Type: "Dated", Version: "updated", Key: func(d dated) keys.Key { return parcelKey(d.ID) }, Shared: &repo.Shared[dated]{},
	}))(t)
	expect.OK(t, counted.Create(t.Context(), &dated{parcel: parcel{ID: "1"}}))
	p.theirs("1", table.Item{"updated": numeral("7")})
	expect.Err(t, expect.ErrOf(counted.Update(t.Context(), parcelKey("1"), func(d *dated) error { d.Weight++; return nil })), table.ErrInvalid)
	expect.Equal(t, "as it was", p.stored(parcelKey("1"))["updated"], is(numeral("7")))
}

// What is not there any more, or is of another type by then, is not written.
func TestSharedMeetsOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		theirs func(p *post)
		want   error
	}{
		"deleted":            {func(p *post) { expect.OK(p, p.table.Do(p.Context(), table.Delete(parcelKey("1")))) }, table.ErrNotFound},
		"expired":            {func(p *post) { p.theirs("1", table.Item{"expires": numeral("1")}) }, table.ErrNotFound},
		"of another type":    {func(p *post) { p.theirs("1", table.Item{"_type": text("Box")}) }, table.ErrWrongType},
		"of another version": {func(p *post) { p.theirs("1", table.Item{"__edb_v__": text("2")}) }, table.ErrWrongType},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t, sharedParcel())
			expect.OK(t, p.parcels.Create(t.Context(), &parcel{ID: "1", Weight: 2}))
			runs := 0
			_, err := p.parcels.Update(t.Context(), parcelKey("1"), func(v *parcel) error {
				if runs++; runs == 1 {
					test.theirs(p)
				}
				v.Weight++
				return nil
			})
			expect.Err(t, err, test.want)
			if stored := p.stored(parcelKey("1")); len(stored) > 0 {
				expect.Equal(t, "weight", stored["weight"], is(numeral("2")))
			}
		})
	}
}

func TestSharedConstants(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPost(t, sharedParcel())
	expect.OK(t, p.parcels.Create(ctx, &parcel{ID: "1", Mail: "a@x"}))
	expect.Equal(t, "created", p.stored(parcelKey("1"))["__edb_v__"], is(text("1")))
	p.theirs("1", nil, "__edb_v__")
	q := table.Query{PK: parcelKey("1").PK}
	expect.Equal(t, "without one", len(expect.Value(p.parcels.Query(ctx, q))(t).Items), 1)
	expect.Equal(t, "refreshed", expect.Value(p.parcels.Refresh(ctx, parcelKey("1")))(t), true)
	expect.Equal(t, "refreshed again", expect.Value(p.parcels.Refresh(ctx, parcelKey("1")))(t), false)
	expect.Equal(t, "refreshed", p.stored(parcelKey("1"))["__edb_v__"], is(text("1")))
	p.theirs("1", nil, "__edb_v__")
	expect.OK(t, expect.ErrOf(p.parcels.Update(ctx, parcelKey("1"), func(v *parcel) error { v.Weight = 1; return nil })))
	expect.Equal(t, "updated", p.stored(parcelKey("1"))["__edb_v__"], is(text("1")))

	p.theirs("1", table.Item{"__edb_v__": text("2")})
	of2 := sharedParcel()
	of2.Shared.Constants = map[string]string{"__edb_v__": "2"}
	second := expect.Value(repo.New(p.table, of2))(t)
	expect.Equal(t, "the weight of the other version", expect.Value(second.Get(ctx, parcelKey("1")))(t).Weight, 1)
	before := p.stored(parcelKey("1"))
	var all []parcel
	for name, err := range map[string]error{
		"Get":       expect.ErrOf(p.parcels.Get(ctx, parcelKey("1"))),
		"BatchGet":  expect.ErrOf(p.parcels.BatchGet(ctx, []keys.Key{parcelKey("1")})),
		"Query":     expect.ErrOf(p.parcels.Query(ctx, q)),
		"index":     expect.ErrOf(p.parcels.Query(ctx, table.Query{Index: "mail", PK: "a@x"})),
		"Collect":   repo.Collect(ctx, p.table, q, p.parcels.AppendTo(&all)),
		"Update":    expect.ErrOf(p.parcels.Update(ctx, parcelKey("1"), func(v *parcel) error { v.Weight++; return nil })),
		"Save":      p.parcels.Save(ctx, &parcel{ID: "1"}),
		"Delete":    p.parcels.Delete(ctx, parcelKey("1")),
		"DeleteAll": expect.ErrOf(p.parcels.DeleteAll(ctx, q, nil)),
		"Refresh":   expect.ErrOf(p.parcels.Refresh(ctx, parcelKey("1"))),
	} {
		if !errors.Is(err, table.ErrWrongType) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := p.parcels.Decode(expect.Value(table.Get[table.Item](ctx, p.table, parcelKey("1")))(t))
	expect.Err(t, err, table.ErrWrongType)
	expect.Equal(t, "untouched", p.stored(parcelKey("1")), before)
	expect.OK(t, repo.Collect(ctx, p.table, q, p.parcels.AppendTo(&all), repo.IgnoreOther()))
	expect.Equal(t, "passed over", len(all), 0)
}

func TestSharedVersion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPost(t, sharedParcel())
	at := p.now.UnixMilli()
	milliseconds := expect.Value(repo.New(p.table, repo.Entity[dated]{
		Type: "Dated", Version: "updated", Key: func(d dated) keys.Key { return parcelKey(d.ID) }, Shared: &repo.Shared[dated]{},
	}))(t)
	texts := expect.Value(repo.New(p.table, repo.Entity[texted]{
		Type: "Texted", Version: "_md", Key: func(d texted) keys.Key { return parcelKey(d.ID) }, Shared: &repo.Shared[texted]{},
	}))(t)
	iso := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	d, x := dated{parcel: parcel{ID: "d"}}, texted{parcel: parcel{ID: "x"}}
	expect.OK(t, milliseconds.Create(ctx, &d))
	expect.OK(t, texts.Create(ctx, &x))
	expect.Equal(t, "created", []any{d.Updated, x.Updated}, []any{at, "2026-01-02T03:04:05.000Z"})
	update := func(what string, want int64) {
		t.Helper()
		d = expect.Value(milliseconds.Update(ctx, parcelKey("d"), func(d *dated) error { d.Weight++; return nil }))(t)
		x = expect.Value(texts.Update(ctx, parcelKey("x"), func(x *texted) error { x.Weight++; return nil }))(t)
		expect.Equal(t, what, []any{d.Updated, x.Updated}, []any{want, iso(want)})
	}
	const day = 24 * 60 * 60 * 1000
	for _, step := range []struct{ stored, want int64 }{{at - 5, at}, {at, at + 1}, {at + day - 1, at + day}, {at + day, at}} {
		p.theirs("d", table.Item{"updated": numeral(strconv.FormatInt(step.stored, 10))})
		p.theirs("x", table.Item{"_md": text(iso(step.stored))})
		update("next", step.want)
	}
	p.theirs("d", nil, "updated")
	p.theirs("x", nil, "_md")
	update("of none", at)
	p.theirs("d", table.Item{"updated": &types.AttributeValueMemberNULL{Value: true}})
	p.theirs("x", table.Item{"_md": text("yesterday")})
	update("of NULL, and of no time", at)

	stale, late := d, x
	d.Weight, x.Weight = 10, 10
	expect.OK(t, milliseconds.Save(ctx, &d))
	expect.OK(t, texts.Save(ctx, &x))
	expect.Equal(t, "saved", []any{d.Updated, x.Updated}, []any{at + 1, iso(at + 1)})
	expect.Err(t, milliseconds.Save(ctx, &stale), table.ErrStale)
	expect.Err(t, texts.Save(ctx, &late), table.ErrStale)
	// Another program that gives the same time is noticed all the same.
	runs := 0
	d = expect.Value(milliseconds.Update(ctx, parcelKey("d"), func(d *dated) error {
		if runs++; runs == 1 {
			p.theirs("d", table.Item{"weight": numeral("20")})
		}
		d.Weight++
		return nil
	}))(t)
	expect.Equal(t, "weight", d.Weight, 21)
}

func TestSharedUnique(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPost(t, sharedParcel())
	form := func(mail string) map[string]string {
		unique := expect.Value(p.table.IndexKey("", uniqueKey(mail)))(t)
		unique["_type"] = text("_Unique")
		return inJSON(unique)
	}
	none := map[string]string{}
	change := func(id, mail string) error {
		return expect.ErrOf(p.parcels.Update(ctx, parcelKey(id), func(v *parcel) error { v.Mail = mail; return nil }))
	}
	expect.OK(t, p.parcels.Create(ctx, &parcel{ID: "1", Mail: "a@x"}))
	expect.Equal(t, "created", p.stored(uniqueKey("a@x")), form("a@x"))
	expect.Err(t, p.parcels.Create(ctx, &parcel{ID: "2", Mail: "a@x"}), table.ErrExists)
	expect.OK(t, p.parcels.Create(ctx, &parcel{ID: "2", Mail: "b@x"}))
	expect.Err(t, change("2", "a@x"), table.ErrExists)
	expect.OK(t, change("1", "c@x"))
	expect.Equal(t, "moved", []map[string]string{p.stored(uniqueKey("a@x")), p.stored(uniqueKey("c@x"))}, []map[string]string{none, form("c@x")})
	expect.OK(t, change("2", "a@x"))
	expect.OK(t, change("1", ""))
	expect.Equal(t, "given up", p.stored(uniqueKey("c@x")), none)

	// What the other program has made is the entity's, and nothing has to be written for it.
	expect.OK(t, p.table.Transact(ctx,
		table.Put(parcelKey("3"), table.Item{
			"id": text("3"), "mail": text("d@x"), "mailPK": text("d@x"), "_type": text("Parcel"), "weight": numeral("1"), "__edb_v__": text("1"),
		}),
		table.Put(uniqueKey("d@x"), table.Item{"_type": text("_Unique")})))
	expect.Equal(t, "adopted", expect.Value(p.parcels.Refresh(ctx, parcelKey("3")))(t), false)
	expect.OK(t, change("3", "e@x"))
	expect.Equal(t, "theirs", p.stored(uniqueKey("d@x")), none)

	// An item of another form is none, and one that is missing needs no deletion.
	expect.OK(t, p.table.Do(ctx, table.Put(uniqueKey("e@x"), table.Item{"_type": text("Invoice")})))
	expect.OK(t, change("3", "f@x"))
	expect.Equal(t, "of another form", p.stored(uniqueKey("e@x"))["_type"], is(text("Invoice")))
	expect.OK(t, p.table.Do(ctx, table.Delete(uniqueKey("f@x"))))
	expect.OK(t, p.parcels.Delete(ctx, parcelKey("3")))
	expect.OK(t, p.parcels.Delete(ctx, parcelKey("2")))
	expect.Equal(t, "deleted", []map[string]string{p.stored(uniqueKey("a@x")), p.stored(parcelKey("2")), p.stored(parcelKey("3"))}, []map[string]string{none, none, none})
}

// No revision says whose write is stored.
func TestSharedLostResponse(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), parcels, nil)
	r := expect.Value(repo.New(tbl, repo.Entity[parcel]{Type: "Parcel", Key: func(v parcel) keys.Key { return parcelKey(v.ID) }, Shared: &repo.Shared[parcel]{}}))(t)
	expect.OK(t, r.Create(t.Context(), &parcel{ID: "1", Weight: 1}))
	runs := 0
	update := func(v *parcel) error { runs++; v.Weight++; return nil }
	faults.Next("UpdateItem", tabletest.DropResponse())
	expect.Err(t, expect.ErrOf(r.Update(t.Context(), parcelKey("1"), update)), table.ErrOutcomeUnknown)
	faults.Next("UpdateItem", tabletest.DropRequest())
	expect.OK(t, expect.ErrOf(r.Update(t.Context(), parcelKey("1"), update)))
	expect.Equal(t, "runs", runs, 2)
	expect.Equal(t, "weight", expect.Value(r.Get(t.Context(), parcelKey("1")))(t).Weight, 3)
	faults.Next("DeleteItem", tabletest.DropResponse())
	expect.Err(t, r.Delete(t.Context(), parcelKey("1")), table.ErrOutcomeUnknown)
}

func TestSharedRefuses(t *testing.T) {
	t.Parallel()
	p := newPost(t, sharedParcel())
	v := &parcel{ID: "1"}
	patch := repo.Patch{Set: map[string]any{"weight": 3}}
	sent := len(p.faults.Requests())
	for name, err := range map[string]error{
		"PutOps":    p.table.Transact(t.Context(), p.parcels.PutOps(v)...),
		"UpdateOps": p.table.Transact(t.Context(), p.parcels.UpdateOps(*v, v)...),
		"DeleteOps": p.table.Transact(t.Context(), p.parcels.DeleteOps(*v)...),
		"PatchOps":  p.table.Transact(t.Context(), p.parcels.PatchOps(parcelKey("1"), patch)...),
		"Patch":     expect.ErrOf(p.parcels.Patch(t.Context(), parcelKey("1"), patch)),
		"Upsert":    expect.ErrOf(p.parcels.Upsert(t.Context(), *v, patch)),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(e *repo.Entity[parcel]){
		"Copies":       func(e *repo.Entity[parcel]) { e.Version, e.Copies = "note", []repo.Copy[parcel]{{Key: e.Key}} },
		"Claims":       func(e *repo.Entity[parcel]) { e.Claims = func(parcel) []keys.Key { return nil } },
		"Counters":     func(e *repo.Entity[parcel]) { e.Counters = []repo.Counter[parcel]{{Key: e.Key}} },
		"Counted":      func(e *repo.Entity[parcel]) { e.Counted = []string{"weight"} },
		"OldestShape":  func(e *repo.Entity[parcel]) { e.OldestShape = 1 },
		"FormerCopies": func(e *repo.Entity[parcel]) { e.FormerCopies = []func(parcel) keys.Key{e.Key} },
		"a field":      func(e *repo.Entity[parcel]) { e.Shared.Constants = map[string]string{"mail": "x"} },
		"a key":        func(e *repo.Entity[parcel]) { e.Shared.Constants = map[string]string{"mailPK": "x"} },
		"the type":     func(e *repo.Entity[parcel]) { e.Shared.Constants = map[string]string{"_type": "x"} },
		"empty":        func(e *repo.Entity[parcel]) { e.Shared.Constants = map[string]string{"__edb_v__": ""} },
		"UniqueType":   func(e *repo.Entity[parcel]) { e.Shared.UniqueType = "Parcel" },
	} {
		e := sharedParcel()
		change(&e)
		if _, err := repo.New(p.table, e); !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "Shared") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := repo.New(p.table, repo.Entity[map[string]any]{Type: "Parcel", Key: func(map[string]any) keys.Key { return parcelKey("1") }, Shared: &repo.Shared[map[string]any]{}})
	expect.Err(t, err, table.ErrInvalid)
	expect.Equal(t, "requests", len(p.faults.Requests()), sent)
}
