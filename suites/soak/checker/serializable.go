package checker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Transaction is one of a history over lists: what it has read of them, and then
// appended. Each value is appended once in a history.
type Transaction struct {
	Name    string
	Outcome Outcome // Done, Refused or Unknown
	Reads   map[string][]string
	Appends map[string][]string
	// Each means that the reads are not one transaction, as those of Query, Scan and
	// BatchGetItem.
	Each bool
}

// Transactions is a history of transactions. The zero value is empty. It is safe
// for concurrent use.
//
// It is checked for what DynamoDB promises: transactions are serializable with each
// other and with operations on one item, while operations that read several items
// without a transaction read committed values of each ("Amazon DynamoDB Transactions:
// How it works", https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html).
// That the order is also that of real time is not checked here, see [History].
//
// The lists give the order of the writes away, as in Elle's list-append histories
// (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
// Observations", VLDB 2020). Anomalies have the names of Adya's theory.
type Transactions struct {
	mu  sync.Mutex
	all []Transaction
}

// Anomaly is what a history is not serializable for.
type Anomaly string

// The anomalies. A cycle is named after the dependencies that it is made of: of
// writes alone, with reads of them, with one write over something that was read, or
// with several.
const (
	Lost         Anomaly = "lost or partial write"
	Duplicate    Anomaly = "value that was appended twice"
	Garbage      Anomaly = "value that nobody has appended"
	Aborted      Anomaly = "G1a: read of an aborted write"
	Intermediate Anomaly = "G1b: read of an intermediate value"
	Incompatible Anomaly = "reads that disagree on the order of writes"
	WriteCycle   Anomaly = "G0: cycle of writes"
	ReadCycle    Anomaly = "G1c: cycle of writes and reads"
	Single       Anomaly = "G-single: cycle with one anti-dependency"
	Item         Anomaly = "G2-item: cycle with several anti-dependencies"
)

// Error returns the anomaly's name.
func (a Anomaly) Error() string { return string(a) }

// Add adds a transaction that has ended.
func (h *Transactions) Add(t Transaction) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, t)
}

// Serializable checks transactions, and operations on one item. final are the lists
// as they are when all transactions have ended.
func (h *Transactions) Serializable(final map[string][]string) error {
	g, err := h.graph(final)
	if err != nil {
		return err
	}
	for n, t := range g.all {
		if t.Each {
			continue
		}
		if err := g.committed(t); err != nil {
			return err
		}
		g.connect(n)
	}
	return g.acyclic()
}

// Committed checks the other reads, each item for itself, and returns their number.
func (h *Transactions) Committed(final map[string][]string) (reads int, err error) {
	g, err := h.graph(final)
	if err != nil {
		return 0, nil // reported by Serializable
	}
	for _, t := range g.all {
		if !t.Each {
			continue
		}
		reads++
		if err := g.committed(t); err != nil {
			return reads, err
		}
	}
	return reads, nil
}

// graph holds the dependencies of the transactions, which are named by their index.
type graph struct {
	all    []Transaction
	final  map[string][]string
	writer map[string]int // of a value
	edges  [][]edge
}

type edge struct {
	from, to int
	kind     dependency
	value    string
}

// dependency says why a transaction comes before another one: it has written what
// the other one has overwritten or read, or has read what the other overwrites.
type dependency string

const (
	ww dependency = "ww"
	wr dependency = "wr"
	rw dependency = "rw"
)

// graph returns the graph without edges, or an error if the lists at the end do not
// hold what was appended.
func (h *Transactions) graph(final map[string][]string) (*graph, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := &graph{all: slices.Clone(h.all), final: final, writer: map[string]int{}, edges: make([][]edge, len(h.all))}
	for n, t := range g.all {
		for _, values := range t.Appends {
			for _, v := range values {
				g.writer[v] = n
			}
		}
	}
	stored := map[string]bool{}
	for list, values := range final {
		if err := g.readable(list, values); err != nil {
			return nil, err
		}
		for _, v := range values {
			if stored[v] {
				return nil, fmt.Errorf("%w: %s in %s", Duplicate, v, list)
			}
			stored[v] = true
		}
	}
	for _, t := range g.all {
		count, all := 0, 0
		for _, values := range t.Appends {
			all += len(values)
			for _, v := range values {
				if stored[v] {
					count++
				}
			}
		}
		if t.Outcome == Done && count < all || t.Outcome == Unknown && count > 0 && count < all {
			return nil, fmt.Errorf("%w: %d of %d values of %v", Lost, count, all, t)
		}
	}
	return g, nil
}

// readable checks that values were appended by transactions that can be committed.
func (g *graph) readable(list string, values []string) error {
	for _, v := range values {
		n, known := g.writer[v]
		if !known || !slices.Contains(g.all[n].Appends[list], v) {
			return fmt.Errorf("%w: %s in %s", Garbage, v, list)
		}
		if g.all[n].Outcome == Refused {
			return fmt.Errorf("%w: %s in %s, of %v", Aborted, v, list, g.all[n])
		}
	}
	return nil
}

// committed checks each read of a transaction for itself.
func (g *graph) committed(t Transaction) error {
	for list, values := range t.Reads {
		if err := g.readable(list, values); err != nil {
			return fmt.Errorf("%w, read by %v", err, t)
		}
		order := g.final[list]
		if len(values) > len(order) || !slices.Equal(values, order[:len(values)]) {
			return fmt.Errorf("%w: %v has read %v of %s, which is %v", Incompatible, t, values, list, order)
		}
		if len(values) == 0 {
			continue
		}
		last := values[len(values)-1]
		w := g.all[g.writer[last]]
		if own := w.Appends[list]; own[len(own)-1] != last {
			return fmt.Errorf("%w: %v has read %s of %v", Intermediate, t, last, w)
		}
	}
	return nil
}

// connect adds the edges that a transaction's reads and writes show.
func (g *graph) connect(n int) {
	add := func(from, to int, kind dependency, value string) {
		if from != to {
			g.edges[from] = append(g.edges[from], edge{from, to, kind, value})
		}
	}
	for list, values := range g.all[n].Reads {
		if len(values) > 0 {
			last := values[len(values)-1]
			add(g.writer[last], n, wr, last)
		}
		if order := g.final[list]; len(values) < len(order) {
			next := order[len(values)]
			add(n, g.writer[next], rw, next)
		}
	}
	for list, values := range g.all[n].Appends {
		for _, v := range values {
			if i := slices.Index(g.final[list], v); i > 0 {
				add(g.writer[g.final[list][i-1]], n, ww, v)
			}
		}
	}
}

// acyclic looks for cycles, the least permitted ones first.
func (g *graph) acyclic() error {
	for _, search := range []struct {
		anomaly Anomaly
		first   dependency // of an edge that the cycle has
		others  []dependency
	}{
		{WriteCycle, ww, []dependency{ww}},
		{ReadCycle, wr, []dependency{ww, wr}},
		{Single, rw, []dependency{ww, wr}},
		{Item, rw, []dependency{ww, wr, rw}},
	} {
		for _, edges := range g.edges {
			for _, e := range edges {
				if e.kind != search.first {
					continue
				}
				if back := g.path(e.to, e.from, search.others); back != nil {
					return fmt.Errorf("%w:%s", search.anomaly, g.describe(append([]edge{e}, back...)))
				}
			}
		}
	}
	return nil
}

// path returns a shortest path along edges of some kinds, nil if no path
// exists.
func (g *graph) path(from, to int, kinds []dependency) []edge {
	came := map[int]edge{}
	queue := []int{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, e := range g.edges[n] {
			if _, seen := came[e.to]; seen || e.to == from || !slices.Contains(kinds, e.kind) {
				continue
			}
			came[e.to] = e
			queue = append(queue, e.to)
		}
	}
	var path []edge
	for n := to; n != from; n = came[n].from {
		e, found := came[n]
		if !found {
			return nil
		}
		path = append(path, e)
	}
	slices.Reverse(path)
	return path
}

func (g *graph) describe(cycle []edge) string {
	var b strings.Builder
	for _, e := range cycle {
		fmt.Fprintf(&b, "\n  %v\n    before, %s of %s,", g.all[e.from], e.kind, e.value)
	}
	fmt.Fprintf(&b, "\n  %s", g.all[cycle[0].from].Name)
	return b.String()
}

// String shows a transaction in an error.
func (t Transaction) String() string {
	return fmt.Sprintf("%s (%s, reads %v, appends %v)", t.Name, t.Outcome, t.Reads, t.Appends)
}
