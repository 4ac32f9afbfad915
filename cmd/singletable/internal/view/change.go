package view

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// change is the page on which an item is edited, or a change of it is confirmed.
type change struct {
	key    keys.Key
	Keys   []keyPart
	Type   chip
	Action string
	Back   string
	// Guard is the token that proves that a form is one of this server.
	Guard string
	Text  string // the item in JSON, as it will be stored
	// Opened names the stored item that the text was made from, as [edit.Seen] does.
	Opened string
	// Entity says what is changed together with the item, nil if nothing is known to be.
	Entity *entityNote
	// Unread means that the entity can have copies that are not known.
	Unread bool
	// Together means that it is.
	Together bool
	// Problem is why the text is no such item.
	Problem string
	// Review is what the change does, nil on the page with the text.
	Review *review
}

// done is the page after a change.
type done struct {
	Keys    []keyPart
	Deleted bool
	Href    string
}

// maxForm bounds the body of a form, in bytes. An item of 400 KB is at most six times as
// long in JSON, and that three times as long in a form. AWS: "Constraints in Amazon
// DynamoDB", Amazon DynamoDB Developer Guide.
const maxForm = 8 << 20

// formGuard returns a text that forms send back, and that no other site can know.
func (s *server) formGuard() string {
	mac := hmac.New(sha256.New, []byte(s.options.Token))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// checkForm reads the form of a request and refuses one that is not of this server.
func (s *server) checkForm(v *visit) error {
	v.Body = http.MaxBytesReader(nil, v.Body, maxForm)
	if err := v.ParseForm(); err != nil {
		return &pageError{http.StatusBadRequest, "The form cannot be read", "It is too long, or was changed."}
	}
	if !hmac.Equal([]byte(v.PostForm.Get("guard")), []byte(s.formGuard())) {
		return &pageError{http.StatusForbidden, "Not a form of this server", "Nothing was written. Open the item again."}
	}
	return nil
}

// edit is the page with the text of an item.
func (s *server) edit(v *visit) (*page, error) {
	got, err := s.read(v)
	if err != nil {
		return nil, err
	}
	c := s.newChange(v, v.state.table.KeyOf("", got))
	c.Text, c.Opened, c.Together = dynamoJSON(got), edit.Seen(got), true
	return c.edited(v)
}

// edited returns the page with the text. It says what it is, and what changes with it. Where
// the text is not this item, that is told by the stored one.
func (c *change) edited(v *visit) (*page, error) {
	st := v.state
	item, err := dynamojson.Decode(c.Text)
	if err != nil || st.table.KeyOf("", item) != c.key {
		item, err = table.Get[table.Item](v.Context(), st.table.Consistent(), c.key)
		if errors.Is(err, table.ErrNotFound) {
			return c.page(), nil
		}
		if err != nil {
			return nil, err
		}
	}
	of, _ := st.kindOf(item)
	c.Type, c.Unread = st.chipOf(of), st.unread(item)
	c.Entity, err = st.entityNote(v, item)
	return c.page(), err
}

func (s *server) newChange(v *visit, k keys.Key) *change {
	st := v.state
	return &change{
		key: k, Keys: st.keyParts(k, v.now), Type: st.chipOf(kind{}),
		Action: st.itemAddress("edit", k), Back: st.itemAddress("item", k), Guard: s.formGuard(),
	}
}

func (c *change) page() *page {
	status := http.StatusOK
	switch {
	case c.Problem != "":
		status = http.StatusBadRequest
	case c.Review != nil && c.Review.Changed:
		status = http.StatusConflict
	}
	return &page{Template: "change", Title: "Change " + strings.Join(stored(c.Keys), " / "), Content: c, At: "browse:", Status: status}
}

// change shows what a form would change, or writes it if that was shown before.
func (s *server) change(v *visit) (*page, error) {
	if err := s.checkForm(v); err != nil {
		return nil, err
	}
	if err := s.openTable(v, false); err != nil {
		return nil, err
	}
	key, err := v.key()
	if err != nil {
		return nil, err
	}
	return s.decide(v, s.newChange(v, key), key)
}

// decide is what the form says: back to the text, the difference, or the write.
func (s *server) decide(v *visit, c *change, key keys.Key) (*page, error) {
	form := v.PostForm
	do, seen := form.Get("do"), form.Get("seen")
	c.Text, c.Together = form.Get("text"), form.Get("together") != ""
	main, _, _ := strings.Cut(seen, "-")
	c.Opened = cmp.Or(main, form.Get("opened"))
	remove := do == "delete" || do == "delete all"
	c.Together = c.Together && !remove || do == "delete all"
	switch do {
	case "back":
		return c.edited(v)
	case "put", "delete", "delete all":
	default:
		return nil, &pageError{http.StatusBadRequest, "The form cannot be read", "It has no known button."}
	}
	editor, err := s.editor(v.state)
	if err != nil {
		return nil, err
	}
	w := writing{v: v, editor: editor, key: key, text: c.Text, remove: remove, together: c.Together}
	if err := w.plan(); err != nil {
		return c.refused(w, err)
	}
	if err := c.review(v, w, seen); err != nil {
		return nil, err
	}
	if seen == "" || c.Review.Changed || !w.writes() {
		return c.page(), nil
	}
	err = editor.ApplyAll(v.Context(), w.plans)
	if errors.Is(err, edit.ErrChanged) {
		if err := w.plan(); err != nil {
			return c.refused(w, err)
		}
		err = c.review(v, w, seen)
		c.Review.Changed = true
		return c.page(), err
	}
	if err != nil {
		return nil, err
	}
	return c.done(v, key, remove), nil
}

// refused returns the page for a change that cannot be made, and other errors as they are.
func (c *change) refused(w writing, err error) (*page, error) {
	switch {
	case !errors.Is(err, table.ErrInvalid) && !errors.Is(err, table.ErrTooLarge):
		return nil, err
	case w.remove:
		return nil, &pageError{http.StatusBadRequest, "The item cannot be deleted here", escaped(err.Error())}
	}
	c.Problem, c.Review = escaped(err.Error()), nil
	shown, err2 := c.edited(w.v)
	switch {
	case errors.Is(err, edit.ErrLeft) && c.wasStored():
		c.Problem = "The item is gone: it was deleted since you opened it. Nothing was written. " + c.Problem
	case errors.Is(err, edit.ErrDetached) && c.Unread && c.Together:
		c.Problem += ". If this pattern, which was inferred, is wrong: change the item alone, without the box below"
	}
	return shown, err2
}

// wasStored reports whether the text was made from a stored item.
func (c *change) wasStored() bool { return c.Opened != "" && c.Opened != edit.Seen(nil) }

// done returns the page after the change.
func (c *change) done(v *visit, key keys.Key, remove bool) *page {
	d := done{Keys: c.Keys, Deleted: remove, Href: c.Back}
	if remove {
		d.Href = v.state.partitionAddress(v.state.layouts[0], []string{string(key.PK)})
	}
	return &page{Template: "done", Title: "Written", Content: d, At: "browse:"}
}
