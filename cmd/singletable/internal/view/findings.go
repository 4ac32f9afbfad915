package view

import (
	"github.com/singletable/singletable/cmd/singletable/internal/check"
)

// findings are the faults of the design, which a page shows next to what they are about.
type findings struct {
	all   []check.Finding
	shown []bool
}

func newFindings(all []check.Finding) *findings {
	return &findings{all, make([]bool, len(all))}
}

// of returns those about a place.
func (f *findings) of(place string) (all []check.Finding) {
	for i, found := range f.all {
		if found.Place == place && !f.shown[i] {
			f.shown[i], all = true, append(all, found)
		}
	}
	return all
}

// rest returns those that were not shown.
func (f *findings) rest() (all []check.Finding) {
	for i, found := range f.all {
		if !f.shown[i] {
			all = append(all, found)
		}
	}
	return all
}
