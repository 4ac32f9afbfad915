package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
)

var start = time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC)

// seed writes the sample data. What is there from an earlier run is left as it
// is.
func seed(ctx context.Context, s *store.Store, out report.Report) error {
	out.Title("Sample data")
	var errs []error
	for _, name := range []string{"Ana", "Bob", "Eva"} {
		id := strings.ToLower(name)
		errs = append(errs, unlessThere(s.AddUser(ctx, store.User{ID: id, Email: id + "@example.com", Name: name, CreatedAt: start})))
	}
	published := start // of the first post, which has comments
	for i, at := range []*time.Time{&published, nil, nil, nil} {
		errs = append(errs, unlessThere(s.AddPost(ctx, store.Post{
			ID: fmt.Sprintf("p%d", i+1), AuthorID: "ana", Title: fmt.Sprintf("Day %d", i+1),
			CreatedAt: start.AddDate(0, 0, i), PublishedAt: at,
		}, fmt.Appendf(nil, "What happened on day %d.", i+1))))
	}
	for i, text := range []string{"First!", "Nice", "I see it differently", "Thanks"} {
		errs = append(errs, unlessThere(s.AddComment(ctx, store.Comment{
			ID: fmt.Sprintf("c%d", i+1), PostID: "p1", AuthorID: "bob", Text: text,
			CreatedAt: start.Add(time.Duration(i+1) * time.Hour),
		})))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	out.Line("  3 users, 4 posts and 4 comments (2 items each), their counts: one table")
	out.Spent("written")
	return nil
}

func unlessThere(err error) error {
	if errors.Is(err, table.ErrExists) || errors.Is(err, store.ErrAlreadyMember) {
		return nil
	}
	return err
}
