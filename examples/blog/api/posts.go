package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/table"
)

type user struct {
	ID        string `json:"userId"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	Avatar    string `json:"avatar,omitempty"`
	CreatedAt string `json:"createdAt"`
}

type post struct {
	ID        string `json:"postId"`
	Author    string `json:"authorId"`
	Title     string `json:"title"`
	CreatedAt string `json:"createdAt"`
	Published string `json:"publishedAt,omitempty"`
}

type comment struct {
	ID        string `json:"commentId"`
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
	return comment{at + "~" + c.ID, c.AuthorID, c.AuthorName, c.AuthorAvatar, c.Text, at}
}

// putUser registers the user, or changes what is given.
func (a *API) putUser(w http.ResponseWriter, r *http.Request, id string) error {
	u := store.User{ID: id, CreatedAt: now()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"email": &u.Email, "name": &u.Name, "avatar": &u.Avatar}); err != nil {
		return err
	}
	if err := text("name", u.Name); err != nil {
		return err
	}
	if len(u.Avatar) > 0 && !strings.HasPrefix(u.Avatar, "https://") || len(u.Avatar) > maxText {
		return httpapi.BadRequest("invalid_avatar", "avatar must be an address that begins with https://")
	}
	stored, err := a.Store.PutUser(r.Context(), u)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, user{stored.ID, stored.Email, stored.Name, stored.Avatar, httpapi.Clock(stored.CreatedAt)})
}

func (a *API) listOwnPosts(w http.ResponseWriter, r *http.Request, user string) error {
	return list(w, r, store.PostsQuery(user), a.Store.Posts.Query, postOf)
}

func (a *API) listPublished(w http.ResponseWriter, r *http.Request, _ string) error {
	return list(w, r, store.PublishedQuery(), a.Store.Posts.Query, postOf)
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
	if err := a.Store.AddPost(r.Context(), p, []byte(body)); err != nil {
		return err
	}
	w.Header().Set("Location", "/posts/"+p.ID)
	return httpapi.WriteJSON(w, http.StatusCreated, postOf(p))
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
		postOf(page.Post), string(page.Content), page.CommentCount, httpapi.ListOf(page.Comments, "", commentOf).Items,
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
		return httpapi.BadRequest("invalid_content", "the content must be UTF-8")
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
	return list(w, r, store.CommentsQuery(p.ID), a.Store.Comments.Query, commentOf)
}

func (a *API) createComment(w http.ResponseWriter, r *http.Request, user string) error {
	p, err := a.post(r, user)
	if err != nil {
		return err
	}
	c := store.Comment{ID: newID(), PostID: p.ID, AuthorID: user, CreatedAt: now()}
	if err := httpapi.ReadJSON(w, r, map[string]any{"text": &c.Text}); err != nil {
		return err
	}
	if err := text("text", c.Text); err != nil {
		return err
	}
	if err := a.Store.AddComment(r.Context(), c); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, map[string]string{"commentId": commentOf(c).ID})
}

// deleteComment is for the author of the comment and for that of the post.
func (a *API) deleteComment(w http.ResponseWriter, r *http.Request, user string) error {
	p, err := a.post(r, user)
	if err != nil {
		return err
	}
	clock, id, _ := strings.Cut(r.PathValue("comment"), "~")
	at, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		return table.ErrNotFound
	}
	key := store.CommentKey(store.Comment{PostID: p.ID, ID: id, CreatedAt: at})
	c, err := a.Store.Comments.Consistent().Get(r.Context(), key)
	if err == nil && user != c.AuthorID && user != p.AuthorID {
		err = table.ErrNotFound
	}
	if err != nil {
		return err
	}
	return done(w, a.Store.DeleteComment(r.Context(), key))
}
