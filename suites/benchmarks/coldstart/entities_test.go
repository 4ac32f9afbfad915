package coldstart

import "testing"

// What a repository does is compiled once. For a type there is little more than the
// signatures: generic code comes again for each type, in each package that names it.
func TestEntitySize(t *testing.T) {
	t.Parallel()
	const most = 100 << 10
	one, _, err := withEntities(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	more, _, err := withEntities(t.Context(), t.TempDir(), 1+entityCount)
	if err != nil {
		t.Fatal(err)
	}
	if each := (more - one) / entityCount; each > most {
		t.Errorf("an entity type adds %d bytes to a binary, more than %d", each, most)
	}
}
