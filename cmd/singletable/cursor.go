package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/singletable/singletable/paginate"
)

const cursorHelp = `Usage: singletable cursor [flags] CURSOR

Cursor looks into the cursor of a page. It shows the kind and the id of the key,
and with the key the time of issue, the expiry and the position. "-" reads the
cursor from standard input.

Keys come from the environment variable CURSOR_KEYS or from a file, in the form
that the service has them: base64, separated by commas. There is no flag for
the keys themselves: command lines are seen by others and kept in histories. The
cursors of paginate.Insecure need no key. Those of a service without a codec are
sealed with a key of the process, which no one else has.

A cursor does not hold the query that it is for, nor the partition key, and nothing
in it can be authenticated without them. Only the service can tell whether it was
altered or belongs to another query or caller ("mismatch"), or whether its position
is outside the range ("out of range").

Exit codes: 0 nothing seen here is wrong with the cursor, 1 every service with
these keys and this -ttl refuses it, 2 wrong usage or keys.

Examples:

  CURSOR_KEYS=$(vault read -field=keys secret/cursor) singletable cursor "$CURSOR"
  singletable cursor -keys /run/secrets/cursor-keys -json - <cursor.txt
`

// keysVariable is the variable of which package paginate speaks.
const keysVariable = "CURSOR_KEYS"

// The defaults of package paginate.
const (
	defaultTTL = 72 * time.Hour
	maxSkew    = 5 * time.Minute
)

// cursorInfo is the output of cursor.
type cursorInfo struct {
	Characters int        `json:"characters"`
	Format     string     `json:"format,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	KeyID      string     `json:"keyId,omitempty"`
	Keys       []string   `json:"keys,omitempty"`
	Issued     *time.Time `json:"issued,omitempty"`
	Expires    *time.Time `json:"expires,omitempty"`
	Position   []string   `json:"position,omitempty"`
	Refused    string     `json:"refused,omitempty"`
	Notes      []string   `json:"notes"`
}

func (p *program) cursor(_ context.Context, args []string) error {
	fs, asJSON := flags("cursor")
	file := fs.String("keys", "", "`file` with the keys, instead of "+keysVariable)
	ttl := fs.Duration("ttl", defaultTTL, "lifetime of the service's cursors")
	rest, err := p.parse(fs, cursorHelp, args, takes{1, 1, "one cursor"})
	if err != nil {
		return err
	}
	if *ttl < time.Second {
		return usageError(fmt.Sprintf("-ttl %v is under a second", *ttl))
	}
	cursor := rest[0]
	if cursor == "-" {
		text, _, err := p.readInput("-", maxInput)
		if err != nil {
			return err
		}
		cursor = strings.TrimSpace(text)
	}
	ring, err := p.cursorKeys(*file)
	if err != nil {
		return err
	}
	info := inspect(cursor, ring, *ttl, p.now())
	return p.printResult(info, info.text(p.now()), *asJSON, info.Refused == "")
}

// cursorKeys returns the keys of the file or else of the variable; none if there
// are neither.
func (p *program) cursorKeys(file string) ([]paginate.Key, error) {
	text, source := p.getenv(keysVariable), keysVariable
	if file != "" {
		var err error
		if text, err = readFile(file, maxInput); err != nil {
			return nil, err
		}
		source = file
	} else if text == "" {
		return nil, nil
	}
	ring, err := paginate.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return ring, nil
}

// inspect looks into a cursor as far as the keys reach.
func inspect(cursor string, ring []paginate.Key, ttl time.Duration, now time.Time) cursorInfo {
	info := cursorInfo{Characters: len(cursor), Notes: []string{}}
	for _, k := range ring {
		info.Keys = append(info.Keys, k.ID())
	}
	in, err := paginate.Inspect(cursor, ring)
	if e, ok := errors.AsType[*paginate.Error](err); ok {
		info.Refused = string(e.Reason)
	}
	if info.Refused == string(paginate.UnknownVersion) {
		info.Notes = append(info.Notes, "a later release of the library wrote it, or another program")
		return info
	}
	if in.KeyID == "" && info.Refused != "" {
		info.Notes = append(info.Notes, "the library never wrote this text: it was cut or changed, or is not a cursor")
		return info
	}
	info.Format, info.Kind, info.KeyID = "unsealed", "page", in.KeyID
	if in.Sealed {
		info.Format = "sealed"
	}
	if in.Watermark {
		info.Kind = "watermark"
	}
	switch {
	case in.Before && in.FromEdge:
		info.Notes = append(info.Notes, "it leads to the last items of the query")
	case in.FromEdge:
		info.Notes = append(info.Notes, "it leads to the first items of the query")
	case in.Before:
		info.Notes = append(info.Notes, "it leads to what comes before the position")
	}
	info.Position = in.Values
	switch {
	case info.Refused == string(paginate.NoSharedKey):
		info.Notes = append(info.Notes, "sealed with the key of one process, whose table.Options.Cursors is nil: no other process opens it, nor that one after a restart; give all instances one ring of keys")
		return info
	case info.Refused == string(paginate.UnknownKey) && len(ring) == 0:
		info.Refused = ""
		info.Notes = append(info.Notes, "issue time and position are sealed: set "+keysVariable+" or give -keys FILE to see them")
		return info
	case info.Refused == string(paginate.UnknownKey):
		info.Notes = append(info.Notes, "its key is not among those given, so issue time and position cannot be shown")
		return info
	case info.Refused != "":
		info.Notes = append(info.Notes, "it holds no position: it was changed")
		return info
	}
	info.setAge(in.Issued, ttl, now)
	if !in.Sealed {
		info.Notes = append(info.Notes, "not sealed: anyone can read and make such cursors; a service uses paginate.New")
	}
	info.Notes = append(info.Notes, "not authenticated: only the service, which knows query and caller, can tell whether it was changed or is for another query")
	return info
}

// setAge sets what follows from the time of issue, as paginate.Codec judges it.
func (c *cursorInfo) setAge(issued time.Time, ttl time.Duration, now time.Time) {
	expires := issued.Add(ttl)
	c.Issued, c.Expires = &issued, &expires
	switch age := now.Sub(issued); {
	case age >= ttl:
		c.Refused = string(paginate.Expired)
	case age < -maxSkew:
		c.Refused = string(paginate.Future)
		c.Notes = append(c.Notes, "issued in the future: the clock here is wrong, or that of the service was")
	}
}

func (c cursorInfo) text(now time.Time) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s"+format+"\n", append([]any{name}, args...)...)
	}
	if c.Format == "" {
		line("cursor", "%d characters", c.Characters)
	} else {
		line("cursor", "%s, %s, %d characters", c.Format, c.Kind, c.Characters)
	}
	if c.KeyID != "" {
		given := cmp.Or(strings.Join(c.Keys, ", "), "none")
		line("key", "%s (given: %s)", c.KeyID, given)
	}
	if c.Issued != nil {
		line("issued", "%s, %s", c.Issued.Format(time.RFC3339), distance(now, *c.Issued))
		line("expires", "%s, %s, at a lifetime of %v", c.Expires.Format(time.RFC3339), distance(now, *c.Expires), c.Expires.Sub(*c.Issued))
	}
	for i, v := range c.Position {
		name := ""
		if i == 0 {
			name = "position"
		}
		line(name, "%s", oneLine(v))
	}
	if c.Refused != "" {
		line("REFUSED", "%s", c.Refused)
	}
	for _, note := range c.Notes {
		line("note", "%s", note)
	}
	return b.String()
}

// distance says how long ago something was, or how far ahead it is.
func distance(now, at time.Time) string {
	const day = 24 * time.Hour
	ago := now.Sub(at)
	text := ago.Abs().Truncate(time.Second).String()
	if ago.Abs() >= 2*day {
		// A duration has 292 years at most.
		seconds := max(now.Unix()-at.Unix(), at.Unix()-now.Unix())
		text = fmt.Sprintf("%d days", seconds/int64(day/time.Second))
	}
	if ago < 0 {
		return "in " + text
	}
	return text + " ago"
}
