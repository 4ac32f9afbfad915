package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// clubMember has an e-mail that is unique, in a table that another library writes, too.
type clubMember struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email,omitempty"`
	Expires int64  `dynamodbav:"expires,omitempty"`
}

// library is the form in which another library keeps the e-mails.
type library struct {
	typeAttribute, uniqueType string
	email                     func(string) keys.Key
}

var libraries = map[string]library{
	"OneTable": {"_type", "_Unique", func(email string) keys.Key {
		return keys.Key{PK: keys.PK("_unique#Member#email#" + email), SK: "_unique#"}
	}},
	"TypeDORM": {"__en", "", func(email string) keys.Key {
		key := "DRM_GEN_MEMBER.EMAIL#" + email
		return keys.Key{PK: keys.PK(key), SK: keys.SK(key)}
	}},
}

// of reports which keys are those of e-mails.
func (l library) of(key keys.Key) bool {
	return strings.HasPrefix(string(key.PK), string(l.email("").PK))
}

// club is a table of members, at a time.
type club struct {
	library
	*testing.T
	table *table.Table
	job   backfill.Job
	now   time.Time
}

func newClub(t *testing.T, l library) *club {
	t.Helper()
	c := &club{library: l, T: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.table = tabletest.New(t, schema.Table{TypeAttribute: l.typeAttribute, TTLAttribute: "expires"}, &table.Options{Now: func() time.Time { return c.now }})
	members := expect.Value(repo.New(c.table, repo.Entity[clubMember]{
		Type: "Member", Key: func(m clubMember) keys.Key { return memberKey(m.ID) },
		Shared: &repo.Shared[clubMember]{UniqueType: l.uniqueType, Unique: func(m clubMember) []keys.Key {
			if m.Email == "" {
				return nil
			}
			return []keys.Key{l.email(m.Email)}
		}},
	}))(t)
	c.job = backfill.Job{Name: "check e-mails", Table: c.table, Entities: []backfill.Entity{members}, Segments: 4}
	for i := range 20 {
		m := clubMember{ID: fmt.Sprint("ok-", i)}
		if i > 0 {
			m.Email = m.ID + "@x"
		}
		expect.OK(t, members.Create(t.Context(), &m))
	}
	return c
}

// has stores a member, without an item for the e-mail.
func (c *club) has(m clubMember) {
	c.Helper()
	stored := table.Item{
		"id": &types.AttributeValueMemberS{Value: m.ID}, "email": &types.AttributeValueMemberS{Value: m.Email},
		c.typeAttribute: &types.AttributeValueMemberS{Value: "Member"},
	}
	if m.Expires != 0 {
		stored["expires"] = &types.AttributeValueMemberN{Value: fmt.Sprint(m.Expires)}
	}
	expect.OK(c, c.table.Do(c.Context(), table.Put(memberKey(m.ID), stored)))
}

// keeps stores the item of an e-mail.
func (c *club) keeps(email string) {
	c.Helper()
	unique := map[string]string{}
	if c.uniqueType != "" {
		unique[c.typeAttribute] = c.uniqueType
	}
	expect.OK(c, c.table.Do(c.Context(), table.Create(c.email(email), unique)))
}

func (c *club) check() backfill.UniqueReport {
	c.Helper()
	return expect.Value(c.job.CheckUnique(c.Context(), c.of))(c)
}

func TestCheckUnique(t *testing.T) {
	t.Parallel()
	for name, l := range libraries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClub(t, l)
			expire := c.now.Add(time.Hour).Unix()
			// What is not of members does not count, nor a member that expires with its item.
			expect.OK(t, c.table.Do(t.Context(), table.Create(keys.Key{PK: "_unique#Team#name#a", SK: "_unique#"}, map[string]string{})))
			c.has(clubMember{ID: "live", Email: "live@x", Expires: expire})
			c.keeps("live@x")
			report := c.check()
			expect.Equal(t, "of a good table", []any{report.Faults, report.More, report.SetAside}, []any{[]backfill.UniqueFault(nil), false, int64(0)})
			once := report.ReadUnits

			c.has(clubMember{ID: "two-1", Email: "two@x"})
			c.has(clubMember{ID: "two-2", Email: "two@x"})
			c.keeps("two@x")
			c.has(clubMember{ID: "bare", Email: "bare@x"})
			c.keeps("left@x")
			c.has(clubMember{ID: "old-1", Email: "old@x", Expires: expire})
			c.has(clubMember{ID: "old-2", Email: "live@x", Expires: expire})
			c.has(clubMember{ID: "old-3", Email: "gone@x", Expires: expire})
			c.keeps("old@x")
			c.has(clubMember{ID: "live", Email: "live@x"})
			c.now = c.now.Add(2 * time.Hour)
			report = c.check()
			says := map[string]string{}
			for _, f := range report.Faults {
				says[strings.TrimPrefix(string(f.Key.PK), string(l.email("").PK))] = fmt.Sprint(f.Stored, f.Live, f.Expired, " ", f)
			}
			none := []keys.Key(nil)
			expect.Equal(t, "faults", says, map[string]string{
				"two@x":  fmt.Sprint(true, []keys.Key{memberKey("two-1"), memberKey("two-2")}, none, " 2 entities have the value: change it in all but one"),
				"bare@x": fmt.Sprint(false, []keys.Key{memberKey("bare")}, none, " the value has no item, so another entity can take it: create the item"),
				"left@x": fmt.Sprint(true, none, none, " no entity has the value: delete the item to free it"),
				"old@x":  fmt.Sprint(true, none, []keys.Key{memberKey("old-1")}, " only expired entities have the value: delete the item to free it"),
			})
			if report.ReadUnits < 3*once {
				t.Errorf("%v read units, and %v for one read", report.ReadUnits, once)
			}
			some := expect.Value(c.job.CheckUniqueOf(t.Context(), l.of, 1))(t)
			expect.Equal(t, "more than are held", []any{len(some.Faults), some.More}, []any{1, true})

			// The value of an item that nobody seems to have can be that of a member that does not decode.
			expect.OK(t, c.table.Do(t.Context(), table.Put(memberKey("broken"), map[string]any{
				"id": "broken", "email": []string{"left@x"}, l.typeAttribute: "Member",
			})))
			report = c.check()
			expect.Equal(t, "with one that was not read", []any{len(report.Faults), report.SetAside}, []any{2, int64(1)})
		})
	}
}

// What a program writes between the reads is no fault.
func TestCheckUniqueWhileProgramsWrite(t *testing.T) {
	t.Parallel()
	c := newClub(t, libraries["OneTable"])
	c.keeps("left@x")
	c.has(clubMember{ID: "bare", Email: "bare@x"})
	c.job.Segments = 1
	reads := 0
	c.job.Progress = func(backfill.Progress) {
		if reads++; reads == 2 {
			c.has(clubMember{ID: "late", Email: "left@x"})
		}
	}
	report := c.check()
	expect.Equal(t, "reads", reads, 3)
	expect.Equal(t, "faults", report.Faults, []backfill.UniqueFault{{Key: c.email("bare@x"), Live: []keys.Key{memberKey("bare")}}})
}

func TestCheckUniqueRefuses(t *testing.T) {
	t.Parallel()
	c := newClub(t, libraries["OneTable"])
	others := expect.Value(repo.New(c.table, repo.Entity[clubMember]{
		Type: "Other", Key: func(m clubMember) keys.Key { return memberKey(m.ID) }, Shared: &repo.Shared[clubMember]{},
	}))(t)
	for name, change := range map[string]func(*backfill.Job){
		"a Map": func(j *backfill.Job) {
			j.Map = func(context.Context, table.Item) ([]table.Op, error) { return nil, nil }
		},
		"a Source":                func(j *backfill.Job) { j.Source = c.table },
		"no entities":             func(j *backfill.Job) { j.Entities = nil },
		"no name":                 func(j *backfill.Job) { j.Name = "" },
		"entities without Unique": func(j *backfill.Job) { j.Entities = []backfill.Entity{others} },
		"entities of no repo":     func(j *backfill.Job) { j.Entities = []backfill.Entity{struct{ backfill.Entity }{others}} },
	} {
		j := c.job
		change(&j)
		if err := expect.ErrOf(j.CheckUnique(t.Context(), c.of)); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Err(t, expect.ErrOf(c.job.CheckUnique(t.Context(), nil)), table.ErrInvalid)
}
