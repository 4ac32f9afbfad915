package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// checkFormula parses an expression and returns why DynamoDB would refuse it.
func (t *Table) checkFormula(kind, text string, names map[string]string, values Item) (formula, error) {
	if err := checkLength(kind, text); err != nil {
		return formula{}, err
	}
	f := formula{kind: kind, tokens: tokens(text), names: names, values: values}
	if n := f.operators(); kind != kindUpdate && n > maxOperators { // an update exceeds 4 KB first
		return f, fmt.Errorf("%s: the expression has %d operators and functions, DynamoDB takes %d", kind, n, maxOperators)
	}
	if err := f.check(); err != nil {
		return f, err
	}
	for i := range f.tokens {
		if err := f.checkOperands(i); err != nil {
			return f, err
		}
	}
	return f, t.checkKeyPaths(f)
}

// checkOperands returns why DynamoDB would refuse the operands of the operator or function
// at token i: a constant that it does not compare or add, or the same path twice.
// AWS: "Comparison operator and function reference" and "Using update expressions in
// DynamoDB", Amazon DynamoDB Developer Guide.
func (f formula) checkOperands(i int) error {
	switch f.tokens[i] {
	case "=", "<>":
		if f.kind != kindUpdate { // where = assigns
			return f.checkDistinct(i-1, i+1)
		}
	case "<", "<=", ">", ">=":
		return cmp.Or(f.checkConstant(i-1, "S N B"), f.checkConstant(i+1, "S N B"), f.checkDistinct(i-1, i+1))
	case "BETWEEN":
		return cmp.Or(f.checkBetween(i), f.checkConstant(i+1, "S N B"), f.checkConstant(i+3, "S N B"), f.checkDistinct(i-1, i+1), f.checkDistinct(i-1, i+3))
	case "IN": // (:0, :1)
		if err := f.checkIn(i); err != nil {
			return err
		}
		for j := i + 2; j < len(f.tokens) && f.tokens[j-1] != ")"; j += 2 {
			if err := f.checkDistinct(i-1, j); err != nil {
				return err
			}
		}
	case "attribute_type":
		return f.checkType(i)
	case "+", "-":
		return cmp.Or(f.checkConstant(i-1, "N"), f.checkConstant(i+1, "N"))
	case "list_append": // (#0, :0)
		return cmp.Or(f.checkConstant(i+2, "L"), f.checkConstant(i+4, "L"))
	case "if_not_exists":
		return f.checkDistinct(i+2, i+4)
	case "ADD", "DELETE":
		return f.checkAdded(i)
	}
	return nil
}

// checkAdded checks the clauses of ADD or DELETE: #0 :0, #1 :1.
func (f formula) checkAdded(i int) error {
	kinds := "SS NS BS"
	if f.tokens[i] == "ADD" {
		kinds += " N"
	}
	for ; ; i += 3 {
		if err := f.checkConstant(i+2, kinds); err != nil {
			return err
		}
		if f.operand(i+3) != "," {
			return nil
		}
	}
}

// checkConstant checks that token i, if it is a value, is of one of these types.
func (f formula) checkConstant(i int, kinds string) error {
	value, constant := f.values[f.operand(i)]
	if !constant {
		return nil
	}
	for kind := range strings.FieldsSeq(kinds) {
		if item.ValueOf(value).Kind.String() == kind {
			return nil
		}
	}
	return f.valueError(i, broken("is of a type that the operator does not take, which takes "+strings.ReplaceAll(kinds, " ", ", ")))
}

// checkDistinct checks that two tokens are not the same path.
func (f formula) checkDistinct(i, j int) error {
	path, other := f.operand(i), f.operand(j)
	if !strings.HasPrefix(path, "#") || !strings.HasPrefix(other, "#") || f.elements(path) != f.elements(other) {
		return nil
	}
	return fmt.Errorf("%s: attribute %q stands on both sides of an operator or function", f.kind, item.Shortened(f.name(path)))
}

// overlapError means that two clauses of an update are about an attribute.
type overlapError struct{ attribute string }

func (e *overlapError) Error() string {
	return fmt.Sprintf("the update has attribute %q, or a part of it, twice", item.Shortened(e.attribute))
}

// checkPaths returns why DynamoDB would refuse the clauses of an update together: two are
// about the same attribute, or one is about a part of what another one is about.
func (f formula) checkPaths(all []assignment) error {
	if len(all) < 2 {
		return nil
	}
	ends, within := map[string]bool{}, map[string]byte{} // paths; what the elements below them are
	overlap := func(a assignment) error {
		return &overlapError{f.name(a.path)}
	}
	for _, a := range all {
		path := f.elements(a.path)
		if _, has := within[path]; has || ends[path] {
			return overlap(a)
		}
		for i := 1; i < len(path); i++ {
			if path[i] != 0 {
				continue
			}
			above, kind := path[:i], path[i+1]
			if other, has := within[above]; ends[above] || has && other != kind {
				return overlap(a)
			}
			within[above] = kind
		}
		ends[path] = true
	}
	return nil
}

// checkKeyPaths returns why DynamoDB would refuse a path: keys of the table and of indexes
// have no parts.
func (t *Table) checkKeyPaths(f formula) error {
	for _, token := range f.tokens {
		switch name, nested := f.attribute(token); {
		case name == "" || !nested:
		case name == t.schema.PK, name == t.schema.SK:
			return fmt.Errorf("%s: attribute %q is part of the key, which has no elements", f.kind, name)
		case slices.ContainsFunc(t.indexKeys, func(k indexKey) bool { return k.name == name }):
			return fmt.Errorf("%s: attribute %q is part of the key of an index, which has no elements", f.kind, name)
		}
	}
	return nil
}

// checkUpdate returns why DynamoDB would refuse an update, and otherwise the
// least size that the updated item can have.
func (t *Table) checkUpdate(f formula, key Item) (size int, err error) {
	all := f.assignments()
	if err := f.checkPaths(all); err != nil {
		return 0, err
	}
	size = key.Size()
	if fault := t.updateFault(f, all); fault != nil {
		return 0, fault.err()
	}
	for _, a := range all {
		attribute, nested := f.attribute(a.path)
		if attribute == t.schema.PK || attribute == t.schema.SK {
			return 0, errKeyUpdated(attribute)
		}
		if fault := t.indexFault(f, attribute, a); fault != nil {
			return 0, fault.in(attribute).err()
		}
		if err := t.checkExpiryIn(f, attribute, a); err != nil {
			return 0, err
		}
		values := f.assigned(a)
		if !nested && len(values) > 0 {
			size += len(attribute)
		}
		for i, value := range values {
			n, fault := measure(value, levels(a.path))
			if fault != nil {
				return 0, fault.in(f.name(a.path)).err()
			}
			if _, number := value.(*types.AttributeValueMemberN); number && a.action == "ADD" {
				n = 1 // the sum may be zero
			}
			if i > 0 {
				n -= containerSize // two lists become one
			}
			size += n
		}
	}
	return size, nil
}

// checkExpiryIn is checkExpiry of what a clause makes of an attribute: a value, that of
// if_not_exists, or one that is added to nothing.
func (t *Table) checkExpiryIn(f formula, attribute string, a assignment) error {
	if attribute != t.schema.TTLAttribute || slices.Contains(a.operand, "+") || slices.Contains(a.operand, "-") {
		return nil
	}
	for _, operand := range a.operand {
		if err := t.checkExpiry(Item{attribute: f.values[operand]}); err != nil {
			return err
		}
	}
	return nil
}

func errKeyUpdated(attribute string) error {
	return fmt.Errorf("attribute %q is part of the key, which an update cannot change", attribute)
}

// indexFault returns why an attribute that is a key of an index cannot be what a clause
// makes it.
func (t *Table) indexFault(f formula, attribute string, a assignment) *fault {
	i := slices.IndexFunc(t.indexKeys, func(k indexKey) bool { return k.name == attribute })
	if i < 0 || a.action == "REMOVE" {
		return nil
	}
	key := t.indexKeys[i]
	sum := a.action == "ADD" || slices.Contains(a.operand, "+") || slices.Contains(a.operand, "-")
	value := f.values[a.operand[0]] // nil for paths and functions: if_not_exists may not store its value
	switch {
	case a.action == "DELETE", a.operand[0] == "list_append", sum && key.kind != types.ScalarAttributeTypeN:
		return key.mistyped() // sets, lists and numbers
	case value == nil, sum && a.action == "SET":
		return nil
	}
	return key.fault(value)
}
