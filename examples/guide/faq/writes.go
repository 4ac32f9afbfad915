package faq

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

var (
	// ErrTitle means that a task has no title.
	ErrTitle = errors.New("a task needs a title")
	// ErrGuest means that a guest cannot be given a task.
	ErrGuest = errors.New("only members who are no guests do tasks")
	// ErrBudget means that the budget is not large enough.
	ErrBudget = errors.New("the budget is spent")
)

// NewTask returns an open task that is due in a week.
func NewTask(projectID, id, title string, now time.Time) (Task, error) {
	t := Task{
		Project: projectID, ID: id, Title: strings.TrimSpace(title), Status: "open",
		Due: now.AddDate(0, 0, 7), CreatedAt: now, UpdatedAt: now,
	}
	return t, t.validate()
}

func (t Task) validate() error {
	if t.Title == "" {
		return ErrTitle
	}
	return nil
}

// Create stores a task.
func (s *Tracker) Create(ctx context.Context, t *Task) error { return s.tasks.Create(ctx, t) }

// Rename changes one field. An empty ifMatch is any revision.
func (s *Tracker) Rename(ctx context.Context, projectID, id, title, ifMatch string) (Task, error) {
	return s.tasks.Update(ctx, taskKey(projectID, id), func(t *Task) error {
		if ifMatch != "" && ifMatch != t.Revision {
			return table.ErrStale // ends Update: respond with 412
		}
		t.Title = title
		return nil
	})
}

func (s *Tracker) change(ctx context.Context, key keys.Key, change func(*Task)) (Task, error) {
	return s.tasks.Update(ctx, key, func(t *Task) error {
		before := *t
		change(t)
		changed, err := s.tasks.Changes(before, *t)
		if err == nil && len(changed) > 0 {
			t.UpdatedAt = s.table.Now()
			err = t.validate()
		}
		return err
	})
}

// Archive deletes a task softly.
func (s *Tracker) Archive(ctx context.Context, projectID, id string) (Task, error) {
	return s.change(ctx, taskKey(projectID, id), func(t *Task) {
		if t.DeletedAt == nil {
			t.DeletedAt = new(s.table.Now())
		}
	})
}

// Move changes a nested attribute.
func (s *Tracker) Move(ctx context.Context, projectID, id, city string) (Task, error) {
	return s.change(ctx, taskKey(projectID, id), func(t *Task) { t.Place.City = city })
}

// Tag adds to a set. One that has a member twice is refused.
func (s *Tracker) Tag(ctx context.Context, projectID, id, tag string) (Task, error) {
	return s.change(ctx, taskKey(projectID, id), func(t *Task) {
		if !slices.Contains(t.Tags, tag) {
			t.Tags = append(t.Tags, tag)
		}
	})
}

// Watch adds to a set without a read.
func (s *Tracker) Watch(ctx context.Context, projectID, userID string) (Numbers, error) {
	return s.numbers.Upsert(ctx, Numbers{Project: projectID}, repo.Patch{Add: map[string]any{"watchers": []string{userID}}})
}

// NextNumber returns a number that no other caller gets.
func (s *Tracker) NextNumber(ctx context.Context, projectID string) (int64, error) {
	n, err := s.numbers.Upsert(ctx, Numbers{Project: projectID}, repo.Patch{Add: map[string]any{"last": 1}})
	return n.Last, err
}

// Spend takes from the budget if it is large enough.
func (s *Tracker) Spend(ctx context.Context, projectID string, amount int64) error {
	_, err := s.numbers.Patch(ctx, numbersKey(projectID), repo.Patch{
		Add: map[string]any{"budget": -amount},
		If:  table.If("budget >= ?", amount),
	})
	if errors.Is(err, table.ErrConditionFailed) {
		return ErrBudget
	}
	return err
}

// SaveProject stores a project as a client has edited it.
func (s *Tracker) SaveProject(ctx context.Context, p Project, ifMatch string) (etag string, err error) {
	p.Revision = ifMatch
	err = s.projects.Save(ctx, &p) // table.ErrStale: respond with 412
	return p.Revision, err
}

// GetOrCreate returns the stored project, or stores this one.
func (s *Tracker) GetOrCreate(ctx context.Context, p Project) (Project, error) {
	err := s.projects.Create(ctx, &p)
	if errors.Is(err, table.ErrExists) {
		return s.projects.Consistent().Get(ctx, projectKey(p.ID))
	}
	return p, err
}

// Assign gives a task to a member who is no guest.
func (s *Tracker) Assign(ctx context.Context, projectID, id, userID string) (Task, error) {
	noGuest := table.Check(memberKey(projectID, userID), table.If("role <> ?", "guest")).
		IfExists().WithName("member")
	t, err := s.tasks.UpdateWith(ctx, taskKey(projectID, id), func(t *Task) ([]table.Op, error) {
		t.Assignee = userID
		return []table.Op{noGuest}, nil
	})
	if op, failed := table.FailedOp(err, "member"); failed && table.Classify(op) == table.Permanent {
		return t, ErrGuest
	}
	return t, err
}

// Join stores a member whose user and project exist at that moment.
func (s *Tracker) Join(ctx context.Context, m Member) error {
	ops := append(s.members.CreateOps(&m),
		table.CheckExists(userKey(m.User)).WithName("user"),
		table.CheckExists(projectKey(m.Project)).WithName("project"))
	return s.table.Transact(ctx, ops...)
}

// Start creates a project with its first member and numbers, all or none.
func (s *Tracker) Start(ctx context.Context, p Project, owner string, budget int64) error {
	ops := s.projects.CreateOps(&p)
	ops = append(ops, s.members.CreateOps(&Member{Project: p.ID, User: owner, Role: "owner"})...)
	ops = append(ops, s.numbers.CreateOps(&Numbers{Project: p.ID, Budget: budget})...)
	return s.table.Transact(ctx, ops...)
}

// Invite stores many members, and returns the keys of those that are not stored.
func (s *Tracker) Invite(ctx context.Context, invited []Member) ([]keys.Key, error) {
	var ops []table.Op
	for _, m := range invited {
		ops = append(ops, s.members.PutOps(&m)...)
	}
	err := s.table.BatchWrite(ctx, ops...)
	if batch, ok := errors.AsType[*table.Error](err); ok {
		return batch.Remaining, err // perhaps not stored: invite these again
	}
	return nil, err
}

// Login starts a session of half an hour.
func (s *Tracker) Login(ctx context.Context, id, userID string) error {
	return s.sessions.Create(ctx, &Session{ID: id, User: userID, ExpiresAt: s.table.Now().Add(30 * time.Minute)})
}
