package view

import (
	"slices"
	"sync"
)

// recent are the last queries and searches of a table. It is safe for concurrent use.
type recent struct {
	mu  sync.Mutex
	all []past // the newest first
}

// past is a query or a search that was sent.
type past struct {
	Page, Index string
	Text        text
	Href        string
}

// maxPast is how many queries and searches of a table are kept.
const maxPast = 20

// add puts a query or a search first.
func (r *recent) add(p past) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(old past) bool { return old.Href == p.Href })
	r.all = slices.Insert(r.all, 0, p)
	r.all = r.all[:min(len(r.all), maxPast)]
}

// of returns those of a page, and of one index if it is given, without the one of an address.
func (r *recent) of(page, index, except string) (all []past) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.all {
		if p.Page == page && (index == "" || p.Index == index) && p.Href != except {
			all = append(all, p)
		}
	}
	return all
}
