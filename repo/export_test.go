package repo

import "github.com/singletable/singletable/table"

// Declared is New without the repository: the compiler makes all methods of one for each
// type, which takes a while for the many types that tests declare.
func Declared[T any](t *table.Table, entity Entity[T]) error {
	return new(core).init(t, describe(entity))
}
