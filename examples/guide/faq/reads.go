package faq

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// NewestTasks returns tasks of all projects, newest first.
func (s *Tracker) NewestTasks(ctx context.Context, after string) (table.Page[Task], error) {
	return s.tasks.Query(ctx, table.Query{
		Index: "byType", PKs: []string{"TASK"}, Descending: true, After: after,
	})
}

// CountTasks counts to a hundred.
func (s *Tracker) CountTasks(ctx context.Context, projectID string) (n int, more bool, err error) {
	stats, err := s.tasks.Count(ctx, table.Query{PK: project.PK(projectID), Range: task.All(), Limit: 101})
	return min(stats.Items, 100), stats.Items > 100, err
}

// DueBefore returns the tasks of a project that are due, the most urgent first.
func (s *Tracker) DueBefore(ctx context.Context, projectID string, end time.Time) ([]Task, error) {
	return table.Collect(s.tasks.All(ctx, table.Query{
		Index: "GSI1", PK: project.PK(projectID), Range: due.Until(end),
	}))
}

// Visits returns the visits of some days, newest first.
func (s *Tracker) Visits(ctx context.Context, from time.Time, days int, after string) (shard.Page[Visit], error) {
	byDay := shard.Index{Index: "GSI1", Prefix: day}
	for n := range days {
		byDay.Suffixes = append(byDay.Suffixes, "#"+from.UTC().AddDate(0, 0, n).Format(time.DateOnly))
	}
	reader, err := shard.New[Visit](s.visits.View(), byDay, nil)
	if err != nil {
		return shard.Page[Visit]{}, err
	}
	return reader.Page(ctx, shard.Query{Range: visit.All(), Descending: true, Limit: 20, After: after})
}

// Board is everything of a project.
type Board struct {
	Projects []Project
	Tasks    []Task
	Members  []Member
}

// Board reads a project with its tasks and members in one query.
func (s *Tracker) Board(ctx context.Context, projectID string) (b Board, err error) {
	err = repo.Collect(ctx, s.table, table.Query{PK: project.PK(projectID)},
		s.projects.AppendTo(&b.Projects), s.tasks.AppendTo(&b.Tasks), s.members.AppendTo(&b.Members),
		repo.IgnoreOther())
	return b, err
}

// MembersOf returns the members of a project.
func (s *Tracker) MembersOf(ctx context.Context, projectID string) ([]Member, error) {
	return table.Collect(s.members.All(ctx, table.Query{PK: project.PK(projectID), Range: member.All()}))
}

// ProjectsOf returns the projects of a user.
func (s *Tracker) ProjectsOf(ctx context.Context, userID string) ([]Member, error) {
	return table.Collect(s.members.All(ctx, table.Query{Index: "GSI1", PK: keys.User.PK(userID), Range: project.All()}))
}

// Users reads many users by id.
func (s *Tracker) Users(ctx context.Context, ids []string) (map[keys.Key]User, error) {
	ks := make([]keys.Key, len(ids))
	for i, id := range ids {
		ks[i] = userKey(id)
	}
	return s.users.BatchGet(ctx, ks) // a user that is missing is not in the map
}

// UserByEmail reads a user by the e-mail.
func (s *Tracker) UserByEmail(ctx context.Context, address string) (User, error) {
	return s.users.Get(ctx, emailKey(address))
}

func (s *Tracker) listTasks(w http.ResponseWriter, r *http.Request) {
	projectID := r.PathValue("project")
	page, err := s.tasks.Query(r.Context(), table.Query{
		PK: project.PK(projectID), Range: task.All(), Limit: 20,
		After: r.FormValue("cursor"), Scope: userOf(r),
	})
	if err != nil {
		rest.Fail(w, err) // 400 for a cursor that is refused
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": page.Items, "next": page.Next, "prev": page.Prev})
}

// userOf returns who sends a request. A service takes it from an access token.
func userOf(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}
