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
		Rev     string   `dynamodbav:"rev"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r, err := repo.New(tbl, repo.Entity[thing]{
		Type: "THING", Version: "rev", Key: func(v thing) keys.Key { return keys.Key{PK: keys.Prefix("T").PK(v.ID), SK: keys.Metadata} },
	})
	expect.OK(t, err)
	ab, ba, x := inner{[]string{"a", "b"}, "ab"}, inner{[]string{"b", "a"}, "ab"}, "x"
	before := thing{ID: "1", Numbers: []int{1, 2}, Blobs: [][]byte{{1}, {2}}, One: ab, Many: []inner{ab, ba}, Rev: "1"}
	for what, c := range map[string]struct {
		after thing
		want  []string
	}{
		"the order of sets":             {thing{ID: "1", Numbers: []int{2, 1}, Blobs: [][]byte{{2}, {1}}, One: ba, Many: []inner{ba, ab}, Rev: "2"}, nil},
		"elements of sets":              {thing{ID: "1", Numbers: []int{2}, Blobs: [][]byte{{2}, {3}}, One: inner{[]string{"a"}, "ab"}, Many: []inner{ba, ab}}, []string{"blobs", "numbers", "one"}},
		"the order of a list":           {thing{ID: "1", Numbers: []int{2, 1}, Blobs: before.Blobs, One: ab, Many: []inner{ba}}, []string{"many"}},
		"a changed and a new attribute": {thing{ID: "2", Numbers: before.Numbers, Blobs: before.Blobs, One: ab, Many: before.Many, Note: &x}, []string{"id", "note"}},
	} {
		got, err := r.Changes(before, c.after)
		expect.OK(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
