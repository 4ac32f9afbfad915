// Package checker checks histories: of one entity, whether it is linearizable, of
// transactions over several, whether it is serializable, and of walks over pages.
package checker

import (
	"fmt"
	"maps"
	"slices"
)

// Walk checks that pages, put together, are the items that were to come, in
// order, each once.
func Walk[T comparable](pages [][]T, want []T) error {
	have := slices.Concat(pages...)
	for i := range min(len(have), len(want)) {
		if have[i] != want[i] {
			return fmt.Errorf("item %d is %v, want %v: %w", i, have[i], want[i], Set(have, want))
		}
	}
	return Set(have, want)
}

// Once checks that every value of must is there, once, that nothing is there twice
// and nothing that is not one of may.
func Once[T comparable](have, must, may []T) error {
	count := make(map[T]int)
	for _, v := range have {
		count[v]++
	}
	lost, extra := 0, 0
	for _, v := range must {
		if count[v] == 0 {
			lost++
		}
	}
	for v, n := range count {
		if slices.Contains(may, v) {
			n--
		}
		extra += n
	}
	if lost+extra > 0 {
		return fmt.Errorf("%d lost, %d too many, of %d to %d", lost, extra, len(must), len(may))
	}
	return nil
}

// Set checks that the same items are there, each as often, in whatever order.
func Set[T comparable](have, want []T) error {
	count := make(map[T]int)
	for _, v := range want {
		count[v]++
	}
	for _, v := range have {
		count[v]--
	}
	lost, extra := 0, 0
	for n := range maps.Values(count) {
		lost, extra = lost+max(n, 0), extra+max(-n, 0)
	}
	if lost+extra > 0 {
		return fmt.Errorf("%d lost, %d too many, of %d", lost, extra, len(want))
	}
	return nil
}
