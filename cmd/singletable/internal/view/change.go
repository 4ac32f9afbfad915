package view

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// change is the page on which an item is edited, or a change of it is confirmed.
type change struct {
	Keys   []keyPart
	Type   chip
	Action string
	Back   string
	// Guard is the token that proves that a form is one of this server.
	Guard string
	Text  string // the item in JSON, as it will be stored
	// Opened names the stored item that the text was made from, as [edit.Seen] does.
	Opened string
	// Problem is why the text is no such item.
	Problem string
	// Review is what the change does, nil on the page with the text.
	Review *review
}

// review is a change before it is written.
type review struct {
	Delete  bool
	Seen    string
	Rows    []reviewRow
	More    int // differences that are not shown
	Guarded string
	// Ignored is the version attribute, if the text has another value than is stored.
	Ignored string
	// Changed means that the stored item is not the one of the page before.
	Changed bool
	// Copies is how many other items the entity has.
	Copies int
	Claim  bool // The item is a claim.
}

// reviewRow is a difference.
type reviewRow struct {
	Path     text
	Old, New *value
}

// done is the page after a change.
type done struct {
	Keys    []keyPart
	Deleted bool
	Href    string
}

// maxForm bounds the body of a form, in bytes. An item of 400 KB is at most six times as
// long in JSON, and that three times as long in a form.
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
	of, _ := v.state.kindOf(got)
	c.Type, c.Text, c.Opened = of.chip(), dynamoJSON(got), edit.Seen(got)
	return c.page(), nil
}

func (s *server) newChange(v *visit, k keys.Key) *change {
	st := v.state
	return &change{
		Keys: st.keyParts(k, v.now), Type: chip{None: true},
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
	c := s.newChange(v, key)
	form := v.PostForm
	seen := form.Get("seen")
	c.Text, c.Opened = form.Get("text"), cmp.Or(seen, form.Get("opened"))
	remove := form.Get("do") == "delete"
	switch form.Get("do") {
	case "back":
		return c.page(), nil
	case "put", "delete":
	default:
		return nil, &pageError{http.StatusBadRequest, "The form cannot be read", "It has no known button."}
	}
	editor, err := s.editor(v.state)
	if err != nil {
		return nil, err
	}
	plan, err := v.plan(editor, key, c.Text, remove)
	if errors.Is(err, table.ErrInvalid) || errors.Is(err, table.ErrTooLarge) {
		if remove {
			return nil, &pageError{http.StatusBadRequest, "The item cannot be deleted here", escaped(err.Error())}
		}
		c.Problem = escaped(err.Error())
		return c.page(), nil
	}
	if err != nil {
		return nil, err
	}
	c.review(v, plan, remove)
	c.Review.Ignored = ignored(plan, c.Text)
	c.Review.Changed = c.Opened != "" && c.Opened != plan.Seen
	if seen == "" || c.Review.Changed || len(plan.Differences) == 0 {
		return c.page(), nil
	}
	err = editor.Apply(v.Context(), plan)
	if errors.Is(err, edit.ErrChanged) {
		if plan, err = v.plan(editor, key, c.Text, remove); err != nil {
			return nil, err
		}
		c.review(v, plan, remove)
		c.Review.Changed = true
		return c.page(), nil
	}
	if err != nil {
		return nil, err
	}
	return c.done(v, key, remove), nil
}

// done returns the page after the change.
func (c *change) done(v *visit, key keys.Key, remove bool) *page {
	d := done{Keys: c.Keys, Deleted: remove, Href: c.Back}
	if remove {
		d.Href = v.state.partitionAddress(v.state.layouts[0], []string{string(key.PK)})
	}
	return &page{Template: "done", Title: "Written", Content: d, At: "browse:"}
}

// ignored returns the version attribute that guards a plan, if the text has another value
// of it than is stored: the write sets it, whatever the text says.
func ignored(plan edit.Plan, text string) string {
	item, err := dynamojson.Decode(text)
	if err != nil || plan.Guard != edit.ByVersion || edit.Equal(item[plan.Version], plan.Old[plan.Version]) {
		return ""
	}
	return plan.Version
}

// plan plans to store the item in the text under the key, or to delete that item.
func (v *visit) plan(editor *edit.Editor, key keys.Key, text string, remove bool) (edit.Plan, error) {
	if remove {
		return editor.Delete(v.Context(), key)
	}
	item, err := dynamojson.Decode(text)
	if err != nil {
		return edit.Plan{}, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	if v.state.table.KeyOf("", item) != key {
		return edit.Plan{}, fmt.Errorf("%w: the text has another key, and so is another item", table.ErrInvalid)
	}
	return editor.Put(v.Context(), item)
}

// editor returns the editor of a table. Items are guarded by the version of their entity.
// Without a schema file, a number called version can be data of the item, such as that of
// a document, and is not changed: all attributes are the guard then.
func (s *server) editor(st *state) (*edit.Editor, error) {
	_, model := st.types()
	return edit.New(s.client, st.schema, func(item table.Item) string {
		kind := st.typeOf(item)
		for _, e := range model.Entities {
			if e.Type != kind {
				continue
			}
			given := slices.ContainsFunc(st.given, named(kind))
			if given || e.Version == "revision" {
				return e.Version
			}
		}
		return ""
	})
}

// review sets what a plan changes.
func (c *change) review(v *visit, plan edit.Plan, remove bool) {
	stored := plan.Old
	if stored == nil {
		stored = plan.New
	}
	of, _ := v.state.kindOf(stored)
	c.Type = of.chip()
	r := &review{Delete: remove, Seen: plan.Seen, Claim: of.Claim}
	show := func(a types.AttributeValue) *value {
		if a == nil {
			return nil
		}
		shown := newValue(a, longText, v.now)
		return &shown
	}
	r.More = max(0, len(plan.Differences)-maxAttributes)
	for _, d := range plan.Differences[:len(plan.Differences)-r.More] {
		r.Rows = append(r.Rows, reviewRow{newText(d.Path, longText), show(d.Old), show(d.New)})
	}
	switch plan.Guard {
	case edit.ByVersion:
		r.Guarded = "It is written if " + plan.Version + " is still the same, which then changes."
	case edit.ByMissing:
		r.Guarded = "No item is stored under this key. It is written if that is still so."
	default:
		r.Guarded = "It is written if all attributes are still the same. No attribute is known that counts the writes of this entity: a schema file with entities names it."
	}
	_, model := v.state.types()
	if e, _, ok := model.Find(stored); ok && !of.Claim {
		r.Copies = len(e.Items) - 1
	}
	c.Review = r
}
