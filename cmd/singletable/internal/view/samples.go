package view

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/singletable/singletable/cmd/singletable/internal/counted"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// samples are items that were read of a table, a few of each type. The patterns of the
// keys are inferred from them. It is safe for concurrent use.
type samples struct {
	mu    sync.Mutex
	types map[kind]*sampled
	bytes int
	// scanned means that a page of a scan was among what was read.
	scanned bool
	// whole means that the last sample was the whole table.
	whole bool
	// model is what was inferred from them, nil if there are more since then.
	model *model
}

// sampled is what was read of one type.
type sampled struct {
	// read are hashes of the keys of the items that were counted.
	read  map[uint64]bool
	items []table.Item
	// owners are the keys of the owners of claims, by the key of the claim.
	owners map[keys.Key]keys.Key
}

// model is what is known of the entities.
type model struct {
	tablemodel.Model
	// Claims are the patterns of the claims of an entity, by its type. They are not among
	// the Entities.
	Claims map[string]tablemodel.Entity
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
		s.seen.types = map[kind]*sampled{}
	}
	for _, item := range items {
		what, owner := s.kindOf(item)
		of := s.seen.types[what]
		if of == nil {
			if len(s.seen.types) == maxSampledTypes {
				continue
			}
			of = &sampled{read: map[uint64]bool{}, owners: map[keys.Key]keys.Key{}}
			s.seen.types[what] = of
		}
		k, size := s.table.KeyOf("", item), item.Size()
		if what.Claim {
			s.seen.own(of, k, owner, size)
		}
		h := fnv.New64a()
		_, _ = io.WriteString(h, string(k.PK)+"\x00"+string(k.SK)) // It never fails.
		id := h.Sum64()
		if of.read[id] || len(of.read) == maxCounted {
			continue
		}
		of.read[id] = true
		if len(of.items) == maxSampledItems || size > maxSampledItem || s.seen.bytes+size > maxSampledBytes {
			continue
		}
		of.items = append(of.items, item)
		s.seen.bytes += size
		s.seen.model = nil
	}
}

// own keeps who owns a claim, which can be another owner than before.
func (s *samples) own(of *sampled, claim, owner keys.Key, size int) {
	if _, known := of.owners[claim]; !known {
		if len(of.owners) == maxCounted || s.bytes+size > maxSampledBytes {
			return
		}
		s.bytes += size
	}
	of.owners[claim] = owner
}

// learnScan marks that a scan was read.
func (s *state) learnScan(items []table.Item) {
	s.learn(items)
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.scanned = true
}

// learnSample adds a sample, which can be the whole table.
func (s *state) learnSample(items []table.Item, whole bool) {
	s.learnScan(items)
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.whole = whole
}

// sampledWhole reports whether the last sample was the whole table.
func (s *state) sampledWhole() bool {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	return s.seen.whole
}

// scanned reports whether a page of a scan was read.
func (s *state) scanned() bool {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	return s.seen.scanned
}

// hasTypes reports whether the schema file has entities, or an item with a type was read.
func (s *state) hasTypes() bool {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	for k := range s.seen.types {
		if k.Type != "" {
			return true
		}
	}
	return len(s.given) > 0
}

// hasTypeAttribute reports whether the attribute for types is in use: by an entity of the schema
// file, or an item that was read.
func (s *state) hasTypeAttribute() bool {
	in := func(of string) bool { return of != "" && s.schema.KindOf(of) == nil }
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	for k := range s.seen.types {
		if in(k.Type) {
			return true
		}
	}
	return slices.ContainsFunc(s.given, func(e tablemodel.Entity) bool { return in(e.Type) })
}

// samplesOf returns items of a type that were read.
func (s *state) samplesOf(of string) []table.Item {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	if known := s.seen.types[kind{Type: of}]; known != nil {
		return slices.Clone(known.items)
	}
	return nil
}

// seenAny reports whether want is true of an item that was read.
func (s *state) seenAny(want func(table.Item) bool) bool {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	for _, of := range s.seen.types {
		if slices.ContainsFunc(of.items, want) {
			return true
		}
	}
	return false
}

// counters returns the types of the entities that the attributes of a type count, by the marks of
// the items that were read.
func (s *state) counters(of string) map[string][]chip {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	all := map[string][]chip{}
	for k, sampled := range s.seen.types {
		for _, item := range sampled.items {
			for _, c := range counted.Of(s.table, item) {
				is := k.chip()
				if c.Owner == of && !slices.ContainsFunc(all[c.Attribute], func(known chip) bool { return known.Name.String() == is.Name.String() }) {
					all[c.Attribute] = append(all[c.Attribute], is)
				}
			}
		}
	}
	for _, chips := range all {
		slices.SortFunc(chips, func(a, b chip) int { return cmp.Compare(a.Name.String(), b.Name.String()) })
	}
	return all
}

// claimsOf returns the keys of claims with this owner that were read, at most maxClaims.
func (s *state) claimsOf(of kind, owner keys.Key) (all []keys.Key) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	if s.seen.types[of] == nil {
		return nil
	}
	for claim, by := range s.seen.types[of].owners {
		if by == owner && len(all) < maxClaims {
			all = append(all, claim)
		}
	}
	return all
}

// known is a type of items that was seen.
type known struct {
	Type          string
	Items, Claims int
}

// types returns the types that were seen, by their names, and the entities that are known: those
// of the file, and what the samples tell of others.
func (s *state) types() (seen []known, m model) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	byType := map[string]known{}
	for k, of := range s.seen.types {
		n := byType[k.Type]
		n.Type = k.Type
		if k.Claim {
			n.Claims = len(of.read)
		} else {
			n.Items = len(of.read)
		}
		byType[k.Type] = n
	}
	seen = slices.SortedFunc(maps.Values(byType), func(a, b known) int {
		return cmp.Compare(a.Type, b.Type)
	})
	if s.seen.model == nil {
		s.seen.model = s.infer()
	}
	m = *s.seen.model
	m.Entities = slices.Clone(m.Entities)
	return seen, m
}

// infer returns the model of the file and the samples. The pages do without an entity of
// items that [tablemodel.Infer] does not take.
func (s *state) infer() *model {
	m := &model{Model: tablemodel.Model{Table: s.schema}, Claims: map[string]tablemodel.Entity{}}
	m.Entities = slices.Clone(s.given)
	var items []table.Item
	for k, of := range s.seen.types {
		if !k.Claim {
			items = append(items, of.items...)
			continue
		}
		inferred, _ := tablemodel.Infer(s.schema, of.items)
		for _, e := range inferred.Entities {
			// A file can call claims an entity, which shows once one was read.
			if i := slices.IndexFunc(m.Entities, named(e.Type)); i >= 0 {
				e = m.Entities[i]
				if s.seen.types[kind{Type: e.Type}] == nil {
					m.Entities = slices.Delete(m.Entities, i, i+1)
				}
			}
			m.Claims[k.Type] = e
		}
	}
	inferred, _ := tablemodel.Infer(s.schema, items)
	for _, e := range inferred.Entities {
		if !slices.ContainsFunc(s.given, named(e.Type)) {
			m.Entities = append(m.Entities, e)
		}
	}
	return m
}

func named(kind string) func(tablemodel.Entity) bool {
	return func(e tablemodel.Entity) bool { return e.Type == kind }
}
