package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func TestListsArePagedInTheOrderOfCodes(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	acme := s.acme()
	var want, got []string
	for i := range 7 {
		code := fmt.Sprintf("P-%d", i)
		want = append(want, code)
		must[Record](t)(acme.publish(t.Context(), Change{Ref: ref("PRODUCT", code)}))
	}
	pages := 0
	for after := ""; ; pages++ {
		page := must[table.Page[Record]](t)(acme.list(t.Context(), "PRODUCT", 3, after))
		got = append(got, codesOf(page.Items)...)
		if after = page.Next; after == "" {
			break
		}
	}
	equal(t, "codes", got, want)
	equal(t, "pages before the last", pages, 2)
}

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
		must[Record](t)(acme.publish(t.Context(), Change{Ref: ref("DEPT", path...)}))
	}
	for name, test := range map[string]struct {
		above Ref
		want  []string
	}{
		"top":     {ref("DEPT", "ENG"), []string{"BACK", "STORE", "WEB"}},
		"middle":  {ref("DEPT", "ENG", "BACK"), []string{"STORE"}},
		"leaf":    {ref("DEPT", "ENG", "WEB"), nil},
		"strange": {ref("DEPT", "ENG#BACK"), []string{"ODD"}},
	} {
		page := must[table.Page[Record]](t)(acme.below(t.Context(), test.above, 0, ""))
		equal(t, name, codesOf(page.Items), test.want)
	}
	store := must[[]Record](t)(acme.byCode(t.Context(), "STORE"))
	equal(t, "found by code", store[0].Ref(), ref("DEPT", "ENG", "BACK", "STORE"))
	equal(t, "key", dataKey("ACME", store[0].Ref()), keys.Key{PK: "DEPT#ACME", SK: "DEPT#ENG#BACK#STORE"})

	// The history of a parent is not that of its children, even of one that
	// looks like a version.
	must[Record](t)(acme.publish(t.Context(), Change{Ref: ref("DEPT", "ENG", "0000000001")}))
	equal(t, "history", versionsOf(t, acme, ref("DEPT", "ENG")), []int64{1})
	must[Record](t)(acme.publish(t.Context(), Change{Ref: ref("DEPT", "ENG", "BACK"), Version: 1}))
	equal(t, "history", versionsOf(t, acme, ref("DEPT", "ENG", "BACK")), []int64{2, 1})
}

func TestNothingStandsBelowNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	orphan := ref("DEPT", "NOWHERE", "TEAM")
	if _, err := s.acme().publish(t.Context(), Change{Ref: orphan}); !errors.Is(err, ErrNoParent) {
		t.Errorf("error: %v", err)
	}
	if _, err := s.acme().get(t.Context(), orphan); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}

func TestACodeIsFoundInEveryTypeOfTheTenant(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for _, r := range []Ref{ref("PRODUCT", "X"), ref("DEPT", "X"), ref("DEPT", "X", "X"), ref("PRODUCT", "X1")} {
		must[Record](t)(s.acme().publish(t.Context(), Change{Ref: r}))
	}
	must[Record](t)(s.acme().publish(t.Context(), Change{Ref: ref("PRODUCT", "X"), Version: 1}))
	var ids []string
	for _, r := range must[[]Record](t)(s.acme().byCode(t.Context(), "X")) {
		ids = append(ids, fmt.Sprint(r.ID, " at ", r.Version))
	}
	equal(t, "found", ids, []string{"DEPT#ACME#X at 1", "DEPT#ACME#X#X at 1", "PRODUCT#ACME#X at 2"})
	none := must[[]Record](t)(s.acme().byCode(t.Context(), "Y"))
	equal(t, "found", len(none), 0)
}

func TestWhatCannotBeRightIsRefused(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	for name, test := range map[string]struct {
		change Change
		want   error
	}{
		"no type":           {Change{Ref: ref("", "X")}, ErrInvalid},
		"type of commands":  {Change{Ref: ref("PRODUCT_CMD", "X")}, ErrInvalid},
		"type of sequences": {Change{Ref: ref("SEQ", "ORD", "2024")}, ErrInvalid},
		"type of tasks":     {Change{Ref: ref("TASK", "X")}, ErrInvalid},
		"order, no year":    {Change{Ref: ref("ORDER", "ORD-000001")}, ErrInvalid},
		"product in a tree": {Change{Ref: ref("PRODUCT", "A", "B")}, ErrInvalid},
		"no code":           {Change{Ref: ref("PRODUCT", "")}, keys.ErrInvalid},
		"no path":           {Change{Ref: ref("PRODUCT")}, keys.ErrInvalid},
		"not text":          {Change{Ref: ref("PRODUCT", "\xff")}, keys.ErrInvalid},
	} {
		if _, err := s.acme().publish(t.Context(), test.change); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
