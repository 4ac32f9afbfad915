package core

import (
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
)

func TestDepartmentsStandBelowTheirParents(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	for _, path := range [][]string{
		{"ENG"},
		{"ENG", "BACK"},
		{"ENG", "BACK", "STORE"},
		{"ENG", "WEB"},
		{"ENGINES"},
		{"ENGINES", "V8"},
		{"ENG#BACK"}, // one department with a strange code
		{"ENG#BACK", "ODD"},
	} {
		check.Must(acme.Publish(t.Context(), Change{Ref: NewRef("DEPT", path...)}))(t)
	}
	s.settle(t)
	for name, test := range map[string]struct {
		above Ref
		want  []string
	}{
		"top":     {NewRef("DEPT", "ENG"), []string{"BACK", "STORE", "WEB"}},
		"middle":  {NewRef("DEPT", "ENG", "BACK"), []string{"STORE"}},
		"leaf":    {NewRef("DEPT", "ENG", "WEB"), nil},
		"strange": {NewRef("DEPT", "ENG#BACK"), []string{"ODD"}},
	} {
		page := check.Must(acme.Below(t.Context(), test.above, 0, ""))(t)
		check.Equal(t, name, codesOf(page.Items), test.want)
	}
	store := check.Must(acme.ByCode(t.Context(), "", "STORE", 0, ""))(t).Items
	check.Equal(t, "found by code", store[0].Ref(), NewRef("DEPT", "ENG", "BACK", "STORE"))
	check.Equal(t, "key", dataKey("ACME", store[0].Ref()), keys.Key{PK: "DEPT#ACME", SK: "DEPT#ENG#BACK#STORE"})

	// The history of a parent is not that of its children, even of one that
	// looks like a version.
	check.Must(acme.Publish(t.Context(), Change{Ref: NewRef("DEPT", "ENG", "0000000001")}))(t)
	check.Equal(t, "history", versionsOf(t, acme, NewRef("DEPT", "ENG")), []int64{1})
	check.Must(acme.Publish(t.Context(), Change{Ref: NewRef("DEPT", "ENG", "BACK"), Version: 1}))(t)
	check.Equal(t, "history", versionsOf(t, acme, NewRef("DEPT", "ENG", "BACK")), []int64{2, 1})
}

func TestACodeIsFoundInEveryTypeOfTheTenant(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for _, r := range []Ref{NewRef("PRODUCT", "X"), NewRef("DEPT", "X"), NewRef("DEPT", "X", "X"), NewRef("PRODUCT", "X1")} {
		check.Must(s.acme().Publish(t.Context(), Change{Ref: r}))(t)
	}
	check.Must(s.acme().Publish(t.Context(), Change{Ref: NewRef("PRODUCT", "X"), Version: 1}))(t)
	s.settle(t)
	var ids []string
	for _, r := range check.Must(s.acme().ByCode(t.Context(), "", "X", 0, ""))(t).Items {
		ids = append(ids, fmt.Sprint(r.ID, " at ", r.Version))
	}
	check.Equal(t, "found", ids, []string{"DEPT#ACME#X at 1", "DEPT#ACME#X#X at 1", "PRODUCT#ACME#X at 2"})
	none := check.Must(s.acme().ByCode(t.Context(), "", "Y", 0, ""))(t).Items
	check.Equal(t, "found", len(none), 0)
}

func TestWhatCannotBeRightIsRefused(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, test := range map[string]struct {
		change Change
		want   error
	}{
		"no type":           {Change{Ref: NewRef("", "X")}, ErrInvalid},
		"type of commands":  {Change{Ref: NewRef("PRODUCT_CMD", "X")}, ErrInvalid},
		"type of sequences": {Change{Ref: NewRef("SEQ", "ORD", "2024")}, ErrInvalid},
		"type of tasks":     {Change{Ref: NewRef("TASK", "X")}, ErrInvalid},
		"order, no year":    {Change{Ref: NewRef("ORDER", "ORD-000001")}, ErrInvalid},
		"product in a tree": {Change{Ref: NewRef("PRODUCT", "A", "B")}, ErrInvalid},
		"no code":           {Change{Ref: NewRef("PRODUCT", "")}, keys.ErrInvalid},
		"no path":           {Change{Ref: NewRef("PRODUCT")}, keys.ErrInvalid},
		"not text":          {Change{Ref: NewRef("PRODUCT", "\xff")}, keys.ErrInvalid},
	} {
		check.Is(t, check.Err(s.acme().Publish(t.Context(), test.change)), test.want, name)
	}
}
