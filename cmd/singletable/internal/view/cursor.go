package view

import (
	"strings"
)

// cursorForm is the page on which a cursor is looked into.
type cursorForm struct {
	Given  string
	Result *cursorResult
}

// cursorResult is what the cursor says.
type cursorResult struct {
	Characters int
	Sort       string
	KeyID      string
	Keys       string
	Issued     *moment
	Expires    *moment
	Position   []text
	Refused    string
	Notes      []string
}

func (s *server) cursor(v *visit) (*page, error) {
	f := cursorForm{Given: strings.TrimSpace(v.FormValue("cursor"))}
	if f.Given != "" {
		f.Result = newCursorResult(s.options.Inspect(f.Given), v)
	}
	return &page{Template: "cursor", Title: "Cursor", Content: f, At: "cursor"}, nil
}

func newCursorResult(c Cursor, v *visit) *cursorResult {
	r := &cursorResult{
		Characters: c.Characters, KeyID: c.KeyID, Keys: strings.Join(c.Keys, ", "), Refused: c.Refused, Notes: c.Notes,
		Sort: strings.Trim(c.Format+", "+c.Kind, ", "),
	}
	if c.Issued != nil && c.Expires != nil {
		issued, expires := newMoment(*c.Issued, v.now), newMoment(*c.Expires, v.now)
		r.Issued, r.Expires = &issued, &expires
	}
	for _, p := range c.Position {
		r.Position = append(r.Position, newText(p, longText))
	}
	return r
}
