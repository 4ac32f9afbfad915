package coldstart

import "testing"

// What a repository does is compiled once. For a type there is little more than the
// signatures: generic code comes again for each type, in each package that names it.
func TestEntitySize(t *testing.T) {
	t.Parallel()
	const most = 50 << 10
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

// What the library adds to a binary. With html/template, all exported methods of a Repo, a Table
// and a schema are in it.
func TestBinarySize(t *testing.T) {
	t.Parallel()
	most := sizes{plain: 1900 << 10, template: 2800 << 10}
	library, err := binaries(t.Context(), t.TempDir(), "library")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := binaries(t.Context(), t.TempDir(), "sdk")
	if err != nil {
		t.Fatal(err)
	}
	above := library.above(sdk)
	t.Logf("the library adds %d bytes, and %d with html/template", above.plain, above.template)
	if above.plain > most.plain {
		t.Errorf("the library adds %d bytes to a binary, more than %d", above.plain, most.plain)
	}
	if above.template > most.template {
		t.Errorf("the library adds %d bytes to a binary with html/template, more than %d", above.template, most.template)
	}
}
