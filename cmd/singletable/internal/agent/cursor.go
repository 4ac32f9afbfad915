package agent

import "crypto/rand"

// cursors are the cursors of a session by names that a client gets instead: a cursor has a
// key, which can be that of an item out of the scope, and its length would tell about it.
type cursors struct {
	byName map[string]string
	// names are those of byName, the oldest first.
	names []string
}

// maxCursors bounds them. The oldest is forgotten first.
const maxCursors = 1000

// add returns the name of a cursor, "" for none.
func (c *cursors) add(cursor string) string {
	if cursor == "" {
		return ""
	}
	if len(c.names) == maxCursors {
		delete(c.byName, c.names[0])
		c.names = c.names[1:]
	}
	if c.byName == nil {
		c.byName = map[string]string{}
	}
	name := rand.Text()
	c.byName[name], c.names = cursor, append(c.names, name)
	return name
}

// get returns the cursor of a name; "" has none.
func (c *cursors) get(name string) (cursor string, ok bool) {
	cursor, ok = c.byName[name]
	return cursor, ok || name == ""
}
