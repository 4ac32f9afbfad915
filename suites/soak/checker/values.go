package checker

import (
	"fmt"
	"maps"
	"slices"
)

// Gapless checks that versions are 1, 2, 3 and so on up to last, each once, in
// whatever order.
func Gapless(versions []int64, last int64) error {
	sorted := slices.Sorted(slices.Values(versions))
	for i, v := range sorted {
		switch want := int64(i) + 1; {
		case v < want:
			return fmt.Errorf("version %d is there twice", v)
		case v > want:
			return fmt.Errorf("version %d is missing", want)
		}
	}
	if n := int64(len(versions)); n != last {
		return fmt.Errorf("%d versions, the last is said to be %d", n, last)
	}
	return nil
}

// Unique checks that each value is reserved for its holder: reserved maps
// values to the entities that they are reserved for, held maps entities to
// their values.
func Unique(reserved, held map[string]string) error {
	for _, owner := range slices.Sorted(maps.Keys(held)) {
		if by := reserved[held[owner]]; by != owner {
			return fmt.Errorf("%q has %q, which is reserved for %q", owner, held[owner], by)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(reserved)) {
		if owner := reserved[value]; held[owner] != value {
			return fmt.Errorf("%q is reserved for %q, which has %q", value, owner, held[owner])
		}
	}
	return nil
}

// Same checks that all results are equal.
func Same[T comparable](results []T) error {
	for i, r := range results {
		if r != results[0] {
			return fmt.Errorf("result %d of %d is %v, the first was %v", i, len(results), r, results[0])
		}
	}
	return nil
}

// Counted checks a counter against the receipts that were written with it: it is
// their sum, and there is one for everything that was acknowledged and none for
// what was refused.
func Counted(counter int64, receipts map[string]int64, acknowledged, refused []string) error {
	sum := int64(0)
	for n := range maps.Values(receipts) {
		sum += n
	}
	if counter != sum {
		return fmt.Errorf("the counter is %d, its receipts are %d", counter, sum)
	}
	for _, id := range acknowledged {
		if _, there := receipts[id]; !there {
			return fmt.Errorf("%s was acknowledged and has no receipt", id)
		}
	}
	for _, id := range refused {
		if _, there := receipts[id]; there {
			return fmt.Errorf("%s was refused and has a receipt", id)
		}
	}
	return nil
}
