package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
)

// names is pattern 12: a user is renamed twice and comments in between, and the
// consumer of the stream brings the last name into all comments.
func names(ctx context.Context, client *dynamodb.Client, s *store.Store, out report.Report) error {
	const last = "Robert"
	out.Title("12. An author's comments, each with the author's name")
	out.Query(store.Schema(""), store.CommentsByAuthorQuery("bob"))
	if _, err := s.Rename(ctx, "bob", "Rob"); err != nil {
		return err
	}
	err := unlessThere(s.AddComment(ctx, store.Comment{
		ID: "c5", PostID: "p3", AuthorID: "bob", Text: "Between two names", CreatedAt: start.Add(5 * time.Hour),
	}))
	if err != nil {
		return err
	}
	if _, err := s.Rename(ctx, "bob", last); err != nil {
		return err
	}
	out.Spent("two renames and a comment in between")

	// A table of its own for the consumer, so that the report has no requests of it.
	tbl, err := table.New(client, s.Table.Schema(), nil)
	if err != nil {
		return err
	}
	background, err := store.New(tbl, s.Objects)
	if err != nil {
		return err
	}
	router, err := background.Router()
	if err != nil {
		return err
	}
	renamed := func(ctx context.Context) (bool, error) { return signed(ctx, background, "bob", last) }
	if err := program.Follow(ctx, renamed, program.Reader("names", router, client, nil)); err != nil {
		return err
	}
	out.Line("  the stream was read until each comment had the last name")
	found, err := table.Collect(s.Comments.All(ctx, store.CommentsByAuthorQuery("bob")))
	if err != nil {
		return err
	}
	report.Found(out, found, func(c store.Comment) string {
		return keyRow(store.CommentByAuthorKey(c), c.AuthorName, fmt.Sprintf("of version %d", c.AuthorVersion), c.Text)
	})

	if _, err := s.Rename(ctx, "bob", "Bob"); err != nil { // for the next run
		return err
	}
	err = errors.Join(s.RefreshComments(ctx, "bob"), s.RefreshMemberships(ctx, "bob"))
	out.Spent(fmt.Sprintf("renaming once more, without the stream, and refreshing %d comments and 2 memberships", len(found)))
	return err
}

// signed reports whether all comments of a user have a name.
func signed(ctx context.Context, s *store.Store, user, name string) (bool, error) {
	for c, err := range s.Comments.Consistent().All(ctx, store.CommentsByAuthorQuery(user)) {
		if err != nil || c.AuthorName != name {
			return false, err
		}
	}
	return true, nil
}
