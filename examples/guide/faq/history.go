package faq

import (
	"context"
	"errors"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Line is what a task was called at some time. The stream writes it.
type Line struct {
	Project string `dynamodbav:"projectId"`
	Change  string `dynamodbav:"change"`
	Title   string `dynamodbav:"title"`
}

var lineEntity = repo.Entity[Line]{
	Type: "LINE",
	Key: func(l Line) keys.Key {
		return keys.Key{PK: keys.Prefix("HISTORY").PK(l.Project), SK: keys.Prefix("LINE").SK(keys.Str(l.Change))}
	},
}

// History returns the handler that stores lines. It stores none of a project that is deleted.
func (s *Tracker) History() (*stream.Router, error) {
	return stream.New(s.table, nil,
		stream.On(s.tasks, func(ctx context.Context, c stream.Change[Task]) error {
			if c.New == nil {
				return nil
			}
			line := Line{Project: c.New.Project, Change: c.EventID, Title: c.New.Title}
			err := s.table.Transact(ctx, append(s.lines.PutOps(&line),
				table.CheckExists(projectKey(c.New.Project)).WithName("project"))...)
			if op, failed := table.FailedOp(err, "project"); failed && errors.Is(op, table.ErrNotFound) {
				return nil // the project was deleted after this change
			}
			return err
		}),
		stream.IgnoreOther())
}
