package repo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/table"
)

// checkFilter is checkCondition of a query.
func (c *core) checkFilter(q table.Query) error { return c.checkCondition("Filter", q.Filter) }

// checkCondition reports an attribute in a condition that T does not have: a filter on a
// misspelled one returns nothing, without an error. It also reports one of an upgrade, which
// stored items may not have yet.
func (c *core) checkCondition(field string, condition expression.ConditionBuilder) error {
	if !condition.IsSet() {
		return nil
	}
	built, err := expression.NewBuilder().WithFilter(condition).Build()
	if err != nil {
		return nil // as package table will say
	}
	names := built.Names()
	for _, placeholder := range slices.Sorted(maps.Keys(names)) {
		if !topLevel(*built.Filter(), placeholder) {
			continue
		}
		if err := c.checkName(names[placeholder]); err != nil {
			return fmt.Errorf("%w: %s: %w", table.ErrInvalid, field, err)
		}
	}
	return nil
}

// checkName reports an attribute that items of the entity, or some of them, do not have.
func (c *core) checkName(name string) error {
	switch _, upgraded := c.shapes.touched[name]; {
	case upgraded:
		return fmt.Errorf("attribute %q is of an upgrade, which stored items may not have yet; raise OldestShape after a backfill", name)
	case c.known && !c.stores(name):
		return c.unknown(name)
	}
	return nil
}

// stores reports whether items of the entity can have an attribute.
func (c *core) stores(name string) bool {
	_, field := slices.BinarySearch(c.attributes, name)
	return field || c.reserved[name] || name == c.schema.TTLAttribute
}

func (c *core) unknown(name string) error {
	return fmt.Errorf("%v has no attribute %q; names are those of the tags", c.entity.typ, name)
}

// topLevel reports whether a placeholder stands for an attribute of an item, and
// not only for members of one.
func topLevel(text, placeholder string) bool {
	for rest := text; ; {
		before, after, found := strings.Cut(rest, placeholder)
		if !found {
			return false
		}
		longer := after != "" && after[0] >= '0' && after[0] <= '9'
		if !longer && !strings.HasSuffix(before, ".") {
			return true
		}
		rest = after
	}
}
