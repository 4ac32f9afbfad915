package checker

import (
	"fmt"
	"maps"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Equal checks that two values are equal, as far as a list or a map that is empty equals
// none.
func Equal[T any](have, want T) error {
	if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("(-want +have)\n%s", diff)
	}
	return nil
}

// Once checks that every value of must is there, once, that nothing is there twice
// and nothing that is not one of may.
func Once[T comparable](have, must, may []T) error {
	count, allowed := make(map[T]int), make(map[T]bool)
	for _, v := range have {
		count[v]++
	}
	for _, v := range may {
		allowed[v] = true
	}
	lost, extra := 0, 0
	for _, v := range must {
		if count[v] == 0 {
			lost++
		}
	}
	for v, n := range count {
		if allowed[v] {
			n--
		}
		extra += n
	}
	if lost+extra > 0 {
		return fmt.Errorf("%d lost, %d too many, of %d to %d", lost, extra, len(must), len(may))
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
