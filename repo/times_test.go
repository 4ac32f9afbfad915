package repo_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// login is what an authentication service stores, too.
type login struct {
	ID      string    `dynamodbav:"id"`
	User    string    `dynamodbav:"user"`
	Expires time.Time `dynamodbav:"expires,unixtime"`
	Seen    time.Time `dynamodbav:"seen,unixtime"`
	Version int64     `dynamodbav:"version"`
}

func loginKey(id string) keys.Key { return keys.Key{PK: "LOGINS", SK: keys.SK("LOGIN#" + id)} }

var (
	logins      = schema.Table{TypeAttribute: "type", TTLAttribute: "expires"}
	loginEntity = repo.Entity[login]{Type: "LOGIN", Version: "version", Key: func(l login) keys.Key { return loginKey(l.ID) }}
)

// bySDK has the SDK read the responses, since a middleware may change them.
func bySDK(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
}

// theirLogin has the other program store an item.
func theirLogin(t *testing.T, tbl *table.Table, id string, attributes table.Item) table.Item {
	t.Helper()
	all := table.Item{"type": text("LOGIN"), "id": text(id), "user": text("ana"), "version": numeral("1")}
	for name, value := range attributes {
		all[name] = value
	}
	expect.OK(t, tbl.Do(t.Context(), table.Put(loginKey(id), all)))
	return storedItem(t, tbl, loginKey(id))
}

// An expiry with a fraction stays as it is stored until it is changed, to whole seconds.
func TestExpiriesWithFractions(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]func(*dynamodb.Options){"directly": nil, "by the SDK": {bySDK}} {
		tbl := tabletest.NewWith(t, tabletest.Client(t, options...), logins, nil)
		r := newRepo(t, tbl, loginEntity)
		theirLogin(t, tbl, "1", table.Item{"expires": numeral("1893456000.6"), "seen": numeral("1767225600")})
		v := expect.Value(r.Get(t.Context(), loginKey("1")))(t)
		expect.Equal(t, name+": read", v.Expires.Unix(), 1893456000)
		v.User = "bo"
		expect.OK(t, r.Save(t.Context(), &v))
		stored := inJSON(storedItem(t, tbl, loginKey("1")))
		expect.Equal(t, name+": unchanged", stored["expires"], is(numeral("1893456000.6")))
		v.Expires = v.Expires.Add(time.Minute)
		expect.OK(t, r.Save(t.Context(), &v))
		expect.Equal(t, name+": changed", inJSON(storedItem(t, tbl, loginKey("1")))["expires"], is(numeral("1893456060")))
		expect.OK(t, r.Delete(t.Context(), loginKey("1")))
	}
}

// The zero time is not stored, and one that another program or an earlier release has stored, as
// a time in the year 1, goes with the next change, or a refresh.
func TestZeroTimesAreRemoved(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, logins, nil)
	r := newRepo(t, tbl, loginEntity)
	plain := newRepo(t, tbl, repo.Entity[login]{Type: "LOGIN", Key: loginEntity.Key})
	zero := table.Item{"expires": numeral("-62135596800"), "seen": numeral("-62135596800")}
	for name, write := range map[string]func(v *login) error{
		"Create": func(v *login) error {
			return errors.Join(r.Delete(t.Context(), loginKey(v.ID)), r.Create(t.Context(), &login{ID: v.ID}))
		},
		"Save":                 func(v *login) error { v.User = "bo"; return r.Save(t.Context(), v) },
		"Save without version": func(v *login) error { return plain.Save(t.Context(), v) },
		"PutOps":               func(v *login) error { return tbl.Transact(t.Context(), plain.PutOps(v)...) },
		"UpdateOps":            func(v *login) error { return tbl.Transact(t.Context(), r.UpdateOps(*v, v)...) },
		"Refresh":              func(v *login) error { return expect.ErrOf(r.Refresh(t.Context(), loginKey(v.ID))) },
		"Patch": func(v *login) error {
			_, err := r.Patch(t.Context(), loginKey(v.ID), repo.Patch{Set: map[string]any{"seen": time.Time{}}})
			return errors.Join(err, expect.ErrOf(r.Refresh(t.Context(), loginKey(v.ID))))
		},
		"Update": func(v *login) error {
			after, err := r.Update(t.Context(), loginKey(v.ID), func(v *login) error { v.User = "bo"; return nil })
			expect.Equal(t, "updated", after.Seen.IsZero(), true)
			return err
		},
	} {
		before := theirLogin(t, tbl, name, zero)
		v := expect.Value(r.Get(t.Context(), loginKey(name)))(t)
		expect.Equal(t, name+": read as zero", v.Seen.IsZero() && v.Expires.IsZero(), true)
		expect.OK(t, expect.ErrOf(r.Update(t.Context(), loginKey(name), func(*login) error { return nil })))
		expect.Equal(t, name+": no change", item.SameItem(before, storedItem(t, tbl, loginKey(name))), true)
		expect.OK(t, write(&v))
		stored := storedItem(t, tbl, loginKey(name))
		if stored["expires"] != nil || stored["seen"] != nil {
			t.Errorf("%s: %v", name, inJSON(stored))
		}
	}
}

// Milliseconds in a field of seconds do not decode. The error names the type for them. A write
// refuses them, too, whatever the field is.
func TestMillisecondsInSeconds(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]func(*dynamodb.Options){"directly": nil, "by the SDK": {bySDK}} {
		tbl := tabletest.NewWith(t, tabletest.Client(t, options...), logins, nil)
		r := newRepo(t, tbl, loginEntity)
		for _, attribute := range []string{"expires", "seen"} {
			theirLogin(t, tbl, "1", nil)
			before := theirLogin(t, tbl, "2", table.Item{attribute: numeral("1767225600000")})
			q := table.Query{PK: "LOGINS"}
			for call, err := range map[string]error{
				"Get":    expect.ErrOf(r.Get(t.Context(), loginKey("2"))),
				"Query":  expect.ErrOf(r.Query(t.Context(), q)),
				"Update": expect.ErrOf(r.Update(t.Context(), loginKey("2"), func(v *login) error { v.User = "bo"; return nil })),
				"Save":   r.Save(t.Context(), &login{ID: "2", Version: 1}),
			} {
				misfit, ok := errors.AsType[*item.Error](err)
				if !ok || misfit.Path != attribute || !strings.Contains(err.Error(), "table.UnixMilli") {
					t.Errorf("%s, %s of %q: %v", name, call, attribute, err)
				}
			}
			expect.Value(r.Get(t.Context(), loginKey("1")))(t)
			expect.Equal(t, "stored", item.SameItem(before, storedItem(t, tbl, loginKey("2"))), true)
		}
		late := time.UnixMilli(1767225600000 * 1000)
		for call, err := range map[string]error{
			"Create": r.Create(t.Context(), &login{ID: "3", Expires: late}),
			"Update": expect.ErrOf(r.Update(t.Context(), loginKey("1"), func(v *login) error { v.Seen = late; return nil })),
		} {
			if !errors.Is(err, table.ErrInvalid) {
				t.Errorf("%s of a late time: %v", call, err)
			}
		}
	}
}

// An upgrade is given an item as it is stored, and repairs what T does not decode.
func TestUpgradeOfWhatDoesNotDecode(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]func(*dynamodb.Options){"directly": nil, "by the SDK": {bySDK}} {
		tbl := tabletest.NewWith(t, tabletest.Client(t, options...), schema.Table{TypeAttribute: "type", Shape: "shape"}, nil)
		e := loginEntity
		e.Upgrades = []repo.Upgrade{{Writes: []string{"seen"}, Change: func(stored table.Item) error {
			if n, ok := item.Floor(item.ValueOf(stored["seen"]).Text); ok && n > 1e11 {
				stored["seen"] = number(int(n / 1000))
			}
			return nil
		}}}
		r := newRepo(t, tbl, e)
		theirLogin(t, tbl, "1", table.Item{"seen": numeral("1767225600000")})
		v := expect.Value(r.Get(t.Context(), loginKey("1")))(t)
		expect.Equal(t, name+": read", v.Seen.Unix(), 1767225600)
		expect.OK(t, expect.ErrOf(r.Update(t.Context(), loginKey("1"), func(v *login) error { v.User = "bo"; return nil })))
		expect.Equal(t, name+": repaired", inJSON(storedItem(t, tbl, loginKey("1")))["seen"], is(numeral("1767225600")))
	}
}

// revisedLogin is a login with a revision.
type revisedLogin struct {
	ID   string    `dynamodbav:"id"`
	Seen time.Time `dynamodbav:"seen,unixtime"`
	Rev  string    `dynamodbav:"rev"`
}

// An item that does not decode is deleted if it is all that its entity has, and as it was read.
func TestDeleteOfWhatDoesNotDecode(t *testing.T) {
	t.Parallel()
	key := func(v revisedLogin) keys.Key { return loginKey(v.ID) }
	for name, e := range map[string]repo.Entity[revisedLogin]{
		"revision":               {Version: "rev"},
		"no version":             {},
		"shared":                 {Shared: &repo.Shared[revisedLogin]{}},
		"shared, with a version": {Version: "rev", Shared: &repo.Shared[revisedLogin]{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{TypeAttribute: "type"}, nil)
			e.Type, e.Key = "LOGIN", key
			r := newRepo(t, tbl, e)
			q := table.Query{PK: "LOGINS"}
			far := table.Item{"seen": numeral("1767225600000"), "rev": text("2026-01-02T03:04:05.000Z")}
			theirLogin(t, tbl, "1", far)
			expect.OK(t, r.Delete(t.Context(), loginKey("1")))
			theirLogin(t, tbl, "2", far)
			theirLogin(t, tbl, "3", table.Item{"seen": numeral("1767225600000")})
			expect.Equal(t, "deleted", expect.Value(r.DeleteAll(t.Context(), q, nil))(t).Items, 2)
			rows := expect.Value(table.QueryPage[table.Item](t.Context(), tbl, q))(t)
			expect.Equal(t, "left", len(rows.Items), 0)
			expect.OK(t, r.Delete(t.Context(), loginKey("1")))

			theirLogin(t, tbl, "4", table.Item{"seen": numeral("1767225600000"), "type": text("OTHER")})
			expect.Err(t, r.Delete(t.Context(), loginKey("4")), table.ErrWrongType)
			if name == "no version" {
				return // it is deleted without a read
			}
			theirLogin(t, tbl, "5", far)
			faults.Next("DeleteItem", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				expect.OK(t, tbl.Do(t.Context(), table.Patch(loginKey("5"), table.Item{"rev": text("2026-02-02T03:04:05.000Z")})))
				return next.RoundTrip(r)
			})
			sent := len(faults.Requests("DeleteItem"))
			expect.OK(t, r.Delete(t.Context(), loginKey("5")))
			expect.Equal(t, "deletes of what another writer has changed", len(faults.Requests("DeleteItem"))-sent, 2)
		})
	}

	tbl := tabletest.New(t, schema.Table{TypeAttribute: "type"}, nil)
	other := func(v revisedLogin) keys.Key { return keys.Key{PK: "OTHER", SK: keys.SK(v.ID)} }
	for name, e := range map[string]repo.Entity[revisedLogin]{
		"Copies":       {Version: "rev", Copies: []repo.Copy[revisedLogin]{{Key: other}}},
		"FormerCopies": {Version: "rev", FormerCopies: []func(revisedLogin) keys.Key{other}},
		"Claims":       {Version: "rev", Claims: func(v revisedLogin) []keys.Key { return []keys.Key{other(v)} }},
		"Counters": {Version: "rev", Counters: []repo.Counter[revisedLogin]{{
			Name: "logins", Key: func(revisedLogin) keys.Key { return keys.Key{PK: "COUNT", SK: "COUNT"} }, Owner: "COUNT", Attribute: "logins", Alone: true,
		}}},
		"Unique": {Shared: &repo.Shared[revisedLogin]{Unique: func(v revisedLogin) []keys.Key { return []keys.Key{other(v)} }}},
	} {
		e.Type, e.Key = "LOGIN", key
		r := newRepo(t, tbl, e)
		before := theirLogin(t, tbl, name, table.Item{"seen": numeral("1767225600000")})
		err := r.Delete(t.Context(), loginKey(name))
		if _, misfit := errors.AsType[*item.Error](err); !misfit || !strings.Contains(err.Error(), "Copies, Claims, Counters or Unique") {
			t.Errorf("%s: %v", name, err)
		}
		expect.Equal(t, name+": stored", item.SameItem(before, storedItem(t, tbl, loginKey(name))), true)
	}
}

// tagged reads sets into fields without the tag options for them.
type tagged struct {
	ID      string         `dynamodbav:"id"`
	Texts   []string       `dynamodbav:"texts"`
	Numbers []int          `dynamodbav:"numbers"`
	Blobs   []blob         `dynamodbav:"blobs"`
	Any     any            `dynamodbav:"any"`
	In      inTagged       `dynamodbav:"in"`
	List    []inTagged     `dynamodbav:"list"`
	Set     []string       `dynamodbav:"set,stringset"`
	Free    map[string]any `dynamodbav:"free"`
	Rev     string         `dynamodbav:"rev"`
}

type (
	inTagged struct {
		Texts []string `dynamodbav:"texts"`
		N     int      `dynamodbav:"n"`
	}
	blob []byte
)

// A set that was read is written as a set, or refused.
func TestSetsStaySets(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TypeAttribute: "type"}, nil)
	r := newRepo(t, tbl, repo.Entity[tagged]{Type: "LOGIN", Version: "rev", Key: func(v tagged) keys.Key { return loginKey(v.ID) }})
	texts := func(all ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: all} }
	inner := func(set types.AttributeValue, n string) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: table.Item{"texts": set, "n": numeral(n), "theirs": texts("x")}}
	}
	stored := table.Item{
		"rev": text("r"), "version": text("theirs"), "texts": texts("a", "b"), "numbers": &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"blobs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}}, "any": texts("a"), "set": texts("a"), "in": inner(texts("a"), "1"),
		"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{inner(texts("a"), "1")}},
		"free": &types.AttributeValueMemberM{Value: table.Item{"set": texts("a")}},
	}
	for name, tt := range map[string]struct {
		change    func(v *tagged)
		attribute string
		want      types.AttributeValue // nil for none
		refused   bool
	}{
		"texts":           {func(v *tagged) { v.Texts = []string{"b", "c"} }, "texts", texts("b", "c"), false},
		"numbers":         {func(v *tagged) { v.Numbers = append(v.Numbers, 3) }, "numbers", &types.AttributeValueMemberNS{Value: []string{"1", "2", "3"}}, false},
		"bytes":           {func(v *tagged) { v.Blobs = []blob{{2}} }, "blobs", &types.AttributeValueMemberBS{Value: [][]byte{{2}}}, false},
		"an interface":    {func(v *tagged) { v.Any = []string{"b"} }, "any", texts("b"), false},
		"a member":        {func(v *tagged) { v.In.Texts = []string{"b"} }, "in", inner(texts("b"), "1"), false},
		"another member":  {func(v *tagged) { v.In.N = 2 }, "in", inner(texts("a"), "2"), false},
		"of a map":        {func(v *tagged) { v.Free["set"] = []string{"b"} }, "free", &types.AttributeValueMemberM{Value: table.Item{"set": texts("b")}}, false},
		"nil":             {func(v *tagged) { v.Texts = nil }, "texts", nil, false},
		"empty":           {func(v *tagged) { v.Texts = []string{} }, "texts", nil, false},
		"empty, tagged":   {func(v *tagged) { v.Set = nil }, "set", nil, false},
		"an empty member": {func(v *tagged) { v.In.Texts = nil }, "in", &types.AttributeValueMemberM{Value: table.Item{"n": numeral("1"), "theirs": texts("x")}}, false},
		"no change":       {func(v *tagged) { v.ID += "" }, "texts", texts("a", "b"), false},
		"a duplicate":     {func(v *tagged) { v.Texts = []string{"c", "c"} }, "texts", nil, true},
		"another kind":    {func(v *tagged) { v.Any = []any{"a", 1} }, "any", nil, true},
		"within a list":   {func(v *tagged) { v.List[0].N = 2 }, "list", nil, true},
	} {
		for call, write := range map[string]func() error{
			"Update": func() error {
				return expect.ErrOf(r.Update(t.Context(), loginKey(name), func(v *tagged) error { tt.change(v); return nil }))
			},
			"Save": func() error {
				v := expect.Value(r.Get(t.Context(), loginKey(name)))(t)
				tt.change(&v)
				return r.Save(t.Context(), &v)
			},
		} {
			before := theirLogin(t, tbl, name, stored)
			err := write()
			after := storedItem(t, tbl, loginKey(name))
			if tt.refused {
				if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), `"`+tt.attribute+`"`) || !item.SameItem(before, after) {
					t.Errorf("%s, %s: %v", name, call, err)
				}
				continue
			}
			expect.OK(t, err)
			if (tt.want == nil) != (after[tt.attribute] == nil) || tt.want != nil && !item.EqualUnordered(tt.want, after[tt.attribute]) {
				t.Errorf("%s, %s: %v", name, call, inJSON(after)[tt.attribute])
			}
			if tt.want == nil {
				before[tt.attribute] = nil
			}
			for other, value := range before {
				if !slices.Contains([]string{tt.attribute, "rev"}, other) && !item.EqualUnordered(value, after[other]) {
					t.Errorf("%s, %s: %q has become %v", name, call, other, inJSON(after)[other])
				}
			}
		}
	}
}

// So is one that is stored in another spelling, which the next change ends.
func TestSetsInAnotherSpelling(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TypeAttribute: "type"}, nil)
	r := newRepo(t, tbl, repo.Entity[tagged]{Type: "LOGIN", Version: "rev", Key: func(v tagged) keys.Key { return loginKey(v.ID) }})
	for name, change := range map[string]func(v *tagged){
		"it changes":      func(v *tagged) { v.Texts = append(v.Texts, "c") },
		"another changes": func(v *tagged) { v.Numbers = []int{1} },
	} {
		theirLogin(t, tbl, name, table.Item{"rev": text("r"), "Texts": &types.AttributeValueMemberSS{Value: []string{"a"}}})
		v := expect.Value(r.Update(t.Context(), loginKey(name), func(v *tagged) error { change(v); return nil }))(t)
		stored := storedItem(t, tbl, loginKey(name))
		if set := item.ValueOf(stored["texts"]); set.Kind != item.SS || len(set.Texts) != len(v.Texts) || stored["Texts"] != nil {
			t.Errorf("%s: %v", name, inJSON(stored))
		}
	}
}

// stampedLogin and textedLogin have the time of the last write.
type (
	stampedLogin struct {
		ID      string          `dynamodbav:"id"`
		User    string          `dynamodbav:"user"`
		Updated table.UnixMilli `dynamodbav:"at"`
	}
	textedLogin struct {
		ID      string        `dynamodbav:"id"`
		User    string        `dynamodbav:"user"`
		Updated table.ISOTime `dynamodbav:"at"`
	}
)

// A time of package table is a version that is a time, whatever text or number is stored for it.
func TestTimesAsVersions(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tbl := tabletest.NewWith(t, tabletest.Client(t), schema.Table{TypeAttribute: "type"}, &table.Options{Now: func() time.Time { return now }})
	numbers := newRepo(t, tbl, repo.Entity[stampedLogin]{
		Type: "LOGIN", Version: "at", Key: func(v stampedLogin) keys.Key { return loginKey(v.ID) }, Shared: &repo.Shared[stampedLogin]{},
	})
	texts := newRepo(t, tbl, repo.Entity[textedLogin]{
		Type: "LOGIN", Version: "at", Key: func(v textedLogin) keys.Key { return loginKey(v.ID) }, Shared: &repo.Shared[textedLogin]{},
	})
	n, x := stampedLogin{ID: "n"}, textedLogin{ID: "x"}
	expect.OK(t, errors.Join(numbers.Create(ctx, &n), texts.Create(ctx, &x)))
	at := func(id string) string { return inJSON(storedItem(t, tbl, loginKey(id)))["at"] }
	expect.Equal(t, "created", []any{n.Updated.Time, x.Updated.Time, at("n"), at("x")},
		[]any{now, now, is(numeral("1767323045000")), is(text("2026-01-02T03:04:05.000Z"))})
	n.User, x.User = "ana", "ana"
	stale := x
	expect.OK(t, errors.Join(numbers.Save(ctx, &n), texts.Save(ctx, &x)))
	expect.Equal(t, "saved", []any{n.Updated.Time, at("n"), at("x")},
		[]any{now.Add(time.Millisecond), is(numeral("1767323045001")), is(text("2026-01-02T03:04:05.001Z"))})
	expect.Err(t, texts.Save(ctx, &stale), table.ErrStale)

	for _, theirs := range []string{"2026-01-02T03:04:06Z", "2026-01-02T00:04:06.5-03:00", "2026-01-02T03:04:06.0001Z"} {
		// Also with a field in another spelling, which is read in another way.
		for _, attribute := range []string{"theirs", "User"} {
			expect.OK(t, tbl.Do(ctx, table.Patch(loginKey("x"), table.Item{"at": text(theirs), attribute: text("x")})))
			x = expect.Value(texts.Get(ctx, loginKey("x")))(t)
			x.User += "!"
			expect.OK(t, texts.Save(ctx, &x))
			expect.Equal(t, theirs, x.Updated.After(now) && at("x") == is(text(x.Updated.String())), true)
		}
	}
	y := expect.Value(numbers.Update(ctx, loginKey("n"), func(v *stampedLogin) error { v.User = "bo"; return nil }))(t)
	expect.Equal(t, "updated", y.Updated.Time, now.Add(2*time.Millisecond))
	expect.OK(t, errors.Join(numbers.Delete(ctx, loginKey("n")), texts.Delete(ctx, loginKey("x"))))

	for name, err := range map[string]error{
		"milliseconds, not shared": repo.Declared(tbl, repo.Entity[stampedLogin]{Type: "LOGIN", Version: "at", Key: func(stampedLogin) keys.Key { return loginKey("") }}),
		"text, not shared":         repo.Declared(tbl, repo.Entity[textedLogin]{Type: "LOGIN", Version: "at", Key: func(textedLogin) keys.Key { return loginKey("") }}),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Times of package table are fields of an entity, in its key, in a filter, and left out if zero.
func TestTimesAsFields(t *testing.T) {
	t.Parallel()
	type booking struct {
		ID      string           `dynamodbav:"id"`
		From    table.ISOTime    `dynamodbav:"from"`
		Created table.UnixMilli  `dynamodbav:"created"`
		Paid    *table.UnixMilli `dynamodbav:"paid,omitempty"`
		Rev     string           `dynamodbav:"rev"`
	}
	tbl := tabletest.New(t, schema.Table{TypeAttribute: "type"}, nil)
	r := newRepo(t, tbl, repo.Entity[booking]{Type: "BOOKING", Version: "rev", Key: func(b booking) keys.Key {
		return keys.Key{PK: "BOOKINGS", SK: keys.SK(b.From.String() + "#" + b.ID)}
	}})
	from := table.ISOTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	v := booking{ID: "1", From: from}
	expect.OK(t, r.Create(t.Context(), &v))
	key := keys.Key{PK: "BOOKINGS", SK: "2026-01-02T03:04:05.000Z#1"}
	stored := storedItem(t, tbl, key)
	expect.Equal(t, "zero times", []bool{stored["created"] == nil, stored["paid"] == nil}, []bool{true, true})
	v = expect.Value(r.Update(t.Context(), key, func(b *booking) error {
		b.Created, b.Paid = table.UnixMilli(from), &table.UnixMilli{Time: from.Add(time.Hour)}
		return nil
	}))(t)
	expect.Equal(t, "updated", expect.Value(r.Consistent().Get(t.Context(), key))(t), v)
	for condition, want := range map[string]int{"created = ? AND from >= ?": 1, "created <> ? AND from >= ?": 0} {
		q := table.Query{PK: "BOOKINGS", Filter: table.If(condition, v.Created, from)}
		expect.Equal(t, condition, len(expect.Value(r.Query(t.Context(), q))(t).Items), want)
	}
	patched := expect.Value(r.Patch(t.Context(), key, repo.Patch{Set: map[string]any{"created": table.UnixMilli{}}}))(t)
	expect.Equal(t, "patched", patched.Created.IsZero() && storedItem(t, tbl, key)["created"] == nil, true)
}
