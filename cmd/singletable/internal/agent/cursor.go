package agent

import (
	"crypto/rand"

	"github.com/singletable/singletable/table"
)

// cursors are the positions of a session, by names that a client gets instead: a position has
// a key, which can be that of an item out of the scope, and its length would tell about it.
type cursors map[string]position

// position is where a list goes on.
type position struct {
	list  string // which one
	after table.Item
}

// maxCursors bounds them. When there are more, all are forgotten.
const maxCursors = 1000

// add returns the name of a position, "" for none.
func (c cursors) add(p position) string {
	if p.after == nil {
		return ""
	}
	if len(c) == maxCursors {
		clear(c)
	}
	name := rand.Text()
	c[name] = p
	return name
}

// get returns the position of a name in a list; "" is the beginning.
func (c cursors) get(name, list string) (after table.Item, ok bool) {
	p := c[name]
	return p.after, name == "" || p.list == list
}
