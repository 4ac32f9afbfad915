package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

type post struct {
	ID        string `json:"postId"`
	Author    string `json:"authorId"`
	Title     string `json:"title"`
	CreatedAt string `json:"createdAt"`
	Published string `json:"publishedAt,omitempty"`
}

type comment struct {
	ID        string `json:"commentId"`
	Post      string `json:"postId"`
	Author    string `json:"authorId"`
	Name      string `json:"authorName"`
	Avatar    string `json:"authorAvatar,omitempty"`
	Text      string `json:"text"`
	CreatedAt string `json:"createdAt"`
}

type postPage struct {
	Post         post      `json:"post"`
	Content      string    `json:"content"`
	CommentCount int64     `json:"commentCount"`
	Comments     []comment `json:"comments"`
}

func postOf(p store.Post) post {
	v := post{ID: p.ID, Author: p.AuthorID, Title: p.Title, CreatedAt: httpapi.Clock(p.CreatedAt)}
	if p.PublishedAt != nil {
		v.Published = httpapi.Clock(*p.PublishedAt)
	}
	return v
}

// commentOf returns a comment whose id has the time, which is part of its key.
func commentOf(c store.Comment) comment {
	at := httpapi.Clock(c.CreatedAt)
	return comment{at + "~" + c.ID, c.PostID, c.AuthorID, c.AuthorName, c.AuthorAvatar, c.Text, at}
}

func (a *API) listOwnPosts(w http.ResponseWriter, r *http.Request, user string) error {
	return list(a, w, r, store.PostsQuery(user), a.Store.Posts.Query, postOf)
}

func (a *API) listOwnComments(w http.ResponseWriter, r *http.Request, user string) error {
	return list(a, w, r, store.CommentsByAuthorQuery(user), a.Store.Comments.Query, commentOf)
}

func (a *API) listPublished(w http.ResponseWriter, r *http.Request, _ string) error {
	return list(a, w, r, store.PublishedQuery(), a.Store.Posts.Query, postOf)
}

// createPost stores a draft. Content over 64 KB is for putContent.
func (a *API) createPost(w http.ResponseWriter, r *http.Request, user string) error {
	p := store.Post{ID: newID(), AuthorID: user, CreatedAt: now()}
	var body string
	if err := httpapi.ReadJSON(w, r, map[string]any{"title": &p.Title, "content": &body}); err != nil {
		return err
	}
	if err := text("title", p.Title); err != nil {
		return err
	}
	return a.create(w, r, user, "CreatePost", []string{p.Title, body}, func(ctx context.Context) (string, any, []table.Op, error) {
		ops, err := a.Store.PostOps(ctx, &p, []byte(body))
		return "/posts/" + p.ID, postOf(p), ops, err
	})
}

// visible returns [table.ErrNotFound] for another user's draft, as for no post at all.
func visible(p store.Post, user string) error {
	if p.PublishedAt == nil && p.AuthorID != user {
		return table.ErrNotFound
	}
	return nil
}

func (a *API) getPost(w http.ResponseWriter, r *http.Request, user string) error {
	page, err := a.Store.PostWithComments(r.Context(), r.PathValue("id"), httpapi.DefaultLimit)
	if err = cmp.Or(err, visible(page.Post, user)); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, postPage{
		postOf(page.Post), string(page.Content), page.Post.Comments, httpapi.ListOf(page.Comments, "", commentOf).Items,
	})
}

// post reads a post that the user may see.
func (a *API) post(r *http.Request, user string) (store.Post, error) {
	p, err := a.Store.Posts.Consistent().Get(r.Context(), store.PostKey(r.PathValue("id")))
	if err != nil {
		return p, err
	}
	return p, visible(p, user)
}

// ofAuthor serves the author of a post. For others there is no such post to write.
func (a *API) ofAuthor(serve func(w http.ResponseWriter, r *http.Request, id string) error) endpoint {
	return func(w http.ResponseWriter, r *http.Request, user string) error {
		p, err := a.post(r, user)
		if err == nil && p.AuthorID != user {
			err = table.ErrNotFound
		}
		if err != nil {
			return err
		}
		return serve(w, r, p.ID)
	}
}

func (a *API) deletePost(w http.ResponseWriter, r *http.Request, id string) error {
	return done(w, a.Store.DeletePost(r.Context(), id))
}

func (a *API) putContent(w http.ResponseWriter, r *http.Request, id string) error {
	data, err := content(w, r)
	if err != nil {
		return err
	}
	if !utf8.Valid(data) { // it is returned as JSON
		return rest.BadRequest("invalid_content", "the content must be UTF-8")
	}
	return done(w, a.Store.SetPostContent(r.Context(), id, data))
}

func (a *API) publish(w http.ResponseWriter, r *http.Request, id string) error {
	_, err := a.Store.Publish(r.Context(), id, now())
	return done(w, err)
}

func (a *API) unpublish(w http.ResponseWriter, r *http.Request, id string) error {
	_, err := a.Store.Unpublish(r.Context(), id)
	return done(w, err)
}

func (a *API) listComments(w http.ResponseWriter, r *http.Request, user string) error {
	p, err := a.post(r, user)
	if err != nil {
		return err
	}
	return list(a, w, r, store.CommentsQuery(p.ID), a.Store.Comments.Query, commentOf)
}

func (a *API) createComment(w http.ResponseWriter, r *http.Request, user string) error {
	c := store.Comment{ID: newID(), PostID: r.PathValue("id"), AuthorID: user, CreatedAt: now()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"text": &c.Text}); err != nil {
		return err
	}
	if err := text("text", c.Text); err != nil {
		return err
	}
	return a.create(w, r, user, "CreateComment", []string{c.PostID, c.Text}, func(ctx context.Context) (string, any, []table.Op, error) {
		ops, err := a.Store.CommentOps(ctx, &c) // on what the user may see only
		id := commentOf(c).ID
		return "/posts/" + c.PostID + "/comments/" + id, map[string]string{"commentId": id}, ops, err
	})
}

// countView counts a view of a post that the user may see.
func (a *API) countView(w http.ResponseWriter, r *http.Request, user string) error {
	id := r.PathValue("id")
	return a.create(w, r, user, "CountView", []string{id}, func(context.Context) (string, any, []table.Op, error) {
		_, err := a.post(r, user)
		event := user + "#" + r.Header.Get("Idempotency-Key")
		return "/posts/" + id + "/views", map[string]string{"postId": id}, []table.Op{store.CountOp(store.ViewsOf(id), event, 1)}, err
	})
}

func (a *API) getViews(w http.ResponseWriter, r *http.Request, user string) error {
	p, err := a.post(r, user)
	if err != nil {
		return err
	}
	views, err := a.Store.Total(r.Context(), store.ViewsOf(p.ID))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, map[string]int64{"views": views})
}

// deleteComment is for the author of the comment, who may not see the post any more, and for
// that of the post.
func (a *API) deleteComment(w http.ResponseWriter, r *http.Request, user string) error {
	clock, id, _ := strings.Cut(r.PathValue("comment"), "~")
	at, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		return table.ErrNotFound
	}
	key := store.CommentKey(store.Comment{PostID: r.PathValue("id"), ID: id, CreatedAt: at})
	c, err := a.Store.Comments.Consistent().Get(r.Context(), key)
	if err != nil {
		return err
	}
	if user != c.AuthorID {
		p, err := a.post(r, user)
		if err == nil && user != p.AuthorID {
			err = table.ErrNotFound
		}
		if err != nil {
			return err
		}
	}
	return done(w, a.Store.DeleteComment(r.Context(), key))
}
