package tabletest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Show is a show with a number of free seats, and the people who have one.
type Show struct {
	Free   int      `dynamodbav:"free"`
	Guests []string `dynamodbav:"guests"`
}

var errSoldOut = errors.New("sold out")

var showSchema = schema.Table{Name: "Shows"}

func showKey(id string) keys.Key { return keys.Key{PK: keys.PK("SHOW#" + id), SK: keys.Metadata} }

// sellNaively reads the show, takes a seat and stores the show.
func sellNaively(ctx context.Context, tbl *table.Table, id, guest string) error {
	show, err := table.Get[Show](ctx, tbl.Consistent(), showKey(id))
	if err != nil {
		return err
	}
	if show.Free == 0 {
		return errSoldOut
	}
	show.Free--
	show.Guests = append(show.Guests, guest)
	return tbl.Do(ctx, table.Put(showKey(id), show))
}

// sell takes a seat on condition that there is one. The transaction takes effect
// once, however often it is sent.
func sell(ctx context.Context, tbl *table.Table, id, guest string) error {
	seat := table.Update(showKey(id), expression.
		Add(expression.Name("free"), expression.Value(-1)).
		Set(expression.Name("guests"), expression.ListAppend(expression.Name("guests"), expression.Value([]string{guest}))))
	err := tbl.Transact(ctx, seat.If(expression.Name("free").GreaterThan(expression.Value(0))))
	if errors.Is(err, table.ErrConditionFailed) {
		return errSoldOut
	}
	return err
}

// lastSeat is a race of two customers for the last seat of a show.
func lastSeat(sell func(ctx context.Context, tbl *table.Table, id, guest string) error) tabletest.Case {
	return tabletest.Case{
		Schema: showSchema,
		Allow:  func(err error) bool { return errors.Is(err, errSoldOut) },
		Setup: func(ctx context.Context, r *tabletest.Run) error {
			guests := []string{"ana", "ben"}
			for _, guest := range guests {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					return sell(ctx, r.Table(client), r.ID, guest)
				})
			}
			tbl := r.Table(r.Client)
			r.Check(func(ctx context.Context, errs []error) error {
				show, err := table.Get[Show](ctx, tbl.Consistent(), showKey(r.ID))
				if err != nil {
					return err
				}
				return checkSeat(show, guests, errs)
			})
			return tbl.Do(ctx, table.Create(showKey(r.ID), Show{Free: 1, Guests: []string{}}))
		},
	}
}

// checkSeat reports what is wrong with a show that had one seat.
func checkSeat(show Show, guests []string, errs []error) error {
	if show.Free+len(show.Guests) != 1 {
		return fmt.Errorf("1 seat has become %+v", show)
	}
	for i, err := range errs {
		has := len(show.Guests) == 1 && show.Guests[0] == guests[i]
		switch {
		case err == nil && !has:
			return fmt.Errorf("%s was told to have the seat, and has not", guests[i])
		case errors.Is(err, errSoldOut) && has:
			return fmt.Errorf("%s was told that the show is sold out, and has the seat", guests[i])
		}
	}
	return nil
}

// Two customers buy the last seat of a show. There is no order of their requests,
// and no two faults, that sell it twice.
func TestLastSeat(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, lastSeat(sell))
}

func TestLastSeatSoldNaively(t *testing.T) {
	t.Parallel()
	_, err := tabletest.Explored(t, lastSeat(sellNaively), true)
	if err == nil {
		t.Fatal("Explore has not found the lost update")
	}
	if !strings.Contains(err.Error(), `schedule "A B A B"`) {
		t.Error(err)
	}
}
