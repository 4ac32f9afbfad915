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
	"github.com/singletable/singletable/table/tablemodel"
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
	// Entity says what is changed together with the item, nil if nothing is known to be.
	Entity *entityNote
	// Together means that it is.
	Together bool
	// Problem is why the text is no such item.
	Problem string
	// Review is what the change does, nil on the page with the text.
	Review *review
}

// entityNote says what an entity has besides an item.
type entityNote struct {
	Copies int  // other items
	Keys   bool // The item has keys in indexes that are made of attributes.
}

// review is a change before it is written.
type review struct {
	Delete, Create bool
	Seen           string
	reviewItem
	// Others are the other items of the entity that change, too.
	Others  []reviewItem
	Guarded string
	// Alone is why the other items of the entity are not changed.
	Alone string
	// Ignored is the version attribute, if the text has another value than is stored.
	Ignored string
	// Changed means that the stored item is not the one of the page before.
	Changed bool
	// Copies are the other items of the entity that stay as they are, and Claims those that
	// are known.
	Copies, Claims []link
	// Unread means that claims can exist that were not read.
	Unread bool
	Claim  bool // The item is a claim.
}

// reviewItem is what changes of one item.
type reviewItem struct {
	link
	Title string
	Rows  []reviewRow
	More  int // differences that are not shown
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
	c.Entity = v.state.entityNote(got)
	c.Together = c.Entity != nil
	return c.page(), nil
}

// entityNote returns what the entity of an item has besides it.
func (s *state) entityNote(item table.Item) *entityNote {
	_, model := s.types()
	e, here, ok := model.Find(item)
	if of, _ := s.kindOf(item); !ok || of.Claim {
		return nil
	}
	n := entityNote{Copies: len(e.Items) - 1, Keys: len(e.Items[here].Indexes) > 0}
	if n == (entityNote{}) {
		return nil
	}
	return &n
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
	return s.decide(v, s.newChange(v, key), key)
}

// decide is what the form says: back to the text, the difference, or the write.
func (s *server) decide(v *visit, c *change, key keys.Key) (*page, error) {
	form := v.PostForm
	do, seen := form.Get("do"), form.Get("seen")
	c.Text, c.Together = form.Get("text"), form.Get("together") != ""
	main, _, _ := strings.Cut(seen, "-")
	c.Opened = cmp.Or(main, form.Get("opened"))
	if item, err := dynamojson.Decode(c.Text); err == nil {
		c.Entity = v.state.entityNote(item)
	} else if c.Together {
		c.Entity = &entityNote{}
	}
	remove := do == "delete" || do == "delete all"
	c.Together = c.Together && !remove || do == "delete all"
	switch do {
	case "back":
		return c.page(), nil
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
		return c.refused(err, remove)
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
			return c.refused(err, remove)
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
func (c *change) refused(err error, remove bool) (*page, error) {
	switch {
	case !errors.Is(err, table.ErrInvalid) && !errors.Is(err, table.ErrTooLarge):
		return nil, err
	case remove:
		return nil, &pageError{http.StatusBadRequest, "The item cannot be deleted here", escaped(err.Error())}
	}
	c.Problem, c.Review = escaped(err.Error()), nil
	return c.page(), nil
}

// done returns the page after the change.
func (c *change) done(v *visit, key keys.Key, remove bool) *page {
	d := done{Keys: c.Keys, Deleted: remove, Href: c.Back}
	if remove {
		d.Href = v.state.partitionAddress(v.state.layouts[0], []string{string(key.PK)})
	}
	return &page{Template: "done", Title: "Written", Content: d, At: "browse:"}
}

// writing is a change of an item, alone or with the others of its entity.
type writing struct {
	v                *visit
	editor           *edit.Editor
	key              keys.Key
	text             string
	remove, together bool

	// plans are what is written, that of the item first.
	plans []edit.Plan
	// alone is why the other items of the entity are not among them.
	alone error
}

// plan plans to store the item in the text under the key, or to delete that item. If the
// other items of the entity cannot be told, it plans for the item alone.
func (w *writing) plan() (err error) {
	w.alone = nil
	if w.together {
		w.plans, err = w.planEntity()
		if !errors.Is(err, edit.ErrAlone) {
			return err
		}
		w.alone = err
	}
	var plan edit.Plan
	if w.remove {
		plan, err = w.editor.Delete(w.v.Context(), w.key)
	} else {
		var item table.Item
		if item, err = w.item(); err == nil {
			plan, err = w.editor.Put(w.v.Context(), item)
		}
	}
	w.plans = []edit.Plan{plan}
	return err
}

func (w *writing) planEntity() ([]edit.Plan, error) {
	st := w.v.state
	_, model := st.types()
	find := func(item table.Item) (tablemodel.Entity, int, error) {
		e, here, ok := model.Find(item)
		if !ok {
			return e, here, fmt.Errorf("%w: the entity is not known", edit.ErrAlone)
		}
		return e, here, nil
	}
	if w.remove {
		stored, err := st.stored(w.v, w.key)
		if err != nil {
			return nil, err
		}
		e, here, err := find(stored)
		if err != nil {
			return nil, err
		}
		return w.editor.DeleteEntity(w.v.Context(), e, here, w.key)
	}
	item, err := w.item()
	if err != nil {
		return nil, err
	}
	e, here, err := find(item)
	if err != nil {
		return nil, err
	}
	return w.editor.PutEntity(w.v.Context(), e, here, item)
}

// item returns the item in the text.
func (w *writing) item() (table.Item, error) {
	item, err := dynamojson.Decode(w.text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	if w.v.state.table.KeyOf("", item) != w.key {
		return nil, fmt.Errorf("%w: the text has another key, and so is another item", table.ErrInvalid)
	}
	return item, nil
}

// seen names what is stored under all keys.
func (w *writing) seen() string {
	var all []string
	for _, p := range w.plans {
		all = append(all, p.Seen)
	}
	return strings.Join(all, "-")
}

// writes reports whether the item changes.
func (w *writing) writes() bool { return len(w.plans[0].Differences) > 0 }

// ignored returns the version attribute that guards the item, if the text has another value
// of it than is stored: the write sets it, whatever the text says.
func (w *writing) ignored() string {
	plan := w.plans[0]
	item, err := dynamojson.Decode(w.text)
	if err != nil || plan.Guard != edit.ByVersion || edit.Equal(item[plan.Version], plan.Old[plan.Version]) {
		return ""
	}
	return plan.Version
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

// review sets what is written, and what stays as it is. seen is what the page before has
// shown.
func (c *change) review(v *visit, w writing, seen string) error {
	st, plan := v.state, w.plans[0]
	shown := plan.Old
	if shown == nil {
		shown = plan.New
	}
	of, _ := st.kindOf(shown)
	c.Type = of.chip()
	r := &review{
		Delete: w.remove, Create: plan.Old == nil && !w.remove, Seen: w.seen(), Claim: of.Claim, Ignored: w.ignored(),
		reviewItem: st.newReviewItem(v, plan),
	}
	for _, p := range w.plans[1:] {
		r.Others = append(r.Others, st.newReviewItem(v, p))
	}
	r.Changed = seen != "" && seen != r.Seen || c.Opened != "" && c.Opened != plan.Seen
	r.Guarded = guarded(w.plans)
	if w.alone != nil {
		r.Alone = escaped(w.alone.Error())
	}
	r.Title = "" // It is that of the page.
	c.Review = r
	if plan.Old == nil || of.Claim {
		return nil
	}
	if len(r.Others) == 0 {
		r.Copies = st.otherItems(v, plan.Old)
	}
	if !w.remove {
		return nil
	}
	r.Unread = !of.Claim
	var err error
	r.Claims, err = st.claims(v, plan.Old)
	return err
}

// guarded says what the write is conditional on.
func guarded(plans []edit.Plan) string {
	does := "written"
	if plans[0].New == nil {
		does = "deleted"
	}
	if len(plans) > 1 {
		return fmt.Sprintf("The %d items are %s in one transaction, all or none, and only if each of them is still as it is shown.", len(plans), does)
	}
	switch plan := plans[0]; plan.Guard {
	case edit.ByVersion:
		if plan.New == nil {
			return "It is deleted if " + plan.Version + " is still the same."
		}
		return "It is written if " + plan.Version + " is still the same, which then changes."
	case edit.ByMissing:
		return "No item is stored under this key. It is written if that is still so."
	}
	return "It is " + does + " if all attributes are still the same. No attribute is known that counts the writes of this entity: a schema file with entities names it."
}

// newReviewItem returns what a plan changes.
func (s *state) newReviewItem(v *visit, plan edit.Plan) reviewItem {
	r := reviewItem{link: s.link(plan.Key, v.now), Title: "changes"}
	switch {
	case plan.New == nil:
		r.Title = "is deleted"
	case plan.Old == nil:
		r.Title = "is created"
	case len(plan.Differences) == 0:
		r.Title = "gets the new " + plan.Version
	}
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
	return r
}

// otherItems returns the other items of an entity, as far as their keys are known.
func (s *state) otherItems(v *visit, item table.Item) (all []link) {
	_, model := s.types()
	e, here, ok := model.Find(item)
	if !ok {
		return nil
	}
	ks, _ := e.Keys(item) // Those that it cannot tell are zero.
	for i, k := range ks {
		if i != here && k != (keys.Key{}) {
			all = append(all, s.link(k, v.now))
		}
	}
	return all
}
