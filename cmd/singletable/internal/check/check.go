// Package check finds faults in the design of a table, as a schema file describes it, and
// says what a change of the file means for a live table.
//
// # Reading the code
//
//	check.go    findings, and those that are accepted
//	design.go   what the rules ask of a design
//	rules.go    the rules that a schema file decides
//	volumes.go  the rules that need a load
//	lines.go    the lines of a file, for annotations
//	base.go     the steps of a change
package check

import (
	"fmt"
	"slices"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/table/tablemodel"
)

// Design is what is checked.
type Design struct {
	Model tablemodel.Model
	// Load is what the table is asked to do. Without one, the rules that need it are left out.
	Load *simulate.Load
	// Factor is how many times the load the table has to take.
	Factor float64
}

// Finding is a fault of a design.
type Finding struct {
	// ID is that of the rule. ID and Place stay the same while the fault does.
	ID    string `json:"id"`
	Place string `json:"place"`
	// Line is that of the place in its file, from 1, or 0 if it is not known.
	Line int `json:"line,omitempty"`
	// Says is the fault in a sentence, Do what resolves it, and Source where the rule is from.
	Says   string `json:"says"`
	Do     string `json:"do"`
	Source string `json:"source"`
	// InLoad means that the place is in the file of the load.
	InLoad bool `json:"inLoad,omitempty"`
	// Reason is why the finding is accepted.
	Reason string `json:"reason,omitempty"`

	path string
}

// Accepted is a finding that stays, for a reason. It is in the schema file.
type Accepted struct {
	ID     string `json:"id"`
	Place  string `json:"place"`
	Reason string `json:"reason"`
}

// Validate returns what is wrong with the accepted findings of a file.
func Validate(accepted []Accepted) (problems []string) {
	for i, a := range accepted {
		at := fmt.Sprintf("accepted[%d]", i)
		if !slices.Contains(IDs(), a.ID) {
			problems = append(problems, fmt.Sprintf("%s.id: %q is no rule", at, a.ID))
		}
		if slices.ContainsFunc(accepted[:i], func(b Accepted) bool { return a.ID == b.ID && a.Place == b.Place }) {
			problems = append(problems, fmt.Sprintf("%s: %s of %s is there twice", at, a.ID, a.Place))
		}
	}
	return problems
}

// IDs returns those of all rules.
func IDs() (all []string) {
	for _, r := range rules() {
		all = append(all, r.id)
	}
	return all
}

// staleAcceptance is the id of an accepted finding that does not occur any more. It is a fault
// of the file, and cannot be accepted.
const staleAcceptance = "stale-acceptance"

// Run returns the findings of a design in the order of their rules and of the file, those that
// are accepted apart. An accepted finding that does not occur any more is a finding, unless its
// rule needs a load and there is none.
func Run(d Design, accepted []Accepted) (open, kept []Finding) {
	all := find(d)
	// A load can show that a finding is no fault, and the build can run without the load, too.
	without := find(Design{Model: d.Model, Factor: d.Factor})
	used := make([]bool, len(accepted))
	for i, a := range accepted {
		used[i] = slices.ContainsFunc(without, func(f Finding) bool { return a.ID == f.ID && a.Place == f.Place })
	}
	for _, f := range all {
		i := slices.IndexFunc(accepted, func(a Accepted) bool { return a.ID == f.ID && a.Place == f.Place })
		if i < 0 {
			open = append(open, f)
			continue
		}
		used[i], f.Reason = true, accepted[i].Reason
		kept = append(kept, f)
	}
	for i, a := range accepted {
		at := slices.IndexFunc(rules(), func(r rule) bool { return r.id == a.ID })
		if used[i] || at >= 0 && rules()[at].by != file && d.Load == nil {
			continue
		}
		open = append(open, Finding{
			ID: staleAcceptance, Place: a.Place, Says: fmt.Sprintf("%s is accepted, and does not occur.", a.ID),
			Do: "Delete it from accepted.", Source: "singletable", path: fmt.Sprintf("accepted[%d]", i),
		})
	}
	return open, kept
}

// find returns all findings of a design.
func find(d Design) (all []Finding) {
	c := newChecked(d)
	for _, r := range rules() {
		if r.by == load && d.Load == nil {
			continue
		}
		r.find(c, func(at place, format string, args ...any) {
			all = append(all, Finding{
				ID: r.id, Place: at.text, Says: fmt.Sprintf(format, args...), Do: r.do, Source: r.source,
				InLoad: at.inLoad, path: at.path,
			})
		})
	}
	return all
}

// Locate gives findings the lines of their places in the texts of the schema file and of the
// load.
func Locate(all []Finding, file, load string) {
	inFile, inLoad := linesOf(file), linesOf(load)
	for i, f := range all {
		lines := inFile
		if f.InLoad {
			lines = inLoad
		}
		all[i].Line = lines[f.path]
	}
}
