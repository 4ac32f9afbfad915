package repo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	type inner struct {
		Set  []string `dynamodbav:"set,stringset"`
		Name string   `dynamodbav:"name"`
	}
	type thing struct {
		ID      string   `dynamodbav:"id"`
		Numbers []int    `dynamodbav:"numbers,numberset"`
		Blobs   [][]byte `dynamodbav:"blobs,binaryset"`
		One     inner    `dynamodbav:"one"`
		Many    []inner  `dynamodbav:"many"`
		Note    *string  `dynamodbav:"note,omitempty"`
		Email   string   `dynamodbav:"email,omitempty"`
		Count   int      `dynamodbav:"count,omitempty"`
		On      bool     `dynamodbav:"on,omitempty"`
		Rev     string   `dynamodbav:"rev"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r, err := repo.New(tbl, repo.Entity[thing]{
		Type: "THING", Version: "rev", Key: func(v thing) keys.Key { return keys.Key{PK: keys.Prefix("T").PK(v.ID), SK: keys.Metadata} },
	})
	expect.OK(t, err)
	ab, ba, x := inner{[]string{"a", "b"}, "ab"}, inner{[]string{"b", "a"}, "ab"}, "x"
	before := thing{ID: "1", Numbers: []int{1, 2}, Blobs: [][]byte{{1}, {2}}, One: ab, Many: []inner{ab, ba}, Rev: "1"}
	full := before
	full.Email, full.Count, full.On = "a", 3, true
	for what, c := range map[string]struct {
		before, after thing
		want          []string
	}{
		"values that come":              {before, full, []string{"count", "email", "on"}},
		"values that go":                {full, before, []string{"count", "email", "on"}},
		"the order of sets":             {before, thing{ID: "1", Numbers: []int{2, 1}, Blobs: [][]byte{{2}, {1}}, One: ba, Many: []inner{ba, ab}, Rev: "2"}, nil},
		"elements of sets":              {before, thing{ID: "1", Numbers: []int{2}, Blobs: [][]byte{{2}, {3}}, One: inner{[]string{"a"}, "ab"}, Many: []inner{ba, ab}}, []string{"blobs", "numbers", "one"}},
		"the order of a list":           {before, thing{ID: "1", Numbers: []int{2, 1}, Blobs: before.Blobs, One: ab, Many: []inner{ba}}, []string{"many"}},
		"a changed and a new attribute": {before, thing{ID: "2", Numbers: before.Numbers, Blobs: before.Blobs, One: ab, Many: before.Many, Note: &x}, []string{"id", "note"}},
	} {
		got, err := r.Changes(c.before, c.after)
		expect.OK(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
