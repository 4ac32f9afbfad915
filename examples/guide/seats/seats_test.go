package seats

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

//go:generate go test . -run ^TestThePage -update

const page = "../../../docs/testing.md"

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	generated.Code(t, page, ".")
}

func TestSell(t *testing.T) {
	t.Parallel()
	shows := check.Must(New(tabletest.New(t, Schema, nil)))(t)
	check.OK(t, shows.Create(t.Context(), "s-1", 1))
	if err := shows.Sell(t.Context(), "s-1", "ana"); err != nil {
		t.Fatal(err)
	}
	if err := shows.Sell(t.Context(), "s-1", "ben"); !errors.Is(err, ErrSoldOut) {
		t.Errorf("error %v, want %v", err, ErrSoldOut)
	}
}

func TestSellUnderFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault tabletest.Fault
		want  error
		sold  bool
	}{
		"a response is lost":     {tabletest.DropResponse(), nil, true},
		"another one writes it":  {tabletest.CancelTransaction("TransactionConflict"), nil, true},
		"DynamoDB refuses a lot": {tabletest.Throttle(), nil, true},
		"the show is gone":       {tabletest.CancelTransaction("ConditionalCheckFailed"), table.ErrNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			shows := check.Must(New(tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, nil)))(t)
			check.OK(t, shows.Create(t.Context(), "s-1", 1))
			faults.Next("TransactWriteItems", c.fault)
			check.Is(t, shows.Sell(t.Context(), "s-1", "ana"), c.want)
			show := check.Must(shows.Get(t.Context(), "s-1"))(t)
			check.Equal(t, "sold", show.Free == 0, c.sold)
		})
	}
}

func lastSeat(sell func(s *Shows, ctx context.Context, id, guest string) error) tabletest.Case {
	return tabletest.Case{
		Schema: Schema,
		Faults: 1,
		Allow:  func(err error) bool { return errors.Is(err, ErrSoldOut) },
		Setup: func(ctx context.Context, r *tabletest.Run) error {
			guests := []string{"ana", "ben"}
			for _, guest := range guests {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					return sell(open(r.Table(client)), ctx, r.ID, guest)
				})
			}
			shows := open(r.Table(r.Client))
			r.Check(func(ctx context.Context, errs []error) error {
				show, err := shows.Get(ctx, r.ID)
				if err != nil {
					return err
				}
				return oneSeat(show, guests, errs)
			})
			return shows.Create(ctx, r.ID, 1)
		},
	}
}

func open(tbl *table.Table) *Shows {
	shows, err := New(tbl)
	if err != nil {
		panic(err) // the entity is valid
	}
	return shows
}

func oneSeat(show Show, guests []string, errs []error) error {
	if show.Free+len(show.Guests) != 1 {
		return fmt.Errorf("1 seat has become %d free and %d sold", show.Free, len(show.Guests))
	}
	for i, err := range errs {
		has := slices.Contains(show.Guests, guests[i])
		if err == nil && !has {
			return fmt.Errorf("%s was told to have the seat, and has not", guests[i])
		}
		if errors.Is(err, ErrSoldOut) && has {
			return fmt.Errorf("%s was told that it is sold out, and has the seat", guests[i])
		}
	}
	return nil
}

func TestTheLastSeatIsSoldOnce(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, lastSeat((*Shows).Sell))
}

var naively = flag.Bool("naively", false, "explore the handler that sells the last seat twice, and fail")

// The page shows how Explore fails for the naive handler, in a process of its own.
func TestThePageShowsWhatExploreFinds(t *testing.T) {
	t.Parallel()
	if *naively {
		tabletest.Explore(t, lastSeat((*Shows).SellNaively))
		return
	}
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-naively") //nolint:gosec // this test itself
	output, err := test.CombinedOutput()
	if err == nil {
		t.Fatal("the naive handler passes")
	}
	const begin = "tabletest: schedule "
	_, found, _ := strings.Cut(string(output), begin)
	found, _, _ = strings.Cut(found, "\nFAIL")
	found = regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(found, "")
	found = regexp.MustCompile(`\{.*\}`).ReplaceAllString(found, "…") // the requests, in which the order of members varies
	generated.Part(t, page, "found", "```text\n"+begin+strings.TrimSpace(found)+"\n```")
}

func TestTheRequestsOfSell(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), Schema, nil)
	shows := check.Must(New(tbl))(t)
	check.OK(t, shows.Create(t.Context(), "s-1", 1))
	check.OK(t, shows.Sell(t.Context(), "s-1", "ana"))
	sent := faults.Requests("TransactWriteItems")
	got := tabletest.Transcript(sent, strings.NewReplacer(tbl.Schema().Name, "Shows"))
	want, err := os.ReadFile("testdata/sell.json")
	if err != nil || got != string(want) {
		t.Errorf("%v, requests (-want +got):\n%s", err, cmp.Diff(string(want), got))
	}
}

func TestTheCostOfSell(t *testing.T) {
	t.Parallel()
	var summary telemetry.Summary
	shows := check.Must(New(tabletest.New(t, Schema, &table.Options{Observe: summary.Observe})))(t)
	check.OK(t, shows.Create(t.Context(), "s-1", 1))
	check.OK(t, shows.Sell(t.Context(), "s-1", "ana"))
	for _, row := range summary.Rows() {
		if row.Operation == "TransactWriteItems" && row.WriteUnits > 2 {
			t.Errorf("a sale takes %v write units, want 2", row.WriteUnits)
		}
	}
}
