package backfill

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/table"
)

// start is a key after which a segment continues. attributevalue would make a map of
// each of its values.
type start table.Item

// MarshalDynamoDBAttributeValue stores the key as it is.
func (s start) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if s == nil {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	return &types.AttributeValueMemberM{Value: s}, nil
}

// UnmarshalDynamoDBAttributeValue reads the key.
func (s *start) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	if m, ok := value.(*types.AttributeValueMemberM); ok {
		*s = m.Value
	}
	return nil
}

// checkpoint is how far a segment has come, as it is stored in its lease.
type checkpoint struct {
	Segments int `dynamodbav:"segments"`
	// Start is the key after which the segment continues.
	Start  start  `dynamodbav:"start"`
	Done   bool   `dynamodbav:"done"`
	Counts Counts `dynamodbav:"counts"`
}

// segment is a segment that this process walks.
type segment struct {
	*walk
	index int
	at    *checkpoint
	// save stores the checkpoint, and was called last at saved.
	save  func(context.Context) error
	saved time.Time
}

// segment walks a segment from a checkpoint. save stores it after each page.
func (w *walk) segment(ctx context.Context, n int, at *checkpoint, save func(context.Context) error) error {
	s := &segment{walk: w, index: n, at: at, save: save, saved: w.Table.Now()}
	limit := pageSize
	if w.ReadUnits > 0 {
		limit = min(limit, 25) // until it is known what items cost
	}
	for !at.Done {
		before := at.Counts.Scanned
		page, err := s.page(ctx, limit)
		if err != nil {
			return err
		}
		limit = w.nextLimit(page)
		if err := s.rows(ctx, page.Rows); err != nil {
			return err
		}
		at.Start, at.Done = start(page.Next), page.Next == nil
		if err := s.keep(ctx); err != nil {
			return err
		}
		w.progress(n, *at, at.Counts.Scanned-before)
	}
	return nil
}

// page reads the next items of the segment.
func (s *segment) page(ctx context.Context, limit int) (page table.RowPage[table.Item], err error) {
	var spent meter
	observed := table.WithObserver(ctx, spent.observe)
	err = persist(ctx, func() error {
		if err := s.reads.wait(ctx); err != nil {
			return err
		}
		scan := table.Scan{Segment: s.index, Segments: s.Segments, Limit: limit, Consistent: true}
		page, err = table.ScanRows[table.Item](observed, s.Source, scan, table.Item(s.at.Start))
		return err
	})
	s.spend(&spent, &s.at.Counts)
	return page, err
}

// rows brings the items of a page over. It keeps the lease as long as that takes.
func (s *segment) rows(ctx context.Context, rows []table.Row[table.Item]) error {
	spec := s.Source.Schema()
	for _, row := range rows {
		if row.Err != nil {
			return row.Err
		}
		if lease.Owned(&spec, row.Value, itemType) {
			continue // of this job or another one
		}
		s.at.Counts.Scanned++
		if err := s.item(ctx, row.Value, &s.at.Counts); err != nil {
			return err
		}
		if s.Table.Now().Sub(s.saved) <= leaseLife/3 {
			continue
		}
		if err := s.keep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep stores the checkpoint, which also keeps the lease.
func (s *segment) keep(ctx context.Context) error {
	s.saved = s.Table.Now()
	return persist(ctx, func() error { return s.save(ctx) })
}

// nextLimit returns how many items to read next, so that all pages in flight take
// about the budget of a second.
func (w *walk) nextLimit(page table.RowPage[table.Item]) int {
	if w.ReadUnits == 0 || page.Stats.Scanned == 0 {
		return pageSize
	}
	each := page.Stats.Capacity / float64(page.Stats.Scanned)
	return max(1, min(pageSize, int(w.ReadUnits/float64(w.Concurrency)/max(each, 0.01))))
}
