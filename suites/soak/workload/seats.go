package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// seat is counted in its hall, which has a title of its own.
type (
	seat struct {
		ID       string `dynamodbav:"id"`
		Hall     string `dynamodbav:"hall"`
		N        int64  `dynamodbav:"n"`
		Revision string `dynamodbav:"revision"`
	}
	hall struct {
		ID       string `dynamodbav:"id"`
		Title    string `dynamodbav:"title"`
		Seats    int64  `dynamodbav:"seats"`
		Pieces   int64  `dynamodbav:"pieces"`
		Revision string `dynamodbav:"revision"`
	}
)

const (
	seatPrefix keys.Prefix = "SEAT"
	hallPrefix keys.Prefix = "HALL"

	roundSeats = 5
	roundHalls = 2
	maxPieces  = 12
)

func seatKey(id string) keys.Key { return keys.Key{PK: seatPrefix.PK(id), SK: keys.Metadata} }

func hallKey(id string) keys.Key { return keys.Key{PK: hallPrefix.PK(id), SK: keys.Metadata} }

func inHall(s seat) keys.Key { return hallKey(s.Hall) }

var (
	hallEntity = repo.Entity[hall]{
		Type: "HALL", Version: "revision", Key: func(h hall) keys.Key { return hallKey(h.ID) }, Counted: []string{"seats", "pieces"},
	}
	seatEntity = repo.Entity[seat]{
		Type: "SEAT", Version: "revision", Key: func(s seat) keys.Key { return seatKey(s.ID) },
		Counters: []repo.Counter[seat]{
			{Name: "seats", Key: inHall, Owner: "HALL", Attribute: "seats"},
			{Name: "pieces", Key: inHall, Owner: "HALL", Attribute: "pieces", Amount: func(s seat) int64 { return s.N }, Max: new(int64(maxPieces))},
		},
	}
)

func (s *round) seatID(i int) string { return fmt.Sprintf("%s-t%d", s.name, i) }
func (s *round) hallID(i int) string { return fmt.Sprintf("%s-h%d", s.name, i) }

// onSeat writes a seat, which changes the numbers of its hall, or the hall.
func (a *client) onSeat(ctx context.Context) {
	s := a.round
	v := seat{ID: s.seatID(a.r.IntN(roundSeats)), Hall: s.hallID(a.r.IntN(roundHalls)), N: 1 + a.r.Int64N(4)}
	key, title := seatKey(v.ID), a.by
	name, write := "hall Create", func(ctx context.Context) error { return a.halls.Create(ctx, &hall{ID: v.Hall}) }
	switch a.r.IntN(7) {
	case 0:
	case 1, 2:
		name, write = "seat Create", func(ctx context.Context) error { return a.seats.Create(ctx, new(v)) }
	case 3, 4:
		name, write = "seat Update", func(ctx context.Context) error {
			_, err := a.seats.Update(ctx, key, func(is *seat) error { is.Hall, is.N = v.Hall, v.N; return nil })
			return err
		}
	case 5:
		name, write = "seat Delete", func(ctx context.Context) error { return a.seats.Delete(ctx, key) }
	default:
		name, write = "hall Update", func(ctx context.Context) error {
			_, err := a.halls.Update(ctx, hallKey(v.Hall), func(h *hall) error { h.Title = title; return nil })
			return err
		}
	}
	met, err := a.try(ctx, name, a.faults(), write)
	for _, refusal := range []error{table.ErrExists, table.ErrNotFound, table.ErrLimit, table.ErrUncounted, table.ErrConflict} {
		if errors.Is(err, refusal) {
			return
		}
	}
	if err != nil && len(met) == 0 {
		a.check(report.Explained, fmt.Errorf("%s: %w", name, err))
	}
}

// seats checks that the numbers of each hall are those of the seats in it.
func (i *inspector) seats(ctx context.Context) error {
	type numbers struct{ seats, pieces int64 }
	want := map[string]numbers{}
	for n := range roundSeats {
		s, found, err := find[seat](ctx, i.table, seatKey(i.seatID(n)))
		if err != nil {
			return err
		}
		if found {
			want[s.Hall] = numbers{want[s.Hall].seats + 1, want[s.Hall].pieces + s.N}
		}
	}
	for n := range roundHalls {
		h, _, err := find[hall](ctx, i.table, hallKey(i.hallID(n)))
		if err != nil {
			return err
		}
		var complaint error
		if has := (numbers{h.Seats, h.Pieces}); has != want[i.hallID(n)] || has.pieces > maxPieces {
			complaint = fmt.Errorf("hall %d says %v, and has %v", n, has, want[i.hallID(n)])
		}
		i.check(report.Counters, complaint)
	}
	return nil
}
