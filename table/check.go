package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
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
		if item.PartsOf(value).Kind.String() == kind {
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

// checkPaths returns why DynamoDB would refuse the clauses of an update together: two are
// about the same attribute, or one is about a part of what another one is about.
func (f formula) checkPaths(all []assignment) error {
	if len(all) < 2 {
		return nil
	}
	ends, within := map[string]bool{}, map[string]byte{} // paths; what the elements below them are
	overlap := func(a assignment) error {
		return fmt.Errorf("the update has attribute %q, or a part of it, twice", item.Shortened(f.name(a.path)))
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

func (t *Table) vectorIndex(name string) (x schema.VectorIndex, ok bool) {
	i := slices.IndexFunc(t.schema.Vectors, func(x schema.VectorIndex) bool { return x.Name == name })
	if i < 0 {
		return x, false
	}
	return t.schema.Vectors[i], true
}

// vectorsFault returns why a vector index cannot have one of the vectors.
func (t *Table) vectorsFault(attributes Item) *fault {
	for _, x := range t.schema.Vectors {
		if vector, there := attributes[x.Attribute]; there {
			if f := faultIn(x, vector); f != nil {
				return f.in(x.Attribute)
			}
		}
	}
	return nil
}

// vectorFault is vectorsFault of a whole item, which can also be missing from an index in
// silence.
func (t *Table) vectorFault(attributes Item) *fault {
	for _, x := range t.schema.Vectors {
		//mutants:guard a vector is written with its partition | TestWritesOfVectors
		if p := x.Partition.Name; p != "" && attributes[x.Attribute] != nil && attributes[p] == nil {
			return broken(fmt.Sprintf("is the partition of vector index %s and is missing, so no search would find the vector in %q", x.Name, x.Attribute)).in(p)
		}
	}
	return t.vectorsFault(attributes)
}

// faultIn returns why a value cannot be a vector of the index.
func faultIn(x schema.VectorIndex, vector types.AttributeValue) *fault {
	p := item.PartsOf(vector)
	if p.Kind != item.L || len(p.List) != x.Dimensions {
		return broken(fmt.Sprintf("is a vector of index %s and must be a list of %d numbers", x.Name, x.Dimensions))
	}
	for i, e := range p.List {
		if !isElement(e) {
			return notElement(x).in(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

func notElement(x schema.VectorIndex) *fault {
	return broken(fmt.Sprintf("is in a vector of index %s and must be a number of 32 bits", x.Name))
}

// isElement reports whether a value is a number that a vector can have.
func isElement(value types.AttributeValue) bool {
	n, ok := value.(*types.AttributeValueMemberN)
	return ok && n != nil && fitsFloat32(n.Value)
}

// fitsFloat32 reports whether a number that DynamoDB can store is one that a vector can have.
func fitsFloat32(number string) bool {
	if len(number) <= maxPlainFloat && strings.IndexByte(number, 'e') < 0 && strings.IndexByte(number, 'E') < 0 {
		return true // it is less than 1e38
	}
	_, err := strconv.ParseFloat(number, 32) // which rounds, as the index does
	return err == nil
}

const maxPlainFloat = 38

// patchFault returns why an update would leave a vector behind that no search finds: it sets
// the vector and not the partition, or removes the partition and not the vector.
func (t *Table) patchFault(sets, removes func(attribute string) bool) *fault {
	for _, x := range t.schema.Vectors {
		p := x.Partition.Name
		switch {
		case p == "" || p == t.schema.PK || p == t.schema.SK: // which every item has
		case sets(x.Attribute) && !sets(p):
			return broken(fmt.Sprintf("is the partition of vector index %s, and an update that sets the vector in %q sets it, too: "+
				"no search would find an item without it", x.Name, x.Attribute)).in(p)
		case removes(p) && !removes(x.Attribute):
			return broken(fmt.Sprintf("is the partition of vector index %s, and an update that removes it removes the vector in %q, too: "+
				"no search would find it", x.Name, x.Attribute)).in(p)
		}
	}
	return nil
}

// updateFault is patchFault of an update expression, or says why a vector index cannot have
// what it makes of a vector.
func (t *Table) updateFault(f formula, all []assignment) *fault {
	clauses := func(actions string) func(string) bool {
		return func(name string) bool {
			return slices.ContainsFunc(all, func(a assignment) bool { return strings.Contains(actions, a.action) && f.names[a.path] == name })
		}
	}
	for _, a := range all {
		if fault := t.clauseFault(f, a); fault != nil {
			return fault
		}
	}
	return t.patchFault(clauses("SET ADD"), clauses("REMOVE"))
}

// clauseFault returns why a vector index cannot have what a clause makes of its vector. One
// that is copied from another attribute, and a sum of elements, are known to DynamoDB alone.
func (t *Table) clauseFault(f formula, a assignment) *fault {
	attribute, element := f.attribute(a.path)
	if element {
		return t.elementFault(f, attribute, a)
	}
	i := slices.IndexFunc(t.schema.Vectors, func(x schema.VectorIndex) bool { return x.Attribute == attribute })
	switch {
	case i < 0 || a.action == "REMOVE":
		return nil
	case a.action != "SET" || a.operand[0] == "list_append" || slices.Contains(a.operand, "+") || slices.Contains(a.operand, "-"):
		return broken(fmt.Sprintf("is a vector of index %s, which an update sets as a whole or by its elements", t.schema.Vectors[i].Name)).in(attribute)
	}
	for _, operand := range a.operand { // one value, or that of if_not_exists
		if value := f.values[operand]; value != nil {
			return t.vectorsFault(Item{attribute: value})
		}
	}
	return nil
}

// elementFault is clauseFault of a clause about a part of an attribute.
func (t *Table) elementFault(f formula, attribute string, a assignment) *fault {
	part := a.path[strings.IndexAny(a.path, ".["):]
	for _, x := range t.schema.Vectors {
		if x.Attribute != attribute {
			continue
		}
		number, _ := strings.CutSuffix(strings.TrimPrefix(part, "["), "]")
		if i, err := strconv.Atoi(number); err != nil || i >= x.Dimensions || a.action == "REMOVE" || a.action == "DELETE" {
			return broken(fmt.Sprintf("is in a vector of index %s, which has %d numbers after each update", x.Name, x.Dimensions)).in(f.name(a.path))
		}
		for _, operand := range a.operand {
			if value := f.values[operand]; value != nil && !isElement(value) {
				return notElement(x).in(f.name(a.path))
			}
		}
	}
	return nil
}
