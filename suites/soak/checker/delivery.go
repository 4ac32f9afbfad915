package checker

import (
	"fmt"
	"maps"
	"slices"
)

// Delivery is a change of an item that a consumer was given. Old and New are the item
// before and after it, as texts, "" for none.
type Delivery struct {
	Item     string
	Sequence string
	Old, New string
}

// first returns what was delivered of each item, without repetitions.
func first(all []Delivery) map[string][]Delivery {
	seen := map[Delivery]bool{}
	items := map[string][]Delivery{}
	for _, d := range all {
		if !seen[d] {
			seen[d] = true
			items[d.Item] = append(items[d.Item], d)
		}
	}
	return items
}

// Delivered checks that a consumer was given every change of each item, in order and at
// least once: each change begins with what the one before it has left, the first one
// with nothing, and the last one leaves what is stored. So it does not matter whether
// somebody knows the outcome of a write.
func Delivered(all []Delivery, stored map[string]string) error {
	items := first(all)
	for _, item := range slices.Sorted(maps.Keys(items)) {
		last := ""
		for i, d := range items[item] {
			if d.Old != last {
				return fmt.Errorf("%s: change %d (%s) is of %q, the one before left %q", item, i, d.Sequence, d.Old, last)
			}
			last = d.New
		}
		if last != stored[item] {
			return fmt.Errorf("%s: the last change left %q, stored is %q", item, last, stored[item])
		}
	}
	for _, item := range slices.Sorted(maps.Keys(stored)) {
		if len(items[item]) == 0 && stored[item] != "" {
			return fmt.Errorf("%s: no change came, stored is %q", item, stored[item])
		}
	}
	return nil
}

// Effects returns the sequence numbers of the changes that were delivered of each item,
// each once and in order, as their effects are to be.
func Effects(all []Delivery) map[string][]string {
	effects := map[string][]string{}
	for item, deliveries := range first(all) {
		for _, d := range deliveries {
			effects[item] = append(effects[item], d.Sequence)
		}
	}
	return effects
}

// Told checks deliveries of an item against what its writers were told: values that were
// acknowledged were delivered, and none that was refused. left is the value of a text.
func Told(all []Delivery, left func(text string) string, acknowledged, refused []string) error {
	delivered := map[string]bool{}
	for _, d := range all {
		delivered[left(d.New)] = true
	}
	for _, v := range acknowledged {
		if !delivered[v] {
			return fmt.Errorf("the write of %q was acknowledged and not delivered", v)
		}
	}
	for _, v := range refused {
		if delivered[v] {
			return fmt.Errorf("the write of %q was refused and delivered", v)
		}
	}
	return nil
}
