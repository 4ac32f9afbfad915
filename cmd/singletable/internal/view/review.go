package view

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
)

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
	// Changed means that what is stored is not what the page before has shown: the item, or,
	// with CopyChanged, another item of the entity. Gone means that the item was deleted.
	Changed, CopyChanged, Gone bool
	// Copies are the other items of the entity that stay as they are, and Claims those that
	// are known.
	Copies, Claims []link
	// Detached is why the attributes will not agree with the key.
	Detached string
	// NotMade are the copies and keys of a new item that are not made.
	NotMade []string
	Claim   bool // The item is a claim.
}

// reviewItem is what changes of one item.
type reviewItem struct {
	link
	Title string
	Rows  []reviewRow
	More  int // differences that are not shown
	// HasOld means that the item is stored, and HasNew that it will be.
	HasOld, HasNew bool
}

// reviewRow is a difference.
type reviewRow struct {
	Path     text
	Old, New *value
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
	c.Type, c.Unread = st.chipOf(of), st.unread(shown)
	r := &review{
		Delete: w.remove, Create: plan.Old == nil && !w.remove, Seen: w.seen(), Claim: of.Claim, Ignored: w.ignored(),
		reviewItem: st.newReviewItem(v, plan),
	}
	for _, p := range w.plans[1:] {
		r.Others = append(r.Others, st.newReviewItem(v, p))
	}
	r.Changed = seen != "" && seen != r.Seen || c.Opened != "" && c.Opened != plan.Seen
	r.CopyChanged = r.Changed && c.Opened == plan.Seen
	r.Gone = r.Changed && plan.Old == nil && c.wasStored()
	r.Guarded = guarded(w.plans)
	if w.alone != nil {
		r.Alone = escaped(w.alone.Error())
	}
	r.Title = "" // It is that of the page.
	c.Review = r
	if r.Create {
		r.NotMade = st.notMade(w.plans)
	}
	if !w.remove {
		_, model := st.types()
		if err := st.detached(model.Model, plan); err != nil {
			r.Detached = escaped(err.Error())
		}
	}
	if plan.Old == nil || of.Claim {
		return nil
	}
	var err error
	if len(r.Others) == 0 {
		if r.Copies, err = st.otherItems(v, plan.Old); err != nil {
			return err
		}
	}
	if !w.remove {
		return nil
	}
	r.Claims, err = st.claims(v, plan.Old)
	return err
}

// Items is how many items the change writes.
func (r *review) Items() int { return 1 + len(r.Others) }

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
	r := reviewItem{link: s.link(plan.Key, v.now), Title: "changes", HasOld: plan.Old != nil, HasNew: plan.New != nil}
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
