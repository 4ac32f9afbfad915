package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// booking claims slots.
type booking struct {
	ID       string   `dynamodbav:"id"`
	Slots    []string `dynamodbav:"slots"`
	N        int      `dynamodbav:"n"`
	Revision string   `dynamodbav:"revision"`
}

func bookingKey(id string) keys.Key { return keys.Key{PK: keys.PK("BOOKING#" + id), SK: keys.Metadata} }

func slotKey(slot string) keys.Key { return keys.Key{PK: keys.PK("SLOT#" + slot), SK: keys.Metadata} }

var bookingEntity = repo.Entity[booking]{
	Type: "BOOKING", Version: "revision",
	Key: func(b booking) keys.Key { return bookingKey(b.ID) },
	Claims: func(b booking) (claims []keys.Key) {
		for _, slot := range b.Slots {
			claims = append(claims, slotKey(slot))
		}
		return claims
	},
}

// booker is a program in a run. Its ids and slots are those of the run.
type booker struct {
	*repo.Repo[booking]
	run string
}

func (b booker) slots(of string) (slots []string) {
	for _, slot := range of {
		slots = append(slots, b.run+string(slot))
	}
	return slots
}

// bookerCall is a step of a booker.
type bookerCall func(context.Context, booker) error

func books(id, slots string) bookerCall {
	return func(ctx context.Context, b booker) error {
		return b.Create(ctx, &booking{ID: b.run + id, Slots: b.slots(slots)})
	}
}

func moves(id, slots string) bookerCall {
	return func(ctx context.Context, b booker) error {
		_, err := b.Update(ctx, bookingKey(b.run+id), func(v *booking) error { v.Slots = b.slots(slots); return nil })
		return err
	}
}

func cancels(id string) bookerCall {
	return func(ctx context.Context, b booker) error { return b.Delete(ctx, bookingKey(b.run+id)) }
}

func refreshes(key func(run string) keys.Key) bookerCall {
	return func(ctx context.Context, b booker) error {
		_, err := b.Refresh(ctx, key(b.run))
		return err
	}
}

func ofBooking(run string) keys.Key { return bookingKey(run + "a") }
func ofSlot(run string) keys.Key    { return slotKey(run + "1") }

// TestClaims runs programs on the same slots, of which booking a has 1 and 2 at first: each
// slot is claimed by the booking that has it, and by nobody if none has it.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, actors := range map[string][2][]bookerCall{
		"Create, Create":                     {{books("b", "3")}, {books("c", "34")}},
		"Create, Update":                     {{books("b", "3")}, {moves("a", "13")}},
		"Update, Update":                     {{moves("a", "13")}, {moves("a", "4")}},
		"Update, Delete":                     {{moves("a", "13")}, {cancels("a")}},
		"Update, Delete and Create":          {{moves("a", "13")}, {cancels("a"), books("b", "1")}},
		"Update, Delete and Create anew":     {{moves("a", "13")}, {cancels("a"), books("a", "23")}},
		"Delete, Update and Create":          {{cancels("a")}, {moves("a", "2"), books("b", "1")}},
		"Refresh, Update":                    {{refreshes(ofBooking)}, {moves("a", "23")}},
		"Refresh, Delete and Create":         {{refreshes(ofBooking)}, {cancels("a"), books("b", "1")}},
		"Refresh of a claim, Update":         {{refreshes(ofSlot)}, {moves("a", "2"), moves("a", "1")}},
		"Refresh of a claim, Delete, Create": {{refreshes(ofSlot)}, {cancels("a"), books("b", "1")}},
	} {
		for _, lacks := range []string{"", "1"} { // a claim that a release without claims has not made
			t.Run(name+lacking(lacks), func(t *testing.T) {
				t.Parallel()
				explore(t, tabletest.Case{Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
					return setUpClaims(ctx, r, actors, lacks)
				}})
			})
		}
	}
}

// TestClaimsOfACopyThatBecomesTheMainItem has the release that makes the copy the main item run
// with the one before it: the first actor is of the former, the second one of the latter.
func TestClaimsOfACopyThatBecomesTheMainItem(t *testing.T) {
	t.Parallel()
	newKey := func(b booking) keys.Key { return bookingKey("new" + b.ID) }
	before, after := bookingEntity, bookingEntity
	before.Copies = []repo.Copy[booking]{{Key: newKey}}
	after.Key, after.Copies = newKey, []repo.Copy[booking]{{Key: bookingEntity.Key}}
	for name, actors := range map[string][2][]bookerCall{
		"Update, Update":              {{moves("a", "13")}, {moves("a", "4")}},
		"Update, Refresh":             {{moves("a", "23")}, {refreshes(ofBooking)}},
		"Update, Refresh of a claim":  {{moves("a", "2")}, {refreshes(ofSlot), moves("a", "1")}},
		"Create, Refresh and Update":  {{books("b", "1")}, {refreshes(ofBooking), moves("a", "23")}},
		"Delete and Create, Update":   {{cancels("a"), books("b", "1")}, {moves("a", "13")}},
		"Update, Delete and Create":   {{moves("a", "13")}, {cancels("a"), books("b", "1")}},
		"Refresh, Refresh and Delete": {{refreshes(ofBooking)}, {refreshes(ofBooking), cancels("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			explore(t, tabletest.Case{Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
				return setUpClaims(ctx, r, actors, "", before, after)
			}})
		})
	}
}

// orphaned is in place of a claim that is lacking: claims may have lost their booking.
const orphaned = "orphaned"

func lacking(slot string) string {
	if slot == "" {
		return ""
	}
	return " without the claim of " + slot
}

// TestOrphanedClaim has a claim removed whose booking a program without claims has deleted,
// while the booking comes back and claims the slot again.
func TestOrphanedClaim(t *testing.T) {
	t.Parallel()
	explore(t, tabletest.Case{Allow: semantic, Setup: func(ctx context.Context, r *tabletest.Run) error {
		actors := [2][]bookerCall{{refreshes(ofSlot)}, {books("a", "3"), moves("a", "13")}}
		if err := setUpClaims(ctx, r, actors, orphaned); err != nil {
			return err
		}
		tbl, err := openTable(r.Client, r, table.Options{})
		if err != nil {
			return err
		}
		return tbl.Transact(ctx, table.Delete(bookingKey(r.ID+"a")), table.Delete(slotKey(r.ID+"2")))
	}})
}

// setUpClaims has the first of the releases store booking a, and each actor run as one of them.
// Without releases, all are of the same one.
func setUpClaims(ctx context.Context, r *tabletest.Run, actors [2][]bookerCall, lacks string, releases ...repo.Entity[booking]) error {
	if releases == nil {
		releases = []repo.Entity[booking]{bookingEntity, bookingEntity}
	}
	for i, calls := range actors {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			bookings, err := open(client, r, releases[i])
			for _, call := range calls {
				if err == nil {
					err = call(ctx, booker{bookings, r.ID})
				}
			}
			return err
		})
	}
	bookings, err := open(r.Client, r, releases[0])
	if err != nil {
		return err
	}
	b := booker{bookings, r.ID}
	r.Check(func(ctx context.Context, _ []error) error { return checkClaims(ctx, b, lacks) })
	if err := b.Create(ctx, &booking{ID: r.ID + "a", Slots: b.slots("12")}); err != nil || lacks == "" || lacks == orphaned {
		return err
	}
	return bookings.View().Do(ctx, table.Delete(slotKey(r.ID+lacks)))
}

// checkClaims compares the claims with the bookings. Booking a may go on to lack a claim until
// it is refreshed, and another booking may claim that slot.
func checkClaims(ctx context.Context, b booker, lacks string) error {
	has := map[string]string{}
	for _, id := range []string{"a", "b", "c"} {
		v, err := b.Consistent().Get(ctx, bookingKey(b.run+id))
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, slot := range v.Slots {
			if other, twice := has[slot]; twice && (slot != b.run+lacks || other != b.run+"a") {
				return fmt.Errorf("slot %s is of %s and of %s", slot, other, v.ID)
			}
			has[slot] = v.ID
		}
	}
	for _, slot := range b.slots("1234") {
		v, err := b.Consistent().GetByClaim(ctx, slotKey(slot))
		switch {
		case errors.Is(err, repo.ErrOrphan) && lacks == orphaned && has[slot] == "":
		case errors.Is(err, repo.ErrOrphan):
			return fmt.Errorf("slot %s is claimed by a booking that does not have it: %w", slot, err)
		case errors.Is(err, table.ErrNotFound) && has[slot] != "" && (slot != b.run+lacks || has[slot] != b.run+"a"):
			return fmt.Errorf("slot %s of %s is claimed by nobody", slot, has[slot])
		case errors.Is(err, table.ErrNotFound):
		case err != nil:
			return err
		case !slices.Contains(v.Slots, slot):
			return fmt.Errorf("slot %s is claimed by %s, which has %v", slot, v.ID, v.Slots)
		}
	}
	return nil
}
