package schema

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/singletable/singletable/keys"
)

// ErrMismatch means that the live table differs from the schema.
var ErrMismatch = errors.New("table differs from its schema")

// ErrUnsupported means that the engine does not have what it was asked for, such as vector
// searches or point-in-time recovery: it is one for tests, and not DynamoDB. Nothing was
// written. For [Table.Ensure] and [Table.Verify] it also means that the table is otherwise
// as the schema says. Verify and Plan change nothing, so they know only of an operation that
// the engine lacks, and not of a setting that it refuses or ignores. Requests of packages table
// and stream return it, too.
var ErrUnsupported = errors.New("this engine cannot do it")

var (
	errUnsupported = allBut{ErrUnsupported}

	errInvalid  = fmt.Errorf("%w schema", keys.ErrInvalid)
	errNoClient = fmt.Errorf("%w: the client is nil", errInvalid)
)

// Error is what the functions of this package return when they fail. It lists what is
// wrong with a schema, or where a live table differs from it; or it says which operation
// has failed. Package repo returns it too: it lists what is wrong with the description of
// an entity.
type Error struct {
	// Op is the operation: Plan, Verify, Ensure or EstimateItems. It is empty if
	// Problems are listed.
	Op string
	// Table and Index are where it happened; Index is empty for the table.
	Table, Index string
	// Entity is the type of the entity whose description is wrong; empty otherwise.
	Entity string
	// Problems are all that was found, each with the field or the index.
	Problems []string
	// Err is the cause; never nil. With Problems it matches [keys.ErrInvalid],
	// [ErrMismatch] or [ErrUnsupported], and the SDK's error if there is one.
	Err error
}

// allBut is an error of which everything but the listed problems is right.
type allBut struct{ error }

func (allBut) Error() string { return "as the schema says, except for what this engine cannot do" }

func (e allBut) Unwrap() error { return e.error }

// problems collects what is wrong with a schema.
type problems struct {
	where string // begins each
	all   *[]string
}

func (p problems) add(format string, args ...any) {
	*p.all = append(*p.all, p.where+fmt.Sprintf(format, args...))
}

// name adds why a table or an index cannot have a name. AWS: "Constraints in Amazon DynamoDB", Amazon
// DynamoDB Developer Guide.
func (p problems) name(name string) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if len(name) < 3 || len(name) > 255 || strings.Trim(name, allowed) != "" {
		p.add("Name: %q is not 3 to 255 of the characters a-z A-Z 0-9 _ . -", name)
	}
}

// index returns what collects the problems of the ith index of a field, and adds those of its
// name: seen are the names of the indexes before.
func (p problems) index(field string, i int, name string, seen map[string]bool) problems {
	p.where = fmt.Sprintf("%s[%d].", field, i)
	p.name(name)
	if seen[name] {
		p.add("Name: %q is used twice", name)
	}
	seen[name] = true
	return p
}

// listed returns the error of all problems, nil if there are none.
func listed(table string, err error, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Table: table, Problems: problems, Err: err}
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("singletable: ")
	if e.Op != "" {
		b.WriteString(e.Op + " on ")
	}
	if e.Entity != "" {
		fmt.Fprintf(&b, "entity %q on ", e.Entity)
	}
	b.WriteString("table " + e.Table)
	if e.Index != "" {
		b.WriteString(", index " + e.Index)
	}
	// The SDK joins some errors line by line.
	b.WriteString(": " + strings.ReplaceAll(e.Err.Error(), "\n", "; "))
	if len(e.Problems) > 0 {
		b.WriteString(": " + strings.Join(e.Problems, "; "))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// LogValue returns the error as a group: op, table, index, entity, error.
func (e *Error) LogValue() slog.Value {
	var all []slog.Attr
	for _, a := range []slog.Attr{slog.String("op", e.Op), slog.String("table", e.Table), slog.String("index", e.Index), slog.String("entity", e.Entity)} {
		if a.Value.String() != "" {
			all = append(all, a)
		}
	}
	text := e.Err.Error()
	if len(e.Problems) > 0 {
		text += ": " + strings.Join(e.Problems, "; ")
	}
	return slog.GroupValue(append(all, slog.String("error", text))...)
}
