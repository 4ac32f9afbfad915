package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

const hotHelp = `Usage: singletable hot [flags] TABLE

Hot looks for the partition keys that hold, or get, more than their share. It prints
keys, which can be personal data.

By default it reads a sample of the table, or of an index: about 1,000 items of random
segments of a Scan. It prints the partitions and types with the greatest shares of items
and bytes, and how sure that is. It says before what the sample costs. All items of a
partition are in one segment: a large partition in another segment is not in the sample.
If DynamoDB's own count shows that there must be one, it says so; more -items find it.

With -stream it counts writes instead: what the table's stream gets in that time, by
partition key. That takes no capacity of the table. It misses no partition, writes that
change nothing are not in it, and deletes by TTL are left out. A partition takes 1,000
write units a second. A stream takes two readers: run it only where the table has at most
one.

Neither shows reads. CloudWatch Contributor Insights for DynamoDB counts all requests by
key, and a service counts its own with package table/telemetry.

Exit codes: 0 printed, 2 no result.

Examples:

  AWS_PROFILE=prod singletable hot AppCore
  singletable hot -index GSI1 -items 20000 AppCore
  singletable hot -stream 30s -json AppCore | jq '.partitions[0]'
`

// listed is how many partitions hot prints.
const listed = 10

// hotSample is the output of hot without -stream.
type hotSample struct {
	Table  string `json:"table"`
	Region string `json:"region"`
	amount
	// Whole means that the sample is the whole table, so that all is exact.
	Whole        bool           `json:"whole"`
	Segments     int            `json:"segments"`
	OfSegments   int            `json:"ofSegments"`
	AboutItems   int64          `json:"aboutItems"`
	ReadUnits    float64        `json:"readUnits"`
	Partitions   []hotPartition `json:"partitions"`
	Types        []hotType      `json:"types"`
	PartitionsIn int            `json:"partitionsInSample"`
	// Unseen is the share of the items in partitions that the sample did not see, or not
	// whole; 0 if DynamoDB's own count does not show that there are any.
	Unseen float64 `json:"unseenShare"`
}

type hotPartition struct {
	Key dynamojson.Item `json:"key"`
	amount
	ItemShare float64 `json:"itemShare"`
	ByteShare float64 `json:"byteShare"`
	// More means that the partition may have more items, which were not read.
	More bool `json:"more,omitzero"`
	text string
}

type hotType struct {
	Type string `json:"type"`
	amount
	ItemShare float64 `json:"itemShare"`
	// Margin is how far the share of items may be off; missing if it is not known.
	Margin    *float64 `json:"margin,omitempty"`
	ByteShare float64  `json:"byteShare"`
}

func (p *program) hot(ctx context.Context, args []string) error {
	fs, asJSON := flags("hot")
	items := fs.Int("items", 1000, "the `number` of items of the sample")
	index := fs.String("index", "", "`name` of the index; the table itself by default")
	period := fs.Duration("stream", 0, "count the writes that the stream gets in this `time` instead, such as 30s")
	schemaFile := fs.String("schema", "", schemaUsage)
	rest, err := p.parse(fs, hotHelp, args, takes{1, 1, "the name of one table"})
	switch {
	case err != nil:
		return err
	case *items < 1 || *items > 1_000_000:
		return usageError("-items must be 1 to 1000000")
	case *period < 0 || *period > 0 && *period < time.Second:
		return usageError("-stream must be at least 1s")
	case *period > 0 && *index != "":
		return usageError("-stream counts by the keys of the table: it does not go with -index")
	}
	t, err := p.openStored(ctx, rest[0], *schemaFile, nil)
	if err != nil {
		return err
	}
	if *period > 0 {
		return p.hotWrites(ctx, t.live, t.schema, *period, *asJSON)
	}
	if err := p.checkOmitted(*index); err != nil {
		return err
	}
	if *index != "" && !slices.ContainsFunc(t.schema.Indexes, func(x schema.Index) bool { return x.Name == *index }) {
		return noIndex(t.schema)
	}
	about, err := p.ownCount(ctx, t.live, *index, t.schema.Name)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, beforeSample(about, *items))
	s, err := takeSample(ctx, t.table, *index, *items, segmentsFor(about.Items))
	if err != nil {
		p.soFar(int64(s.total.Items), s.readUnits)
		return p.failed(ctx, err, scanning)
	}
	out := newHotSample(s, about.Items)
	out.Table, out.Region = t.schema.Name, t.region
	p.noteUntyped(t.schema, *index, s.kinds)
	return p.printResult(out, out.text(), *asJSON, true)
}

// beforeSample says what a sample costs.
func beforeSample(about itemCount, items int) string {
	if about.Items == 0 || *about.Bytes == 0 {
		return fmt.Sprintf("The sample reads up to %s. DynamoDB has not counted the table yet, so the read units are not known.", quantity.Of(items, "item"))
	}
	read := min(int64(items), about.Items)
	bytes := float64(*about.Bytes) / float64(about.Items) * float64(read)
	// Each request takes half a unit at least.
	units := max(scanUnits(int64(bytes), false), float64(read/perSegment+1)/2)
	return fmt.Sprintf("The sample reads about %s of about %s, for about %s.", quantity.Of(read, "item"), quantity.Grouped(about.Items), quantity.Of(units, "read unit"))
}

// newHotSample returns what there is to print of a sample.
func newHotSample(s *sample, about int64) hotSample {
	out := hotSample{
		amount: s.total, Whole: s.whole(), Segments: len(s.segments), OfSegments: s.of, AboutItems: about,
		ReadUnits: s.readUnits, Partitions: []hotPartition{}, Types: []hotType{}, PartitionsIn: len(s.partitions), Unseen: s.unseen(about),
	}
	for _, x := range s.largest(listed) {
		out.Partitions = append(out.Partitions, hotPartition{
			Key: dynamojson.Item(x.key), amount: x.amount, ItemShare: s.itemShare(x.amount), ByteShare: s.byteShare(x.amount),
			More: x.segment.after != "", text: partitionText(x.key),
		})
	}
	for kind, a := range s.typeAmounts() {
		t := hotType{Type: kind, amount: a, ItemShare: s.itemShare(a), ByteShare: s.byteShare(a)}
		if margin, ok := s.margin(kind); ok {
			t.Margin = &margin
		}
		out.Types = append(out.Types, t)
	}
	slices.SortFunc(out.Types, func(a, b hotType) int {
		return cmp.Or(b.Items-a.Items, cmp.Compare(a.Type, b.Type))
	})
	return out
}

// partitionText returns the values of a partition key, in the order of the names.
func partitionText(key table.Item) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(key)) {
		switch v := key[name].(type) {
		case *types.AttributeValueMemberB:
			texts = append(texts, base64.StdEncoding.EncodeToString(v.Value))
		default:
			texts = append(texts, valueText(v, maxValue))
		}
	}
	return strings.Join(texts, "  ")
}

func (h hotSample) text() string {
	var b strings.Builder
	part := "the whole of it"
	if !h.Whole {
		part = fmt.Sprintf("from %d of %d random segments", h.Segments, h.OfSegments)
	}
	fmt.Fprintf(&b, "%s in %s: %s in %s, %s, %s\n\n", oneLine(h.Table), oneLine(h.Region), quantity.Of(h.Items, "item"),
		quantity.Of(h.PartitionsIn, "partition"), part, quantity.Of(h.ReadUnits, "read unit"))
	if h.Items == 0 {
		return b.String() + h.hint()
	}
	rows := [][]string{{"items", "", "bytes", "", "partition"}}
	for _, x := range h.Partitions {
		more := ""
		if x.More {
			more = " or more"
		}
		rows = append(rows, []string{fmt.Sprint(x.Items, more), percent(x.ItemShare), fmt.Sprint(x.Bytes, more), percent(x.ByteShare), x.text})
	}
	b.WriteString(columns(rows))
	rows = [][]string{{"items", "", "bytes", "", "type"}}
	for _, x := range h.Types {
		share := percent(x.ItemShare)
		if x.Margin != nil && !h.Whole {
			share += " ±" + strings.TrimSuffix(percent(*x.Margin), " %")
		}
		kind := "(none)"
		if x.Type != "" {
			kind = printable(x.Type)
		}
		rows = append(rows, []string{fmt.Sprint(x.Items), share, fmt.Sprint(x.Bytes), percent(x.ByteShare), kind})
	}
	b.WriteString("\n" + columns(rows) + "\n" + h.hint())
	return b.String()
}

// hint says how sure the numbers are.
func (h hotSample) hint() string {
	switch {
	case h.Whole && h.Items == 0:
		return "There is nothing to count.\n"
	case h.Whole:
		return "This is the whole table: the numbers are exact.\n"
	case h.Segments < minSegments:
		return "Fewer than 10 segments: shares can be far off. Take more -items.\n"
	}
	text := fmt.Sprintf("The sample saw %s of the key space. The others can hold a large partition, which would change\n"+
		"all shares; ± is for segments like these. -stream counts writes, and misses no partition.\n", percent(float64(h.Segments)/float64(h.OfSegments)))
	if h.Unseen > 0 {
		text += fmt.Sprintf("LARGE PARTITIONS ELSEWHERE: by DynamoDB's own count, which is up to about 6 hours old, about %s of\n"+
			"the items are in partitions that the sample did not see, or not whole. Take more -items.\n", percent(h.Unseen))
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
