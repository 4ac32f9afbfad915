package repo

import (
	"errors"
	"fmt"

	"github.com/singletable/singletable/table"
)

// Opening makes a repository for [Open]. Get one from [Into].
type Opening interface {
	// open makes the repository, and returns what stores it.
	open(t *table.Table) (types []string, store func(), err error)
}

type into[T any] struct {
	repo   **Repo[T]
	entity Entity[T]
}

// Into returns what stores the repository of an entity in *r.
func Into[T any](r **Repo[T], entity Entity[T]) Opening { return into[T]{r, entity} }

func (i into[T]) open(t *table.Table) (types []string, store func(), err error) {
	if i.repo == nil {
		return nil, nil, refused(i.entity.Type, "", "the pointer to its repository is nil")
	}
	r, err := New(t, i.entity)
	return r.Types(), func() { *i.repo = r }, err
}

// Open makes all repositories of a program, or none:
//
//	err := repo.Open(t,
//		repo.Into(&s.users, userEntity),
//		repo.Into(&s.orders, orderEntity))
//
// The error holds those of [New] for all entities, and names types that two of them have.
func Open(t *table.Table, openings ...Opening) error {
	var errs []error
	var stores []func()
	taken := map[string]bool{}
	for i, o := range openings {
		if o == nil {
			errs = append(errs, fmt.Errorf("%w: opening %d is nil", errInvalidEntity, i))
			continue
		}
		types, store, err := o.open(t)
		errs, stores = append(errs, err), append(stores, store)
		for _, name := range types {
			if taken[name] {
				errs = append(errs, refused(name, t.Schema().Name, "Type: another entity has it, too"))
			}
			taken[name] = true
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, store := range stores {
		store()
	}
	return nil
}
