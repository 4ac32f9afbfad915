package view

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// samples are items that were read of a table, a few of each type. The patterns of the
// keys are inferred from them. It is safe for concurrent use.
type samples struct {
	mu    sync.Mutex
	types map[string]*sampled
	bytes int
	// scanned means that a page of a scan was among what was read.
	scanned bool
	// model is what was inferred from them, nil if there are more since then.
	model *tablemodel.Model
}

// sampled is what was read of one type.
type sampled struct {
	// read are hashes of the keys of the items that were counted.
	read  map[uint64]bool
	items []table.Item
}

// The bounds of what is kept of a table.
const (
	maxSampledTypes = 100
	maxSampledItems = 40       // of a type
	maxSampledBytes = 8 << 20  // of all items
	maxSampledItem  = 16 << 10 // the largest item that is kept, in bytes
	maxCounted      = 10_000   // of a type
)

// learn adds items that were read as a whole.
func (s *state) learn(items []table.Item) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	if s.seen.types == nil {
		s.seen.types = map[string]*sampled{}
	}
	for _, item := range items {
		name := s.typeOf(item)
		of := s.seen.types[name]
		if of == nil {
			if len(s.seen.types) == maxSampledTypes {
				continue
			}
			of = &sampled{read: map[uint64]bool{}}
			s.seen.types[name] = of
		}
		k := s.table.KeyOf("", item)
		h := fnv.New64a()
		_, _ = io.WriteString(h, string(k.PK)+"\x00"+string(k.SK)) // It never fails.
		id := h.Sum64()
		if of.read[id] || len(of.read) == maxCounted {
			continue
		}
		of.read[id] = true
		size := item.Size()
		if len(of.items) == maxSampledItems || size > maxSampledItem || s.seen.bytes+size > maxSampledBytes {
			continue
		}
		of.items = append(of.items, item)
		s.seen.bytes += size
		s.seen.model = nil
	}
}

// learnScan marks that a scan was read.
func (s *state) learnScan(items []table.Item) {
	s.learn(items)
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.scanned = true
}

// scanned reports whether a page of a scan was read.
func (s *state) scanned() bool {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	return s.seen.scanned
}

// known is a type of items that was seen.
type known struct {
	Type  string
	Items int
}

// types returns the types that were seen, in the order of their names, and the entities
// that are known: those of the file, and what the samples tell of others.
func (s *state) types() (seen []known, m tablemodel.Model) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	for name, of := range s.seen.types {
		seen = append(seen, known{name, len(of.read)})
	}
	slices.SortFunc(seen, func(a, b known) int { return cmp.Compare(a.Type, b.Type) })
	if s.seen.model == nil {
		var items []table.Item
		for _, name := range slices.Sorted(maps.Keys(s.seen.types)) {
			items = append(items, s.seen.types[name].items...)
		}
		inferred, err := tablemodel.Infer(s.schema, items)
		if err != nil {
			// There is no model of items that it does not take; the pages do without.
			inferred = tablemodel.Model{Table: s.schema}
		}
		entities := slices.Clone(s.given)
		for _, e := range inferred.Entities {
			if !slices.ContainsFunc(s.given, func(g tablemodel.Entity) bool { return g.Type == e.Type }) {
				entities = append(entities, e)
			}
		}
		inferred.Entities = entities
		s.seen.model = &inferred
	}
	return seen, *s.seen.model
}
