package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestOpenMakesAllOrNone(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, bookingSchema, nil)
	other := bookingEntity
	other.Type = "OTHER"
	var bookings, others *repo.Repo[booking]
	expect.OK(t, repo.Open(tbl, repo.Into(&bookings, bookingEntity), repo.Into(&others, other)))
	expect.Equal(t, "types", fmt.Sprint(bookings.Types(), others.Types()), "[BOOKING BOOKING claim] [OTHER OTHER claim]")

	claim := bookingEntity
	claim.Type = "BOOKING claim"
	nameless := bookingEntity
	nameless.Type, nameless.Version = "", "none"
	for name, tt := range map[string]struct {
		openings []repo.Opening
		says     []string
	}{
		"one type twice":     {[]repo.Opening{repo.Into(&bookings, bookingEntity), repo.Into(&others, bookingEntity)}, []string{"BOOKING", "another entity has it"}},
		"the type of claims": {[]repo.Opening{repo.Into(&bookings, bookingEntity), repo.Into(&others, claim)}, []string{"BOOKING claim", "another entity has it"}},
		"two mistakes":       {[]repo.Opening{repo.Into(&bookings, nameless), nil, repo.Into[booking](nil, other)}, []string{"Type: is empty", "Version", "opening 1 is nil", "OTHER"}},
	} {
		bookings, others = nil, nil
		err := repo.Open(tbl, tt.openings...)
		expect.Err(t, err, table.ErrInvalid)
		for _, text := range tt.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", name, err, text)
			}
		}
		if bookings != nil || others != nil {
			t.Errorf("%s: one was made", name)
		}
	}
	expect.Err(t, repo.Open(nil, repo.Into(&bookings, bookingEntity)), table.ErrInvalid)
}
