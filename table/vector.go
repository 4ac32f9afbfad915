package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
)

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
	p := item.ValueOf(vector)
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
