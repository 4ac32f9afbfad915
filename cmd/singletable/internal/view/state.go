package view

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/described"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// tables are the tables that were opened. It is safe for concurrent use.
type tables struct {
	mu   sync.Mutex
	open map[string]*state
}

// state is what is known of a table. It does not change, apart from what was learned.
type state struct {
	root    root
	schema  schema.Table // with all defaults
	omitted []string     // what the table has and the schema cannot say
	layouts []layout
	live    *types.TableDescription
	as      time.Time // when it was described
	// table reads. Its schema has no TTL, so that expired items are shown, and requests
	// are as they were asked for.
	table *table.Table
	given []tablemodel.Entity // of a file
	// findings are faults of the design in the file.
	findings []check.Finding
	// seen and recent stay when the table is described again.
	seen   *samples
	recent *recent
}

// describedFor is how long a description is used.
const describedFor = time.Minute

// maxTables bounds the tables whose state is kept.
const maxTables = 64

// openTable gives the visit the table of its address. fresh asks DynamoDB how it is now.
func (s *server) openTable(v *visit, fresh bool) error {
	name := v.PathValue("table")
	if s.options.Table != "" && name != s.options.Table {
		return &pageError{http.StatusNotFound, "Another table", "The pages are about one table only. Start singletable view without a table to see all."}
	}
	if (schema.Table{Name: name}).Validate() != nil {
		return &pageError{http.StatusNotFound, "No such table", "A table cannot have this name."}
	}
	s.tables.mu.Lock()
	known := s.tables.open[name]
	s.tables.mu.Unlock()
	if known != nil && !fresh && v.now.Sub(known.as) < describedFor {
		v.state = known
		return nil
	}
	st, err := s.describe(v.Context(), name)
	if err != nil {
		return err
	}
	st.as, st.seen, st.recent = v.now, &samples{}, &recent{}
	s.tables.mu.Lock()
	defer s.tables.mu.Unlock()
	if known := s.tables.open[name]; known != nil {
		st.seen, st.recent = known.seen, known.recent
	} else if len(s.tables.open) >= maxTables {
		s.tables.open = nil
	}
	if s.tables.open == nil {
		s.tables.open = map[string]*state{}
	}
	s.tables.open[name] = st
	v.state = st
	return nil
}

// describe asks DynamoDB what the table is. It consumes no capacity.
func (s *server) describe(ctx context.Context, name string) (*state, error) {
	m := s.options.Model
	if m == nil || m.Name != name {
		m = &tablemodel.Model{}
	}
	found, err := described.Read(ctx, s.client, name, cmp.Or(m.TypeAttribute, s.options.Type))
	if err != nil {
		return nil, fmt.Errorf("singletable: table %s: %w", name, err)
	}
	st := &state{root: s.root, live: found.Live, given: m.Entities}
	spec, omitted := found.Schema, found.Omitted
	if m.Name != "" {
		spec, omitted, st.findings = merged(m.Table, spec), nil, s.options.Findings
	}
	// A page is one request, even if it is short then.
	t, err := table.New(s.client, spec, &table.Options{MaxRounds: 1})
	if err != nil {
		return nil, err
	}
	st.table, st.schema = t.IncludingExpired(), t.Schema()
	st.omitted, st.layouts = omitted, layouts(st.schema)
	return st, nil
}

// merged returns the schema of a file, and the indexes of the live table that it lacks.
func merged(file, live schema.Table) schema.Table {
	file.Indexes = slices.Clone(file.Indexes)
	for _, x := range live.Indexes {
		if !slices.ContainsFunc(file.Indexes, func(known schema.Index) bool { return known.Name == x.Name }) {
			file.Indexes = append(file.Indexes, x)
		}
	}
	file.Vectors = slices.Clone(file.Vectors)
	for _, x := range live.Vectors {
		if !slices.ContainsFunc(file.Vectors, func(known schema.VectorIndex) bool { return known.Name == x.Name }) {
			file.Vectors = append(file.Vectors, x)
		}
	}
	if file.TTLAttribute == "" {
		file.TTLAttribute = live.TTLAttribute
	}
	return file
}

// openIndex opens the table, and returns the keys of the index in the address, or of the
// table.
func (s *server) openIndex(v *visit) (layout, error) {
	if err := s.openTable(v, false); err != nil {
		return layout{}, err
	}
	index := v.FormValue("index")
	i := slices.IndexFunc(v.state.layouts, func(l layout) bool { return l.Index == index })
	if i < 0 {
		return layout{}, &pageError{http.StatusNotFound, "No such index", "The table has no index of this name."}
	}
	return v.state.layouts[i], nil
}

// title names the table or index.
func (l layout) title() string {
	if l.Index == "" {
		return "Table"
	}
	return l.Index
}

// whole reports whether a read of the table or index gives whole items. Vectors do not count.
func (s *state) whole(index string) bool {
	partial := func(name string, p types.ProjectionType) bool {
		return name == index && p != "" && p != types.ProjectionTypeAll
	}
	return !slices.ContainsFunc(s.schema.Indexes, func(x schema.Index) bool { return partial(x.Name, x.Projection) }) &&
		!slices.ContainsFunc(s.schema.Vectors, func(x schema.VectorIndex) bool { return partial(x.Name, x.Projection) })
}

// typeOf returns the type of an item, "" if it has none.
func (s *state) typeOf(item table.Item) string { return s.schema.TypeOf(item) }
