package repo_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// boxed is an entity that makes its attributes of what it points to. The seal is not
// stored.
type boxed struct {
	*box
	seal string
}

type box struct{ text, revision string }

func (b boxed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: table.Item{
		"text":     &types.AttributeValueMemberS{Value: b.text},
		"revision": &types.AttributeValueMemberS{Value: b.revision},
	}}, nil
}

func (b *boxed) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	if b.box == nil {
		b.box = new(box)
	}
	for name, value := range value.(*types.AttributeValueMemberM).Value {
		s, _ := value.(*types.AttributeValueMemberS)
		switch {
		case s == nil:
		case name == "text":
			b.text = s.Value
		case name == "revision":
			b.revision = s.Value
		}
	}
	return nil
}

// A write that fails leaves all of the value as it was, also what it points to. One that
// succeeds leaves what is not stored.
func TestFailedWritesLeaveTheValue(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), table.Schema{}, nil)
	boxes := newRepo(t, tbl, repo.Entity[boxed]{Type: "BOX", Version: "revision", Key: func(boxed) keys.Key { return docKey }})
	refuse := func(response tabletest.Fault) {
		for _, op := range []string{"PutItem", "UpdateItem", "TransactWriteItems"} {
			faults.Always(op, response)
		}
	}
	for name, write := range map[string]func(*boxed) error{
		"Create":         func(b *boxed) error { return boxes.Create(t.Context(), b) },
		"TransactCreate": func(b *boxed) error { return boxes.TransactCreate(t.Context(), b) },
		"Put":            func(b *boxed) error { return boxes.Put(t.Context(), b) },
		"Upsert": func(b *boxed) error {
			return expect.ErrOf(boxes.Upsert(t.Context(), *b, expression.Set(expression.Name("text"), expression.Value("new"))))
		},
	} {
		b := boxed{&box{text: "first"}, "seal"}
		for range 2 { // Put creates, then changes
			before := *b.box
			refuse(tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "not allowed"))
			if write(&b) == nil {
				t.Errorf("%s succeeds", name)
			}
			expect.Equal(t, name+" leaves the value", *b.box == before, true)
			refuse(nil)
			expect.OK(t, write(&b))
			expect.Equal(t, name+" keeps the seal", b.seal, "seal")
			expect.Equal(t, name+" sets a revision", b.revision != before.revision, name != "Upsert")
			b.text = "second"
			if name != "Put" {
				expect.OK(t, boxes.Delete(t.Context(), docKey))
			}
		}
		expect.OK(t, boxes.Delete(t.Context(), docKey))
	}
}
