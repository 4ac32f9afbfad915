package repo_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// issueState is a text with a type of its own.
type issueState string

// issue has a field of each kind that a patch treats in its own way.
type issue struct {
	Desk     string         `dynamodbav:"desk"`
	ID       string         `dynamodbav:"id"`
	Opened   time.Time      `dynamodbav:"opened,unixtime"`
	Title    string         `dynamodbav:"title"`
	State    issueState     `dynamodbav:"state"`
	Assignee string         `dynamodbav:"assignee,omitempty"`
	Closed   *time.Time     `dynamodbav:"closed,unixtime,omitempty"`
	Seats    uint8          `dynamodbav:"seats"`
	Votes    int64          `dynamodbav:"votes"`
	Weight   float64        `dynamodbav:"weight"`
	Nulls    *int           `dynamodbav:"nulls"`
	Watchers []string       `dynamodbav:"watchers,stringset,omitempty"`
	Place    spot           `dynamodbav:"place"`
	Free     map[string]any `dynamodbav:"free,omitempty"`
	Expiry   time.Time      `dynamodbav:"expiresAt,unixtime,omitempty"`
	Rev      string         `dynamodbav:"rev"`
}

type spot struct {
	Row int `dynamodbav:"row"`
}

func (i issue) key() keys.Key {
	return keys.Key{PK: keys.Prefix("DESK").PK(i.Desk), SK: keys.Prefix("ISSUE").SK(keys.Time(i.Opened), keys.Str(i.ID))}
}

var (
	issueEntity = repo.Entity[issue]{Type: "ISSUE", Version: "rev", Key: issue.key}
	openIssue   = issue{Desk: "d", ID: "1", Opened: time.Unix(1000, 0).UTC(), Title: "first", State: "open", Seats: 2}
)

// set and added are patches of one attribute.
func set(name string, value any) repo.Patch { return repo.Patch{Set: map[string]any{name: value}} }
func added(name string, by any) repo.Patch  { return repo.Patch{Add: map[string]any{name: by}} }

// A patch stores what an Update stores that gives the fields the same values, by one request.
func TestPatch(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	issues := newRepo(t, tbl, issueEntity)
	closed := time.Unix(5000, 7).UTC()
	for name, tt := range map[string]struct {
		patch repo.Patch
		same  func(*issue)
	}{
		"a text":                   {set("title", "second"), func(i *issue) { i.Title = "second" }},
		"a text for its own type":  {set("state", "closed"), func(i *issue) { i.State = "closed" }},
		"a value of its own type":  {set("state", issueState("closed")), func(i *issue) { i.State = "closed" }},
		"an empty one, left out":   {set("assignee", ""), func(i *issue) { i.Assignee = "" }},
		"an empty one, stored":     {set("title", ""), func(i *issue) { i.Title = "" }},
		"nil":                      {set("title", nil), func(i *issue) { i.Title = "" }},
		"nil for a pointer":        {set("closed", nil), func(i *issue) { i.Closed = nil }},
		"what a pointer points to": {set("closed", closed), func(i *issue) { i.Closed = &closed }},
		"a number":                 {set("weight", 3), func(i *issue) { i.Weight = 3 }},
		"a set":                    {set("watchers", []string{"ana", "bo"}), func(i *issue) { i.Watchers = []string{"ana", "bo"} }},
		"an empty set":             {set("watchers", []string{}), func(i *issue) { i.Watchers = []string{} }},
		"a struct":                 {set("place", spot{Row: 3}), func(i *issue) { i.Place.Row = 3 }},
		"a map for a struct":       {set("place", map[string]any{"row": 3}), func(i *issue) { i.Place.Row = 3 }},
		"a map":                    {set("free", map[string]any{"a.b": "c"}), func(i *issue) { i.Free = map[string]any{"a.b": "c"} }},
		"remove":                   {repo.Patch{Remove: []string{"assignee", "watchers"}}, func(i *issue) { i.Assignee, i.Watchers = "", nil }},
		"add":                      {added("votes", 2), func(i *issue) { i.Votes += 2 }},
		"add a fraction":           {added("weight", 0.5), func(i *issue) { i.Weight += 0.5 }},
		"subtract":                 {added("seats", -2), func(i *issue) { i.Seats -= 2 }},
		"add to a set":             {added("watchers", []string{"eve", "ana"}), func(i *issue) { i.Watchers = []string{"ana", "eve"} }},
		"all": {
			repo.Patch{
				Set: map[string]any{"title": "second", "assignee": ""}, Add: map[string]any{"votes": 1, "seats": uint8(1)}, Remove: []string{"free"},
				If: expression.Name("state").Equal(expression.Value("open")),
			},
			func(i *issue) {
				i.Title, i.Assignee, i.Votes, i.Seats, i.Free = "second", "", i.Votes+1, i.Seats+1, nil
			},
		},
	} {
		for _, how := range []string{"Patch", "PatchOps", "Upsert"} {
			v := openIssue
			v.ID, v.Assignee, v.Votes, v.Watchers, v.Free = name+how, "ana", 5, []string{"ana"}, map[string]any{"x": "y"}
			want := v
			want.ID += " updated"
			expect.OK(t, errors.Join(issues.Create(t.Context(), &v), issues.Create(t.Context(), &want)))
			tt.same(&want)
			expect.OK(t, issues.Save(t.Context(), &want))

			before, sent := v.Rev, len(faults.Requests())
			tt.patch.IfRevision = v.Rev
			var got issue
			var err error
			switch how {
			case "Patch":
				got, err = issues.Patch(t.Context(), v.key(), tt.patch)
			case "Upsert":
				got, err = issues.Upsert(t.Context(), issue{Desk: v.Desk, ID: v.ID, Opened: v.Opened}, tt.patch)
			default:
				err = tbl.Transact(t.Context(), issues.PatchOps(v.key(), tt.patch)...)
			}
			expect.OK(t, err)
			expect.Equal(t, name+": requests", len(faults.Requests())-sent, 1)
			is, wanted := storedItem(t, tbl, v.key()), storedItem(t, tbl, want.key())
			expect.Equal(t, name+": another revision", item.Text(is["rev"]) != before && len(item.Text(is["rev"])) == 26, true)
			if stored := expect.Value(issues.Get(t.Context(), v.key()))(t); how != "PatchOps" {
				expect.Equal(t, name+": returned", got, stored)
			}
			for _, of := range []string{"rev", "id", "sk"} {
				delete(is, of)
				delete(wanted, of)
			}
			if !item.SameItem(is, wanted) {
				t.Errorf("%s, %s: %v, want %v", how, name, got, want)
			}
		}
	}
}

// A patch that the entity does not allow is refused with its attribute, and nothing is sent.
func TestPatchIsChecked(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{TTLAttribute: "expiresAt"}, nil)
	e := issueEntity
	e.Upgrades = []repo.Upgrade{repo.Default("weight", 1)}
	e.FormerCopies = []func(issue) keys.Key{func(i issue) keys.Key {
		return keys.Key{PK: keys.Prefix("STATE").PK(string(i.State)), SK: keys.Metadata}
	}}
	issues := newRepo(t, tbl, e)
	key, sent := openIssue.key(), len(faults.Requests())
	misspelt := set("votes", 1)
	misspelt.If = expression.Name("titel").AttributeExists()
	version := set("votes", 1)
	version.IfVersion = 3
	for want, p := range map[string]repo.Patch{
		"changes nothing":                                 {},
		`no attribute "titel"`:                            set("titel", "x"),
		`no attribute "place.row"`:                        set("place.row", 1),
		`no attribute ""`:                                 set("", 1),
		`If: repo_test.issue has no`:                      misspelt,
		`no such Version`:                                 version,
		`"title" is there twice`:                          {Set: map[string]any{"title": "x"}, Remove: []string{"title"}},
		`"title": a int does not fit`:                     set("title", 1),
		`"votes": a string does`:                          set("votes", "1"),
		`"votes": a float64 does`:                         set("votes", 1.5),
		`"seats": a int does`:                             set("seats", 256),
		`"watchers": a string does`:                       set("watchers", "ana"),
		`"closed": a string does`:                         set("closed", "soon"),
		`"free`:                                           set("free", map[string]any{"x": struct{ a int }{1}}),
		`"pk" is written by`:                              set("pk", "x"),
		`"entityType" is written by`:                      {Remove: []string{"entityType"}},
		`"rev" is written by`:                             set("rev", "x"),
		`"expiresAt" is the expiry`:                       set("expiresAt", time.Unix(1, 0)),
		`"desk" is read by Key`:                           set("desk", "x"),
		`"opened" is read by Key`:                         set("opened", time.Unix(1, 0)),
		`"state" is read by Key`:                          set("state", "x"),
		`"weight" is of an upgrade`:                       set("weight", 2),
		`"title": a string is neither a number nor a set`: added("title", "x"),
		`"closed": a time.Time is neither`:                added("closed", 1),
		`"nulls": it is NULL`:                             added("nulls", 1),
		`"votes": a string has nothing to add to a int64`: added("votes", "1"),
		`Add: attribute "votes": a float64 does not fit`:  added("votes", 0.5),
		`"watchers": a []string has nothing to add`:       added("watchers", []string{}),
		`"watchers": a int does not fit`:                  added("watchers", 1),
	} {
		_, err := issues.Patch(t.Context(), key, p)
		for how, err := range map[string]error{
			"Patch": err, "PatchOps": tbl.Transact(t.Context(), issues.PatchOps(key, p)...),
			"Upsert": expect.ErrOf(issues.Upsert(t.Context(), openIssue, p)),
		} {
			if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ISSUE") {
				t.Errorf("%s: %v, want %s", how, err, want)
			}
		}
	}
	expect.Equal(t, "requests", len(faults.Requests()), sent)
}

// Entities of which DynamoDB cannot compute all that a write changes have no patches.
func TestPatchNeedsAPlainEntity(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}, nil)
	with := func(change func(e *repo.Entity[issue])) error {
		e := issueEntity
		change(&e)
		return expect.ErrOf(newRepo(t, tbl, e).Patch(t.Context(), openIssue.key(), set("title", "x")))
	}
	other := func(i issue) keys.Key { return keys.Key{PK: keys.Prefix("TITLE").PK(i.Title), SK: keys.Metadata} }
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{
		Type: "MAP", Key: func(m map[string]any) keys.Key { return keys.Key{PK: keys.PK(m["id"].(string)), SK: keys.Metadata} },
	})
	for name, err := range map[string]error{
		"Indexes":           with(func(e *repo.Entity[issue]) { e.Indexes = repo.Indexes[issue]{"GSI1": other} }),
		"Copies":            with(func(e *repo.Entity[issue]) { e.Copies = []repo.Copy[issue]{{Key: other}} }),
		"Claims":            with(func(e *repo.Entity[issue]) { e.Claims = func(i issue) []keys.Key { return []keys.Key{other(i)} } }),
		"a Key that panics": with(func(e *repo.Entity[issue]) { e.Key = func(i issue) keys.Key { panic(i.ID) } }),
		"a map":             expect.ErrOf(maps.Patch(t.Context(), openIssue.key(), set("title", "x"))),
	} {
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "use Update") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A patch says which of its conditions has failed, alone and in a transaction.
func TestPatchSaysWhatFailed(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, &table.Options{Now: func() time.Time { return time.Unix(1<<31, 0) }})
	issues := newRepo(t, tbl, issueEntity)
	v := openIssue
	expect.OK(t, issues.Create(t.Context(), &v))
	expired, other := openIssue, openIssue
	expired.ID, other.ID = "expired", "other"
	expired.Expiry = time.Unix(1<<31-1, 0)
	expect.OK(t, issues.Create(t.Context(), &expired))
	expect.OK(t, tbl.Do(t.Context(), table.Put(other.key(), map[string]any{"entityType": "OTHER"})))
	with := func(change func(*repo.Patch)) repo.Patch {
		p := set("title", "second")
		change(&p)
		return p
	}
	stale := with(func(p *repo.Patch) { p.IfRevision = "R" })
	for name, tt := range map[string]struct {
		id    string
		patch repo.Patch
		want  error
	}{
		"a missing one":                 {"missing", set("title", "x"), table.ErrNotFound},
		"a missing one with a revision": {"missing", stale, table.ErrStale},
		"an expired one":                {"expired", set("title", "x"), table.ErrNotFound},
		"another type":                  {"other", set("title", "x"), table.ErrWrongType},
		"another revision":              {"1", stale, table.ErrStale},
		"a condition":                   {"1", with(func(p *repo.Patch) { p.If = expression.Name("votes").GreaterThan(expression.Value(0)) }), table.ErrConditionFailed},
		"less than the field holds":     {"1", added("seats", -3), table.ErrConditionFailed},
		"more than the field holds":     {"1", added("seats", 254), table.ErrConditionFailed},
		"more than it ever holds":       {"1", added("seats", 256), table.ErrConditionFailed},
	} {
		at := v
		at.ID = tt.id
		expect.Err(t, expect.ErrOf(issues.Patch(t.Context(), at.key(), tt.patch)), tt.want)
		err := tbl.Transact(t.Context(), issues.PatchOps(at.key(), tt.patch)...)
		failed, ok := table.FailedOp(err, "ISSUE")
		if !ok || !errors.Is(failed, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	expect.Equal(t, "stored", expect.Value(issues.Get(t.Context(), v.key()))(t), v)
}

// Patch refreshes an item of an older shape, also for an Add, and PatchOps does not.
func TestPatchOfAnOlderShape(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	old := newRepo(t, tbl, issueEntity)
	e := issueEntity
	e.Upgrades = []repo.Upgrade{repo.Drop("gone")}
	upgraded := newRepo(t, tbl, e)
	for name, p := range map[string]repo.Patch{
		"set": set("title", "x"), "add": added("votes", 1),
		"and a condition": {Add: map[string]any{"votes": 1}, If: expression.Name("votes").Equal(expression.Value(0))},
	} {
		v := openIssue
		v.ID = name
		expect.OK(t, old.Create(t.Context(), &v))
		expect.Err(t, tbl.Transact(t.Context(), upgraded.PatchOps(v.key(), p)...), table.ErrStale)
		expect.Equal(t, name+": stored", expect.Value(old.Get(t.Context(), v.key()))(t), v)
		expect.Value(upgraded.Patch(t.Context(), v.key(), p))(t)
		sent := len(faults.Requests())
		if name != "and a condition" {
			expect.Value(upgraded.Patch(t.Context(), v.key(), p))(t)
			expect.OK(t, tbl.Transact(t.Context(), upgraded.PatchOps(v.key(), p)...))
		} else {
			expect.Err(t, expect.ErrOf(upgraded.Patch(t.Context(), v.key(), p)), table.ErrConditionFailed)
			expect.Err(t, tbl.Transact(t.Context(), upgraded.PatchOps(v.key(), p)...), table.ErrConditionFailed)
		}
		expect.Equal(t, name+": requests of the present shape", len(faults.Requests())-sent, 2)
		expect.Err(t, expect.ErrOf(old.Patch(t.Context(), v.key(), p)), table.ErrNewerShape)
	}
}

// What a Compatible upgrade computes of an attribute follows a patch of that attribute.
func TestPatchOfWhatIsDerived(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	for _, version := range []string{"revision", "version"} {
		releases := words(t, tbl, version)
		for by, r := range releases {
			w := word{ID: version + string(rune('0'+by)), Text: "Zero", Lower: "zero", Upper: "ZERO"}
			key := keys.Key{PK: keys.PK("WORD#" + w.ID), SK: "WORD"}
			expect.OK(t, releases[2].Create(t.Context(), &w))
			got := expect.Value(r.Patch(t.Context(), key, set("text", "One")))(t)
			expect.Equal(t, "returned", got, expect.Value(r.Get(t.Context(), key))(t))
			expect.OK(t, tbl.Transact(t.Context(), r.PatchOps(key, set("text", "Two"))...))
			got = expect.Value(releases[2].Get(t.Context(), key))(t)
			expect.Equal(t, "derived", [3]string{got.Text, got.Lower, got.Upper}, [3]string{"Two", "two", "TWO"})
		}
	}
}

// After a lost response, the stored revision tells whether a patch took effect.
func TestPatchWithALostResponse(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.New(t, schema.Table{}, nil)
	lossy := newRepo(t, expect.Value(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), nil))(t), issueEntity)
	issues := newRepo(t, tbl, issueEntity)
	for name, tt := range map[string]struct {
		patch repo.Patch
		fault tabletest.Fault
		votes int64
		want  error
	}{
		"add":               {added("votes", 1), tabletest.DropResponse(), 1, nil},
		"add, no request":   {added("votes", 1), tabletest.DropRequest(), 0, table.ErrOutcomeUnknown},
		"set":               {set("votes", 1), tabletest.DropResponse(), 1, nil},
		"add, then another": {added("votes", 1), nil, 3, table.ErrOutcomeUnknown},
	} {
		v := openIssue
		v.ID = name
		expect.OK(t, issues.Create(t.Context(), &v))
		if tt.fault == nil {
			tt.fault = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				response, err := tabletest.DropResponse()(r, next)
				expect.Value(issues.Patch(t.Context(), v.key(), added("votes", 2)))(t)
				return response, err
			}
		}
		faults.Next("UpdateItem", tt.fault)
		got, err := lossy.Patch(t.Context(), v.key(), tt.patch)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		stored := expect.Value(issues.Consistent().Get(t.Context(), v.key()))(t)
		expect.Equal(t, name, stored.Votes, tt.votes)
		if tt.want == nil {
			expect.Equal(t, name+": returned", got, stored)
		}
	}
}

// An item of the type that is not the entity's own is no success.
func TestPatchOfAFormerCopy(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	issues := newRepo(t, tbl, issueEntity)
	v := openIssue
	expect.OK(t, issues.Create(t.Context(), &v))
	at := keys.Key{PK: "FORMER", SK: "COPY"}
	expect.OK(t, tbl.Do(t.Context(), table.Put(at, storedItem(t, tbl, v.key()))))
	expect.Err(t, expect.ErrOf(issues.Patch(t.Context(), at, set("title", "x"))), repo.ErrOrphan)
}

// Patches of integer versions count it.
func TestPatchCounts(t *testing.T) {
	t.Parallel()
	type counted struct {
		ID      string `dynamodbav:"id"`
		N       int    `dynamodbav:"n"`
		Version int64  `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[counted]{Type: "COUNTED", Version: "version", Key: func(c counted) keys.Key { return keys.Key{PK: keys.PK(c.ID), SK: "C"} }})
	v := counted{ID: "1"}
	expect.OK(t, r.Create(t.Context(), &v))
	key := keys.Key{PK: "1", SK: "C"}
	p := set("n", 1)
	p.IfVersion = v.Version
	expect.Equal(t, "set", expect.Value(r.Patch(t.Context(), key, p))(t), counted{"1", 1, v.Version + 1})
	expect.Err(t, expect.ErrOf(r.Patch(t.Context(), key, p)), table.ErrStale)
	expect.OK(t, tbl.Transact(t.Context(), r.PatchOps(key, added("n", 1))...))
	expect.Equal(t, "add", expect.Value(r.Get(t.Context(), key))(t), counted{"1", 2, v.Version + 2})
}

// Base is embedded behind a pointer.
type Base struct {
	Tenant string `dynamodbav:"tenant"`
	Note   string `dynamodbav:"note"`
}

// New finds what Key reads behind a pointer, and patches what it does not read there.
func TestPatchBehindAPointer(t *testing.T) {
	t.Parallel()
	type based struct {
		*Base
		Rev string `dynamodbav:"rev"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[based]{Type: "BASED", Version: "rev", Key: func(b based) keys.Key {
		return keys.Key{PK: keys.Prefix("TENANT").PK(b.Tenant), SK: keys.Metadata}
	}})
	v := based{Base: &Base{Tenant: "acme"}}
	expect.OK(t, r.Create(t.Context(), &v))
	key := keys.Key{PK: keys.Prefix("TENANT").PK("acme"), SK: keys.Metadata}
	expect.Err(t, expect.ErrOf(r.Patch(t.Context(), key, set("tenant", "x"))), table.ErrInvalid)
	expect.Equal(t, "note", expect.Value(r.Patch(t.Context(), key, set("note", "x")))(t).Note, "x")
}

// A patch that expects a revision refreshes an item of an older shape if it has that one, and
// leaves it alone else.
func TestPatchExpectsTheRevisionOfAnOlderShape(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	old := newRepo(t, tbl, issueEntity)
	e := issueEntity
	e.Upgrades = []repo.Upgrade{repo.Drop("gone")}
	upgraded := newRepo(t, tbl, e)
	v := openIssue
	expect.OK(t, old.Create(t.Context(), &v))
	p := set("title", "second")
	p.IfRevision = "another"
	expect.Err(t, expect.ErrOf(upgraded.Patch(t.Context(), v.key(), p)), table.ErrStale)
	expect.Equal(t, "stored", expect.Value(old.Get(t.Context(), v.key()))(t), v)
	p.IfRevision = v.Rev
	expect.Equal(t, "title", expect.Value(upgraded.Patch(t.Context(), v.key(), p))(t).Title, "second")
	expect.Err(t, expect.ErrOf(upgraded.Patch(t.Context(), v.key(), p)), table.ErrStale)
}

// A revision is not written over an attribute of another type, as of a program that counts.
func TestPatchOfAnOddVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	issues := newRepo(t, tbl, issueEntity)
	v := openIssue
	expect.OK(t, issues.Create(t.Context(), &v))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(v.key(), table.Item{"rev": number(3)}).IfExists()))
	for name, err := range map[string]error{
		"Patch":  expect.ErrOf(issues.Patch(t.Context(), v.key(), set("title", "x"))),
		"Upsert": expect.ErrOf(issues.Upsert(t.Context(), v, set("title", "x"))),
	} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Err(t, tbl.Transact(t.Context(), issues.PatchOps(v.key(), set("title", "x"))...), table.ErrConditionFailed)
	stored := storedItem(t, tbl, v.key())
	expect.Equal(t, "title and revision", [2]bool{item.Text(stored["title"]) == "first", item.Equal(stored["rev"], number(3))}, [2]bool{true, true})
}

// A missing number is 0: what its field does not hold is not added to it.
func TestPatchAddsToWhatIsMissing(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	issues := newRepo(t, tbl, issueEntity)
	v := openIssue
	expect.OK(t, issues.Create(t.Context(), &v))
	expect.Value(issues.Patch(t.Context(), v.key(), repo.Patch{Remove: []string{"seats"}}))(t)
	for by, want := range map[int]error{300: table.ErrConditionFailed, -1: table.ErrConditionFailed} {
		expect.Err(t, expect.ErrOf(issues.Patch(t.Context(), v.key(), added("seats", by))), want)
		expect.Err(t, tbl.Transact(t.Context(), issues.PatchOps(v.key(), added("seats", by))...), want)
	}
	expect.Equal(t, "seats", expect.Value(issues.Patch(t.Context(), v.key(), added("seats", 255)))(t).Seats, 255)
}
