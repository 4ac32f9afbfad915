package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// WithNextVersion returns the op, an [Update], with 1 added to the number in that
// attribute, which is 0 where it is missing. The same is added to those in also.
func (o Op) WithNextVersion(attribute string, also ...string) Op {
	o.next = successor{verb: "ADD", attribute: attribute, also: also, value: &types.AttributeValueMemberN{Value: "1"}}
	return o
}

// WithRevision returns the op, an [Update], with that attribute set to revision,
// which is drawn for this write alone, as by [crypto/rand.Text]. An empty one is
// [ErrInvalid]. The attributes in also are set to it, too.
func (o Op) WithRevision(attribute, revision string, also ...string) Op {
	o.next = successor{verb: "SET", attribute: attribute, also: also, value: &types.AttributeValueMemberS{Value: revision}}
	return o
}

// addNext adds to the update expression, if there is anything to add. The expression package writes each verb
// on a line of its own.
func (w *write) addNext(n successor) error {
	switch {
	case n.verb == "":
		return nil
	case w.update == nil:
		return fmt.Errorf("%w: a %s has no next version or revision", errInvalidOp, w.op.verb)
	case n.attribute == "":
		return fmt.Errorf("%w: a next version or revision without an attribute", errInvalidOp)
	case n.verb == "SET" && item.Text(n.value) == "":
		return fmt.Errorf("%w: WithRevision: the revision for attribute %q is empty", errInvalidOp, n.attribute)
	}
	w.value(":next", n.value)
	operator := " "
	if n.verb == "SET" {
		operator = " = "
	}
	w.name("#next", n.attribute)
	part := "#next" + operator + ":next"
	for i, attribute := range n.also {
		placeholder := "#also" + strconv.Itoa(i)
		w.name(placeholder, attribute)
		part += ", " + placeholder + operator + ":next"
	}
	lines := strings.Split(strings.TrimSuffix(*w.update, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, n.verb+" ") {
			lines[i] += ", " + part
			part = ""
		}
	}
	if part != "" {
		lines = append(lines, n.verb+" "+part)
	}
	text := strings.Join(lines, "\n")
	w.update = &text
	return nil
}
