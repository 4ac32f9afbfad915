package view

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// kind is the items of a type, or the claims of its entities.
type kind struct {
	Type  string
	Claim bool
}

// kindOf returns the kind of an item, and the key of the main item that owns it if it is a
// claim.
func (s *state) kindOf(item table.Item) (k kind, owner keys.Key) {
	if of, owner, ok := tablemodel.ClaimOwner(s.schema, item); ok {
		return kind{of, true}, owner
	}
	return kind{Type: s.typeOf(item)}, keys.Key{}
}

// chip returns the chip of the type. That of claims is marked.
func (k kind) chip() chip {
	c := newChip(k.Type)
	c.Claim = k.Claim
	return c
}

// chipOf returns the chip of an item. It is left out while no item is known to have a type.
func (s *state) chipOf(k kind) chip {
	c := k.chip()
	c.Untyped = c.None && !s.hasTypes()
	return c
}

// ownerAttributes returns the type attribute of a claim, and those that hold the key of its
// owner: without one of them it is no claim. It returns none for other items.
func (s *state) ownerAttributes(claim table.Item) (names []string) {
	if k, _ := s.kindOf(claim); !k.Claim {
		return nil
	}
	rest := maps.Clone(claim)
	for name, value := range claim {
		delete(rest, name)
		if k, _ := s.kindOf(rest); !k.Claim {
			names = append(names, name)
		}
		rest[name] = value
	}
	return names
}

// link leads to an item.
type link struct {
	Keys []keyPart
	Href string
}

func (s *state) link(k keys.Key, now time.Time) link {
	return link{s.keyParts(k, now), s.itemAddress("item", k)}
}

// owner is what a claim says of its owner, and what is stored there.
type owner struct {
	link
	Type chip
	// Stored is the type of the item that is stored there, nil for a key without an item.
	Stored *chip
	Other  bool // It is another type than that of the owner.
}

// owner reads the owner of a claim.
func (s *state) owner(v *visit, of kind, key keys.Key) (*owner, error) {
	o := &owner{link: s.link(key, v.now), Type: newChip(of.Type)}
	stored, err := table.Get[table.Item](v.Context(), s.table.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return nil, fmt.Errorf("owner of the claim: %w", err)
	}
	s.learn([]table.Item{stored})
	found, _ := s.kindOf(stored)
	c := found.chip()
	o.Stored, o.Other = &c, s.typeOf(stored) != of.Type
	return o, nil
}

// maxClaims is how many claims the page of an item shows. An entity has fewer.
const maxClaims = 100

// claims returns the claims of an entity, in the order of their keys: those that were read
// before, and are still stored.
func (s *state) claims(v *visit, main table.Item) ([]link, error) {
	of, own := kind{s.typeOf(main), true}, s.table.KeyOf("", main)
	ask := s.claimsOf(of, own)
	if len(ask) == 0 {
		return nil, nil
	}
	read, err := table.BatchGet[table.Item](v.Context(), s.table.Consistent(), ask)
	if err != nil {
		return nil, fmt.Errorf("claims of the item: %w", err)
	}
	var items []table.Item
	for _, item := range read {
		if k, owner := s.kindOf(item); k == of && owner == own {
			items = append(items, item)
		}
	}
	sortItems(s.layouts[0].keys(), items)
	var all []link
	for _, item := range items {
		all = append(all, s.link(s.table.KeyOf("", item), v.now))
	}
	return all, nil
}
