package agent

import (
	"crypto/rand"

	"github.com/singletable/singletable/table"
)

// cursors are the positions of a session, by names that a client gets instead: a position has
// a key, which can be that of an item out of the scope, and its length would tell about it.
type cursors struct {
	byName map[string]position
	// names are those of byName, the oldest first.
	names []string
}

// position is where a list goes on.
type position struct {
	list  string // which one
	after table.Item
}

// maxCursors bounds them. The oldest is forgotten first.
const maxCursors = 1000

// add returns the name of a position, "" for none.
func (c *cursors) add(p position) string {
	if p.after == nil {
		return ""
	}
	if len(c.names) == maxCursors {
		delete(c.byName, c.names[0])
		c.names = c.names[1:]
	}
	if c.byName == nil {
		c.byName = map[string]position{}
	}
	name := rand.Text()
	c.byName[name], c.names = p, append(c.names, name)
	return name
}

// get returns the position of a name in a list; "" is the beginning.
func (c *cursors) get(name, list string) (after table.Item, ok bool) {
	p := c.byName[name]
	return p.after, name == "" || p.list == list
}
