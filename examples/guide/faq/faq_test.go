package faq

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePagesQuoteTheCode$ -update

func TestThePagesQuoteTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, "../../../docs/faq.md", "."); n < 5 {
		t.Errorf("%d quotations, want 5", n)
	}
	if n := generated.Code(t, "../../../docs/delete-data.md", "."); n != 1 {
		t.Errorf("%d quotations, want 1", n)
	}
}

var noon = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

// open returns a tracker whose clock stands at *now.
func open(t *testing.T, now *time.Time) *Tracker {
	t.Helper()
	return check.Must(New(tabletest.New(t, Schema, &table.Options{Now: func() time.Time { return *now }})))(t)
}

// plan creates a task.
func plan(t *testing.T, s *Tracker, projectID, id string, now time.Time) Task {
	t.Helper()
	v := check.Must(NewTask(projectID, id, " paint ", now))(t)
	check.OK(t, s.Create(t.Context(), &v))
	return v
}

func TestTasksAreValidatedAndHaveTimes(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.Is(t, check.Err(NewTask("p", "t", "  ", noon)), ErrTitle)
	v := plan(t, s, "p", "t", noon)
	check.Equal(t, "title and status", v.Title+" "+string(v.Status), "paint open")
	now = noon.Add(time.Hour)
	v = check.Must(s.Move(t.Context(), "p", "t", "Porto"))(t)
	again := check.Must(s.Move(t.Context(), "p", "t", "Porto"))(t)
	if !v.UpdatedAt.Equal(now) || !v.CreatedAt.Equal(noon) || v.Place.City != "Porto" || again.Revision != v.Revision {
		t.Errorf("changed at %v: %+v, then %+v", now, v, again)
	}
	check.Is(t, check.Err(s.Rename(t.Context(), "p", "t", "wash", "another revision")), table.ErrStale)
	v = check.Must(s.Rename(t.Context(), "p", "t", "wash", v.Revision))(t)
	check.Equal(t, "title", v.Title, "wash")
}

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	for i := range 3 {
		plan(t, s, fmt.Sprintf("p-%d", i%2), fmt.Sprintf("t-%d", i), noon.Add(time.Duration(i)*time.Hour))
	}
	page := check.Must(s.NewestTasks(t.Context(), ""))(t)
	check.Equal(t, "all tasks", ids(page.Items), "t-2 t-1 t-0")
	n, more, err := s.CountTasks(t.Context(), "p-0")
	if n != 2 || more || err != nil {
		t.Errorf("counted %d, more %t, error %v", n, more, err)
	}
	week := noon.AddDate(0, 0, 7)
	check.Equal(t, "due", ids(check.Must(s.DueBefore(t.Context(), "p-0", week.Add(time.Hour)))(t)), "t-0")
	check.Must(s.Archive(t.Context(), "p-0", "t-0"))(t)
	check.Equal(t, "due", ids(check.Must(s.DueBefore(t.Context(), "p-0", week.AddDate(0, 0, 1)))(t)), "t-2")
}

func ids(tasks []Task) string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

func TestOneQueryReadsABoard(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.OK(t, s.Start(t.Context(), Project{ID: "p"}, "ana", 10))
	plan(t, s, "p", "t", noon)
	b := check.Must(s.Board(t.Context(), "p"))(t)
	if len(b.Projects) != 1 || len(b.Tasks) != 1 || len(b.Members) != 1 {
		t.Errorf("%+v", b)
	}
}

func TestAnEmailIsUnique(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.OK(t, s.users.Create(t.Context(), &User{ID: "ana", Email: "ana@example.com"}))
	check.Is(t, s.users.Create(t.Context(), &User{ID: "other", Email: "ana@example.com"}), table.ErrExists)
	u := check.Must(s.UserByEmail(t.Context(), "ana@example.com"))(t)
	many := check.Must(s.Users(t.Context(), []string{"ana", "nobody"}))(t)
	if u.ID != "ana" || len(many) != 1 || many[userKey("ana")] != u {
		t.Errorf("%+v, %+v", u, many)
	}
}

func TestMembersBothWays(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	var invited []Member
	for i := range 30 {
		invited = append(invited, Member{Project: fmt.Sprintf("p-%d", i%3), User: fmt.Sprintf("u-%d", i/3), Role: "guest"})
	}
	left, err := s.Invite(t.Context(), invited)
	if len(left) != 0 || err != nil {
		t.Errorf("left %d, error %v", len(left), err)
	}
	members := check.Must(s.MembersOf(t.Context(), "p-1"))(t)
	projects := check.Must(s.ProjectsOf(t.Context(), "u-4"))(t)
	if len(members) != 10 || len(projects) != 3 {
		t.Errorf("%d members, %d projects", len(members), len(projects))
	}
}

// What a batch leaves is named, and the same call finishes it.
func TestTheRestOfABatchIsNamed(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := check.Must(New(tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, &table.Options{MaxAttempts: 1})))(t)
	faults.Always("BatchWriteItem", tabletest.Unprocessed(3))
	invited := []Member{{Project: "p", User: "a"}, {Project: "p", User: "b"}, {Project: "p", User: "c"}}
	left, err := s.Invite(t.Context(), invited)
	if len(left) != 3 || !errors.Is(err, table.ErrThrottled) {
		t.Fatalf("left %v, error %v", left, err)
	}
	faults.Always("BatchWriteItem", nil)
	check.Must(s.Invite(t.Context(), invited))(t)
	check.Equal(t, "members", len(check.Must(s.MembersOf(t.Context(), "p"))(t)), 3)
}

func TestNumbersBudgetsAndSets(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.OK(t, s.Start(t.Context(), Project{ID: "p"}, "ana", 10))
	seen := make([]int64, 20)
	check.Together(20, func(i int) { seen[i], _ = s.NextNumber(t.Context(), "p") })
	unique := map[int64]bool{}
	for _, n := range seen {
		unique[n] = n >= 1 && n <= 20
	}
	check.Equal(t, "numbers", len(unique), 20)
	check.OK(t, s.Spend(t.Context(), "p", 7))
	check.Is(t, s.Spend(t.Context(), "p", 7), ErrBudget)
	task := check.Must(NewTask("p", "t", "Sweep", now))(t)
	check.OK(t, s.Create(t.Context(), &task))
	for range 2 {
		task = check.Must(s.Tag(t.Context(), "p", "t", "autumn"))(t)
		check.Equal(t, "tags", len(task.Tags), 1)
	}
	check.Must(s.Watch(t.Context(), "p", "ana"))(t)
	c := check.Must(s.Watch(t.Context(), "p", "ana"))(t)
	if c.Budget != 3 || len(c.Watchers) != 1 || c.Last != 20 {
		t.Errorf("%+v", c)
	}
}

// Days are partitions, and a page has the visits of several. An item whose id is in its key
// only is read with the id, and a write stores it.
func TestVisitsAreListedByDay(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	for i := range 29 {
		check.OK(t, s.visits.Create(t.Context(), &Visit{ID: fmt.Sprint("v-", i), At: noon.Add(time.Duration(i) * 6 * time.Hour)}))
	}
	old := Visit{ID: "v#old", At: noon.Add(-time.Hour)}
	check.OK(t, s.table.Do(t.Context(), table.Put(visitKey(old.ID), map[string]any{
		"entityType": "VISIT", "at": old.At, "GSI1PK": dayKey(old).PK, "GSI1SK": dayKey(old).SK,
	})))
	first := check.Must(s.Visits(t.Context(), noon, 7, ""))(t)
	check.OK(t, s.visits.Create(t.Context(), &Visit{ID: "later", At: noon.AddDate(0, 0, 8)}))
	second := check.Must(s.Visits(t.Context(), noon, 9, first.Next))(t)
	if len(first.Items) != 20 || len(second.Items) != 7 || second.Items[6].ID != old.ID || second.Next != "" {
		t.Fatalf("pages of %d and %d, the last is %+v", len(first.Items), len(second.Items), second.Items[len(second.Items)-1])
	}
	for i, v := range slices.Concat(first.Items, second.Items[:6]) {
		check.Equal(t, "visit", v.ID, fmt.Sprint("v-", 25-i))
	}
	check.Must(s.visits.Update(t.Context(), visitKey(old.ID), func(v *Visit) error { v.At = noon; return nil }))(t)
	stored := check.Must(table.Get[map[string]any](t.Context(), s.table, visitKey(old.ID)))(t)
	check.Equal(t, "stored id", stored["visitId"], any(old.ID))
}

func TestAnEditedProjectIsSavedOnce(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	p := check.Must(s.GetOrCreate(t.Context(), Project{ID: "p", Name: "one"}))(t)
	same := check.Must(s.GetOrCreate(t.Context(), Project{ID: "p", Name: "two"}))(t)
	check.Equal(t, "project", same, p)
	edited := p
	edited.Name = "three"
	etag := check.Must(s.SaveProject(t.Context(), edited, p.Revision))(t)
	if etag == p.Revision {
		t.Error("the ETag is the same")
	}
	check.Is(t, check.Err(s.SaveProject(t.Context(), edited, p.Revision)), table.ErrStale)
}

func TestOnlyMembersAreAssigned(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s := check.Must(New(tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, &table.Options{MaxAttempts: 3})))(t)
	check.OK(t, s.Start(t.Context(), Project{ID: "p"}, "ana", 0))
	check.Must(s.Invite(t.Context(), []Member{{Project: "p", User: "bob", Role: "guest"}}))(t)
	plan(t, s, "p", "t", noon)
	check.Is(t, check.Err(s.Assign(t.Context(), "p", "t", "bob")), ErrGuest, "a guest")
	check.Is(t, check.Err(s.Assign(t.Context(), "p", "t", "cleo")), ErrGuest, "no member")
	v := check.Must(s.Assign(t.Context(), "p", "t", "ana"))(t)
	check.Equal(t, "assignee", v.Assignee, "ana")
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("None", "TransactionConflict"))
	err := check.Err(s.Assign(t.Context(), "p", "t", "bob"))
	if errors.Is(err, ErrGuest) || !errors.Is(err, table.ErrConflict) {
		t.Errorf("a conflict is %v", err)
	}
}

func TestAMemberIsAUserOfAProject(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.OK(t, s.Start(t.Context(), Project{ID: "p"}, "ana", 0))
	err := s.Join(t.Context(), Member{Project: "p", User: "bob"})
	check.Is(t, err, table.ErrNotFound)
	if _, failed := table.FailedOp(err, "user"); !failed {
		t.Errorf("it does not name the user: %v", err)
	}
	check.OK(t, s.users.Create(t.Context(), &User{ID: "bob", Email: "bob@example.com"}), s.Join(t.Context(), Member{Project: "p", User: "bob"}))
}

func TestADeskHasOneBookingADay(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	first := DeskBooking{ID: "b-1", Desk: "7", Days: []string{"2030-06-01", "2030-06-02"}}
	second := DeskBooking{ID: "b-2", Desk: "7", Days: []string{"2030-06-02", "2030-06-03"}}
	check.OK(t, s.desks.Create(t.Context(), &first))
	check.Is(t, s.desks.Create(t.Context(), &second), table.ErrExists)
	check.Must(s.desks.Update(t.Context(), deskBookingKey("b-1"), func(b *DeskBooking) error { b.Days = b.Days[:1]; return nil }))(t)
	check.OK(t, s.desks.Create(t.Context(), &second))
	check.OK(t, s.desks.Delete(t.Context(), deskBookingKey("b-2")))
	check.OK(t, s.desks.Create(t.Context(), &DeskBooking{ID: "b-3", Desk: "7", Days: []string{"2030-06-03"}}))
}

// A change that is delivered after the deletion of its project brings nothing back.
func TestALateChangeBringsNothingBack(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	history := check.Must(s.History())(t)
	check.OK(t, s.Start(t.Context(), Project{ID: "p"}, "ana", 0))
	lines := table.Query{PK: keys.Prefix("HISTORY").PK("p")}
	for i, deleted := range []bool{false, true} {
		v := check.Must(NewTask("p", fmt.Sprint("t-", i), "paint", noon))(t)
		event := check.Must(streamtest.Transact(t.Context(), tabletest.Client(t), s.table, s.tasks.CreateOps(&v)...))(t)
		if deleted {
			check.Must(s.lines.DeleteAll(t.Context(), lines, nil))(t)
			check.OK(t, s.projects.Delete(t.Context(), projectKey("p")))
		}
		response := check.Must(history.Handle(t.Context(), event))(t)
		stats := check.Must(s.table.Count(t.Context(), lines))(t)
		if want := 1 - i; len(response.BatchItemFailures) > 0 || stats.Items != want {
			t.Errorf("deleted %t: %d lines, failed %v", deleted, stats.Items, response.BatchItemFailures)
		}
	}
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	check.OK(t, s.Login(t.Context(), "s", "ana"))
	check.Must(s.sessions.Get(t.Context(), sessionKey("s")))(t)
	now = noon.Add(31 * time.Minute)
	check.Is(t, check.Err(s.sessions.Get(t.Context(), sessionKey("s"))), table.ErrNotFound)
	check.OK(t, s.Login(t.Context(), "s", "bob"))
}

func TestAListIsServedInPages(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	for i := range 25 {
		plan(t, s, "p", fmt.Sprintf("t-%02d", i), noon)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /projects/{project}/tasks", s.listTasks)
	get := func(query string) (status int, items int, next string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/projects/p/tasks"+query, nil))
		var page struct {
			Items []any
			Next  string
		}
		_ = json.Unmarshal(w.Body.Bytes(), &page)
		return w.Code, len(page.Items), page.Next
	}
	_, first, next := get("")
	_, second, end := get("?cursor=" + next)
	status, _, _ := get("?cursor=forged")
	if first != 20 || second != 5 || end != "" || status != http.StatusBadRequest {
		t.Errorf("pages of %d and %d, then %q; a forged cursor is %d", first, second, end, status)
	}
}

func TestValuesKeepTheirDigitsAndText(t *testing.T) {
	t.Parallel()
	now := noon
	s := open(t, &now)
	invoices := check.Must(repo.New(s.table, repo.Entity[Invoice]{
		Type: "INVOICE", Key: func(i Invoice) keys.Key { return keys.Key{PK: keys.Prefix("INVOICE").PK(i.ID), SK: keys.Metadata} },
	}))(t)
	v := Invoice{ID: "i", Cents: 1999, Rate: "0.12345678901234567890123456789012345678", Terms: Compressed(strings.Repeat("pay within 30 days. ", 40_000))}
	check.OK(t, invoices.Create(t.Context(), &v))
	check.Equal(t, "invoice", check.Must(invoices.Get(t.Context(), invoiceKey("i")))(t), v)
}

func invoiceKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("INVOICE").PK(id), SK: keys.Metadata}
}
