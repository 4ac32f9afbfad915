package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// list reads a query and prints its rows.
func list[T any](ctx context.Context, r *repo.Repo[T], out report.Report, title string, q table.Query, row func(T) string) error {
	out.Title("%s", title)
	out.Query(store.Schema(""), q)
	found, err := table.Collect(r.All(ctx, q))
	if err != nil {
		return err
	}
	report.Found(out, found, row)
	return nil
}

func keyRow(k keys.Key, cells ...any) string {
	text := fmt.Sprintf("%s\t%s", k.PK, k.SK)
	for _, c := range cells {
		text += fmt.Sprintf("\t%v", c)
	}
	return text
}

// postsAndComments are patterns 1 to 3.
func postsAndComments(ctx context.Context, s *store.Store, out report.Report) error {
	err := list(ctx, s.Posts, out, "1. An author's posts, newest first", store.PostsQuery("ana"),
		func(p store.Post) string { return keyRow(store.AuthorKey(p), p.Title) })
	if err != nil {
		return err
	}

	q := store.CommentsQuery("p1")
	q.Limit = 3
	out.Title("2. The comments on a post, newest first, page by page")
	out.Query(store.Schema(""), q)
	for number := 1; ; number++ {
		page, err := s.Comments.Query(ctx, q)
		if err != nil {
			return err
		}
		out.Line("  page %d", number)
		for _, c := range page.Items {
			out.Rows(keyRow(store.CommentKey(c), c.AuthorName, c.Text))
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	out.Cost("read", 4)

	out.Title("3. A post with its newest comments, in one query")
	out.Line("  table, partition key = %s, backwards: METADATA, then COMMENT#…", store.PostKey("p1").PK)
	page, err := s.PostWithComments(ctx, "p1", 2)
	if err != nil {
		return err
	}
	out.Rows(keyRow(store.PostKey(page.Post.ID), page.Post.Title, fmt.Sprintf("%d comments", page.Post.Comments)))
	for _, c := range page.Comments {
		out.Rows(keyRow(store.CommentKey(c), c.Text))
	}
	out.Cost("read", 1+len(page.Comments))
	return nil
}

// largeContent is a text that does not fit into an item.
func largeContent(ctx context.Context, s *store.Store, out report.Report) error {
	out.Title("   The text of a post, over %d KB: in an object", store.MaxInline>>10)
	if err := s.SetPostContent(ctx, "p3", make([]byte, 150<<10)); err != nil {
		return err
	}
	page, err := s.PostWithComments(ctx, "p3", 1)
	if err != nil {
		return err
	}
	item, err := s.Contents.Get(ctx, store.ContentKey(store.PostKey("p3").PK))
	if err != nil {
		return err
	}
	out.Line("  %s %s: the item has %d bytes and the name of an object of %d", item.Of, "CONTENT", len(item.Data), len(page.Content))
	out.Spent("writing it and reading it twice")
	return nil
}

// publishedPosts is pattern 4.
func publishedPosts(ctx context.Context, s *store.Store, out report.Report) error {
	for i, id := range []string{"p1", "p2", "p3"} {
		if _, err := s.Publish(ctx, id, start.AddDate(0, 1, i)); err != nil {
			return err
		}
	}
	out.Meter.Take()
	row := func(p store.Post) string { return keyRow(store.PublishedKey(p), p.Title) }
	err := list(ctx, s.Posts, out, "4. Published posts of all authors, newest first", store.PublishedQuery(), row)
	if err != nil {
		return err
	}
	if _, err := s.Unpublish(ctx, "p2"); err != nil {
		return err
	}
	out.Spent("unpublishing p2")
	return list(ctx, s.Posts, out, "   The same after p2 was unpublished", store.PublishedQuery(), row)
}

// groups are patterns 5 and 6.
func groups(ctx context.Context, s *store.Store, out report.Report) error {
	err := errors.Join(
		unlessThere(s.OpenGroup(ctx, store.Group{ID: "cooks", Name: "Cooks", Description: "What we eat"}, "ana", start)),
		unlessThere(s.OpenGroup(ctx, store.Group{ID: "runners", Name: "Runners"}, "bob", start.AddDate(0, 0, 2))),
		unlessThere(s.Join(ctx, store.Membership{GroupID: "cooks", UserID: "bob", Role: store.Member, JoinedAt: start.AddDate(0, 0, 1)})),
	)
	if err != nil {
		return err
	}
	out.Meter.Take()
	byGroup := func(m store.Membership) string {
		return keyRow(store.MemberKey(m), m.UserName, m.Role, m.JoinedAt.Format(time.DateOnly))
	}
	byUser := func(m store.Membership) string {
		return keyRow(store.MemberOfKey(m), m.GroupName, m.Role, m.JoinedAt.Format(time.DateOnly))
	}
	if err := list(ctx, s.Memberships, out, "5. The members of a group", store.MembersQuery("cooks"), byGroup); err != nil {
		return err
	}
	if err := list(ctx, s.Memberships, out, "6. The groups of a user: the other copy", store.GroupsQuery("bob"), byUser); err != nil {
		return err
	}
	g, err := s.Group(ctx, "cooks")
	if err != nil {
		return err
	}
	u, err := s.User(ctx, "bob")
	if err != nil {
		return err
	}
	out.Line("  counts, kept in the transactions of joining and leaving: cooks has %d members, bob is in %d groups", g.Members, u.Groups)
	out.Cost("read", 2)
	member, err := s.Membership(ctx, "cooks", "bob")
	if err != nil {
		return err
	}
	_, stranger := s.Membership(ctx, "cooks", "eva")
	out.Line("  whether bob is a member of cooks: %s; whether eva is: %v", member.Role, stranger)
	out.Cost("read", 1)
	return nil
}

// folders are patterns 7 to 9.
func folders(ctx context.Context, s *store.Store, out report.Report) error {
	year := store.Path{"work", "2024"}
	for _, p := range []store.Path{{"work"}, year, {"archive"}} {
		if _, err := s.MakeFolder(ctx, "ana", p); unlessThere(err) != nil {
			return err
		}
	}
	for i, p := range []store.Path{{"work", "2024", "plan.txt"}, {"work", "2024", "report.txt"}, {"work", "notes.txt"}} {
		if _, err := s.Upload(ctx, "ana", p, make([]byte, 900>>i), start.AddDate(0, 0, i)); unlessThere(err) != nil {
			return err
		}
	}
	out.Meter.Take()
	row := func(n store.Node) string { return keyRow(store.NodeKey(n.Drive, n.Path), n.Kind) }
	work, archived := store.Path{"work"}, store.Path{"archive", "work"}
	if err := list(ctx, s.Nodes, out, "7. What is in a folder", store.ChildrenQuery("ana", work), row); err != nil {
		return err
	}
	if err := list(ctx, s.Nodes, out, "8. Everything below a folder", store.TreeQuery("ana", work), row); err != nil {
		return err
	}
	folder, err := s.Nodes.Get(ctx, store.NodeKey("ana", year))
	if err != nil {
		return err
	}
	info := func(f store.FileInfo) string {
		return keyRow(store.FileKey(f.ID), f.Name, f.Size, f.UploadedAt.Format(time.DateOnly))
	}
	out.Meter.Take()
	if err := list(ctx, s.Files, out, "   The files of a folder, newest first", store.FilesByDateQuery("ana", folder.ID), info); err != nil {
		return err
	}
	if err := list(ctx, s.Files, out, "   The same, largest first", store.FilesBySizeQuery("ana", folder.ID), info); err != nil {
		return err
	}
	out.Title("9. A folder moves with its content, in one transaction")
	moved, err := s.Move(ctx, "ana", work, archived)
	if err != nil {
		return err
	}
	out.Line("  /work to /archive/work; at most %d nodes, or nothing is moved and the caller is told", store.MaxMove)
	out.Spent(fmt.Sprintf("%d nodes read and moved", moved))
	if err := list(ctx, s.Nodes, out, "   Everything below /archive", store.TreeQuery("ana", store.Path{"archive"}), row); err != nil {
		return err
	}
	_, err = s.Move(ctx, "ana", archived, work) // back, for the next run
	out.Meter.Take()
	return err
}

// metrics is pattern 10.
func metrics(ctx context.Context, s *store.Store, out report.Report) error {
	var points []store.Point
	for i := range 48 {
		points = append(points, store.Point{
			Source: "web-1", Name: "latency", At: start.Add(time.Duration(i) * 15 * time.Minute), Value: float64(100 + i%7),
		})
	}
	if err := s.Record(ctx, points...); err != nil {
		return err
	}
	out.Meter.Take()
	return list(ctx, s.Points, out, "10. A metric between two times: 12:00 ≤ t < 13:00",
		store.PointsQuery("web-1", "latency", start.Add(2*time.Hour), start.Add(3*time.Hour)),
		func(p store.Point) string { return keyRow(store.PointKey(p), p.Value) })
}

// counter is pattern 11.
func counter(ctx context.Context, s *store.Store, out report.Report) error {
	out.Title("11. A counter spread over %d shards", store.CounterShards)
	before, err := s.Total(ctx, "views")
	if err != nil {
		return err
	}
	out.Meter.Take()
	for i := range 20 {
		if err := s.Count(ctx, "views", fmt.Sprintf("visit-%d", i), 1); err != nil {
			return err
		}
	}
	out.Line("  counting: table, one of COUNTER#views#0 to COUNTER#views#%d and METADATA", store.CounterShards-1)
	out.Spent("counting 20 events")
	total, err := s.Total(ctx, "views")
	if err != nil {
		return err
	}
	out.Line("  the total, %d more than before, is a batch read of all of them: %d", total-before, total)
	out.Cost("read", store.CounterShards)
	return nil
}
