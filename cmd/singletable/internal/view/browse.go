package view

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/cmd/singletable/internal/spread"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// scanned is how many items a page of a scan has.
const scanned = 50

// partitions are the partitions of some items of a scan.
type partitions struct {
	Index      string
	Title      string
	Items      int
	Limit      int
	First      bool // It is the beginning of the scan.
	Next       string
	Partitions []partitionRow
	// Rows are the same items one by one.
	Rows []row
	// AsList and AsPartitions lead to the two forms.
	List                 bool
	Single               bool // Each item is a partition, so there is one form.
	AsList, AsPartitions string
	Columns              []string
	Whole                bool
	Export               string
	items                []table.Item
}

// partitionRow is a partition with its items in the order of their sort keys, those that have
// expired last.
type partitionRow struct {
	Keys  []keyPart
	Href  string
	Items []row
	// More is how many of the items are not shown.
	More int
	// telling is that of its items.
	telling int
}

// itemsOfPartition is how many items of a partition a list of partitions shows.
const itemsOfPartition = 12

// single reports whether each partition of the table has one item.
func (l layout) single() bool { return l.Index == "" && len(l.Sort) == 0 }

func (s *server) browse(v *visit) (*page, error) {
	l, err := s.openIndex(v)
	if err != nil {
		return nil, err
	}
	p, err := s.scan(v, l)
	if err != nil {
		return nil, err
	}
	if p, ok := exported(v, p.Whole, p.items); ok {
		return p, nil
	}
	p.Export = exportAddress(v, p.Whole, p.Items)
	return &page{Template: "browse", Title: l.title() + " · " + v.state.schema.Name, Content: p, At: "browse:" + l.Index}, nil
}

// scan reads a page of a scan of the table or an index: the one of the address, or the
// first.
func (s *server) scan(v *visit, l layout) (partitions, error) {
	st, after := v.state, v.FormValue("after")
	read, err := table.ScanPage[table.Item](v.Context(), st.table, table.Scan{Index: l.Index, Limit: scanned, After: after})
	if err != nil {
		return partitions{}, err
	}
	if st.whole(l.Index) {
		st.learnScan(read.Items)
	}
	name := st.schema.Name
	p := partitions{
		Index: l.Index, Title: l.title(), Items: len(read.Items), Limit: scanned, First: after == "",
		List:         v.FormValue("as") == "list" || l.single(),
		Single:       l.single(),
		AsList:       st.root.address(name, "browse", "index", l.Index, "as", "list", "after", after),
		AsPartitions: st.root.address(name, "browse", "index", l.Index, "after", after),
		Whole:        st.whole(l.Index),
		items:        read.Items,
	}
	if read.Next != "" {
		p.Next = st.root.address(name, "browse", "index", l.Index, "as", v.FormValue("as"), "after", read.Next)
	}
	if p.List {
		p.Columns, p.Rows = attributeNames(l.keys()), st.newRows(l, read.Items, l.keys(), v.now)
		return p, nil
	}
	p.Partitions = expiredLast(st.partitions(v, l, read.Items))
	return p, nil
}

// A sample of a small table has so many items of each of so many segments. A table is
// small as long as a local engine, which sorts all items for that, does so at once.
const (
	segments   = 5
	perSegment = 20
	small      = 10_000
)

// sample reads items from several places of the table: a page of an engine that scans in
// the order of keys can be of one type only.
func (s *server) sample(v *visit) (items []table.Item, err error) {
	st := v.state
	whole := false
	if aws.ToInt64(st.live.ItemCount) < small {
		items, whole, err = st.sampleSegments(v)
	} else {
		var read spread.Sample
		read, err = spread.Read(v.Context(), s.client, st.table.Schema(), segments*perSegment)
		items = read.Items
	}
	if err != nil {
		return nil, err
	}
	st.learnSample(items, whole)
	return items, nil
}

// sampleSegments reads items from segments of a small table. The requests are concurrent.
// whole means that the table has no other items.
func (s *state) sampleSegments(v *visit) (items []table.Item, whole bool, err error) {
	var pages [segments]table.Page[table.Item]
	var errs [segments]error
	var reads sync.WaitGroup
	for i := range segments {
		reads.Go(func() {
			part := table.Scan{Segment: i, Segments: segments, Limit: perSegment}
			pages[i], errs[i] = table.ScanPage[table.Item](v.Context(), s.table, part)
		})
	}
	reads.Wait()
	whole = true
	for i, p := range pages {
		if errs[i] != nil {
			return nil, false, errs[i]
		}
		items, whole = append(items, p.Items...), whole && p.Next == ""
	}
	return items, whole, nil
}

// partitions groups items by partition, in the order of the scan.
func (s *state) partitions(v *visit, l layout, items []table.Item) []partitionRow {
	type group struct {
		pks   []string
		items []table.Item
	}
	var groups []*group
	at := map[string]*group{}
	for _, item := range items {
		pks, _ := values(item, l.Partition)
		id := strings.Join(pks, "\x00")
		g := at[id]
		if g == nil {
			g = &group{pks: pks}
			at[id] = g
			groups = append(groups, g)
		}
		g.items = append(g.items, item)
	}
	var all []partitionRow
	c := s.newChoice(l, items)
	for _, g := range groups {
		if len(l.Sort) > 0 {
			sortItems(l.Sort, g.items)
		}
		slices.SortStableFunc(g.items, func(a, b table.Item) int { return cmp.Compare(s.expired(a, v.now), s.expired(b, v.now)) })
		n := min(len(g.items), itemsOfPartition)
		all = append(all, partitionRow{
			Keys: parts(l.Partition, g.pks, v.now), Href: s.partitionAddress(l, g.pks),
			Items: s.rows(l, g.items[:n], l.rowKeys(), c, v.now), More: len(g.items) - n, telling: telling.Score(g.items),
		})
	}
	return all
}

// expired returns 1 for an item that has expired, 0 for others.
func (s *state) expired(item table.Item, now time.Time) int {
	if e := expiryOf(item, s.schema.TTLAttribute, now); e != nil && e.Expired {
		return 1
	}
	return 0
}

// expiredLast moves partitions of which all items have expired behind the others. Their first
// item is one that has not, if there is one.
func expiredLast(all []partitionRow) []partitionRow {
	gone := func(p partitionRow) bool { return p.Items[0].Class() == "gone" }
	return slices.Concat(slices.DeleteFunc(slices.Clone(all), gone), slices.DeleteFunc(slices.Clone(all), func(p partitionRow) bool { return !gone(p) }))
}

// sortItems sorts items by their sort keys, as DynamoDB does within a partition.
func sortItems(by []schema.Attribute, items []table.Item) {
	sort.SliceStable(items, func(i, j int) bool {
		a, _ := values(items[i], by)
		b, _ := values(items[j], by)
		for k := range min(len(a), len(b)) {
			if c := compare(by[k].Type, a[k], b[k]); c != 0 {
				return c < 0
			}
		}
		return false
	})
}
