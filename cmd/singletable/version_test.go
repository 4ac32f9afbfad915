package main

import (
	"strings"
	"testing"
)

// TestVersionFlag gives attributes that are no version: a key never changes, a missing one
// guards nothing, and any other text would be replaced by a revision.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	name := withItems(t).Schema().Name
	get := func() string { return run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout }
	before := get()
	edited := strings.ReplaceAll(before, "Köln", "Bonn")
	for attribute, says := range map[string]string{
		"pk": "is a key", "gsi1sk": "is a key", "revison": "does not have", "email": "neither a revision nor a version",
		"tags": "neither a revision nor a version", "balance": "neither a revision nor a version",
	} {
		trouble(t, run(t, nil, edited, "put", "-yes", "-version", attribute, name), says)
		trouble(t, run(t, nil, "", "delete", "-yes", "-version", attribute, name, "USER#ana", "PROFILE"), says)
	}
	if after := get(); after != before {
		t.Error("the item was changed:", after)
	}
}

// TestVersionOfANewItem gives attributes that are no version of an item that is not stored yet.
func TestVersionOfANewItem(t *testing.T) {
	t.Parallel()
	name := withItems(t).Schema().Name
	const item = `{"pk":{"S":"USER#new"},"sk":{"S":"PROFILE"},"gsi1pk":{"S":"EMAIL#a"},"email":{"S":"a@b"},"revision":{"S":"abc"},"version":{"N":"1"}}`
	for attribute, says := range map[string]string{
		"pk": "is a key", "gsi1pk": "is a key", "ver": "no item is stored, and the new one does not have the attribute of -version", "email": "neither a revision nor a version",
	} {
		trouble(t, run(t, nil, item, "put", "-yes", "-version", attribute, name), says)
	}
	if got := run(t, nil, "", "get", name, "USER#new", "PROFILE"); got.code != exitNo {
		t.Error("an item was written:", got)
	}
	if got := run(t, nil, item, "put", "-yes", "-version", "version", name); got.code != exitYes {
		t.Error(got)
	}
}

// TestPutOfStaleItem puts an item that was read before another change, as the revision in
// the file shows.
func TestPutOfStaleItem(t *testing.T) {
	t.Parallel()
	name := withItems(t).Schema().Name
	get := func() string { return run(t, nil, "", "get", "-json", name, "USER#ana", "PROFILE").stdout }
	mine := strings.ReplaceAll(get(), "Köln", "Bonn")
	if got := run(t, nil, strings.ReplaceAll(get(), "ana@", "anna@"), "put", "-yes", "-version", "revision", name); got.code != 0 {
		t.Fatal(got)
	}
	if got := run(t, nil, mine, "put", "-yes", "-version", "revision", name); got.code != exitNo || !strings.Contains(got.stdout, "NOT WRITTEN") {
		t.Error("a stale item was written:", got)
	}
	if !strings.Contains(get(), "anna@example.com") {
		t.Error("a change of another was lost")
	}
	// Who has seen the difference may write it.
	shown := run(t, nil, mine, "put", "-version", "revision", name)
	if !strings.Contains(shown.stderr, "would undo that change") {
		t.Error("the difference does not say that the file is stale:", shown)
	}
	_, line, _ := strings.Cut(shown.stderr, "To write it: singletable ")
	if got := run(t, nil, mine, words(t, line)...); got.code != 0 {
		t.Error(got)
	}
}
