package once

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePage -update

const page = "../../../docs/idempotency.md"

func TestThePageQuotesTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, page, "."); n != 2 {
		t.Errorf("%d quotations, want 2", n)
	}
}

// service is the payments with an account of 10.00, behind HTTP.
type service struct {
	t      *testing.T
	table  *table.Table
	faults *tabletest.Faults
	now    time.Time
	http.Handler
}

func start(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, faults: new(tabletest.Faults), now: time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)}
	client := tabletest.Client(t, s.faults.Install)
	s.table = tabletest.NewWith(t, client, Schema, &table.Options{
		Now: func() time.Time { return s.now }, MaxAttempts: 3,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts/{account}/payments", check.Must(New(s.table))(t).post)
	s.Handler = mux
	s.deposit(10_00)
	return s
}

func (s *service) deposit(cents int64) {
	s.t.Helper()
	check.OK(s.t, s.table.Do(s.t.Context(), table.Put(balanceKey("ana"), map[string]any{"entityType": "BALANCE", "cents": cents})))
}

const pay4 = `{"cents": 400}`

// post sends a request, and returns its status and the id of the payment.
func (s *service) post(key, body string) (status int, response string) {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/accounts/ana/payments", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// stored returns how many payments there are, and what is left of the account.
func (s *service) stored() (payments int, cents int64) {
	s.t.Helper()
	stats := check.Must(s.table.Consistent().Count(s.t.Context(), table.Query{PK: account.PK("ana"), Range: payment.All()}))(s.t)
	balance := check.Must(table.Get[struct {
		Cents int64 `dynamodbav:"cents"`
	}](s.t.Context(), s.table.Consistent(), balanceKey("ana")))(s.t)
	return stats.Items, balance.Cents
}

const transact = "TransactWriteItems"

// Each case is a first request, which meets a fault, and the same request again.
var cases = []struct {
	name  string
	fault func(*service)
	// between happens before the second request, whose body is again unless it is empty.
	between func(*service)
	again   string
	// What the client gets, how many payments there are after each of the requests, and
	// whether the second response is the first one.
	first, second    int
	after, afterBoth int
	same             bool
	handler          string
}{
	{
		name: "nothing fails", first: 201, second: 201, after: 1, afterBoth: 1, same: true,
		handler: "return the result, also if it is `Replayed`",
	},
	{
		name:  "a request is lost",
		fault: func(s *service) { s.faults.Next(transact, tabletest.DropRequest()) },
		first: 201, second: 201, after: 1, afterBoth: 1, same: true, handler: "nothing: the SDK sends it again",
	},
	{
		name:  "a response is lost",
		fault: func(s *service) { s.faults.Next(transact, tabletest.DropResponse()) },
		first: 201, second: 201, after: 1, afterBoth: 1, same: true, handler: "nothing: the second attempt has the token of the first <!-- AWS: TransactWriteItems, Amazon DynamoDB API Reference -->",
	},
	{
		name:  "all requests are lost",
		fault: func(s *service) { s.faults.Always("", tabletest.DropRequest()) },
		first: 503, second: 201, after: 0, afterBoth: 1, handler: "503: `ErrOutcomeUnknown`",
	},
	{
		name:  "all responses are lost",
		fault: func(s *service) { s.faults.Always("", tabletest.DropResponse()) },
		first: 503, second: 201, after: 1, afterBoth: 1, handler: "503: `ErrOutcomeUnknown`",
	},
	{
		name:  "a transaction is in conflict",
		fault: func(s *service) { s.faults.Next(transact, conflict) },
		first: 201, second: 201, after: 1, afterBoth: 1, same: true, handler: "nothing: the library sends it again",
	},
	{
		name:  "the conflict stays",
		fault: func(s *service) { s.faults.Always(transact, conflict) },
		first: 503, second: 201, after: 0, afterBoth: 1, handler: "503: `ErrConflict`",
	},
	{
		name: "the same key, another payload", again: `{"cents": 500}`,
		first: 201, second: 422, after: 1, afterBoth: 1, handler: "422: `ErrPayloadMismatch`",
	},
	{
		name:  "the business refuses",
		fault: func(s *service) { s.deposit(1) }, between: func(s *service) { s.deposit(10_00) },
		first: 409, second: 201, after: 0, afterBoth: 1, handler: "409: the error of your own op. Nothing is recorded, so the key can be used again",
	},
	{
		name: "the record has expired", between: func(s *service) { s.now = s.now.Add(25 * time.Hour) },
		first: 201, second: 201, after: 1, afterBoth: 2, handler: "choose `TTL` longer than clients retry",
	},
}

var conflict = tabletest.CancelTransaction("TransactionConflict", "None", "None")

// The page shows the cases, and each of them is as the page says.
func TestThePageShowsTheFailures(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| case | response | payments | the same request again | payments | what the handler does |\n|---|---:|---:|---|---:|---|\n")
	for _, c := range cases {
		s := start(t)
		if c.fault != nil {
			c.fault(s)
		}
		status, first := s.post("k-1", pay4)
		s.faults.Always("", nil)
		s.faults.Always(transact, nil)
		payments, _ := s.stored()
		if status != c.first || payments != c.after {
			t.Errorf("%s: %d and %d payments, want %d and %d", c.name, status, payments, c.first, c.after)
		}
		if c.between != nil {
			c.between(s)
		}
		body := pay4
		if c.again != "" {
			body = c.again
		}
		again, second := s.post("k-1", body)
		payments, _ = s.stored()
		if again != c.second || payments != c.afterBoth || (first == second) != c.same {
			t.Errorf("%s: then %d and %d payments, the same %t, want %d, %d and %t",
				c.name, again, payments, first == second, c.second, c.afterBoth, c.same)
		}
		text := fmt.Sprint(again)
		if c.same {
			text += ", the same payment"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %d | %s |\n", c.name, status, c.after, text, payments, c.handler)
	}
	generated.Part(t, page, "cases", b.String())
}

// Two requests with one key at the same time make one payment, and both get it.
func TestDuplicatesGetOnePayment(t *testing.T) {
	t.Parallel()
	s := start(t)
	responses := make([]string, 8)
	check.Together(len(responses), func(i int) {
		status, response := s.post("k-1", pay4)
		responses[i] = fmt.Sprint(status, response)
	})
	for _, r := range responses {
		check.Equal(t, "response", r, responses[0])
	}
	payments, cents := s.stored()
	if payments != 1 || cents != 6_00 {
		t.Errorf("%d payments, %d cents are left", payments, cents)
	}
}

// A process that ends after the commit leaves the record, and another one finds it.
func TestAnotherProcessReturnsThePayment(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.faults.Next(transact, tabletest.After(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	}))
	first := check.Must(New(s.table))(t)
	if _, err := first.Pay(ctx, "ana", "k-1", []byte(pay4)); !errors.Is(err, table.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
	}
	second := check.Must(check.Must(New(s.table))(t).Pay(t.Context(), "ana", "k-1", []byte(pay4)))(t)
	if payments, _ := s.stored(); payments != 1 || !second.Replayed {
		t.Errorf("%d payments, replayed %t", payments, second.Replayed)
	}
}

// A key is one client's: two accounts can choose the same one.
func TestKeysOfTwoAccountsDiffer(t *testing.T) {
	t.Parallel()
	s := start(t)
	check.OK(t, s.table.Do(t.Context(), table.Put(balanceKey("bob"), map[string]any{"entityType": "BALANCE", "cents": 400})))
	p := check.Must(New(s.table))(t)
	for _, of := range []string{"ana", "bob"} {
		result := check.Must(p.Pay(t.Context(), of, "k-1", []byte(pay4)))(t)
		check.Equal(t, "replayed", result.Replayed, false)
	}
}

func TestAMissingKeyIs400(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, key := range []string{"", "a,b", strings.Repeat("k", 256)} {
		if status, _ := s.post(key, pay4); status != http.StatusBadRequest {
			t.Errorf("the key %.5q is %d", key, status)
		}
	}
}

func TestABodyThatIsNoPaymentIs400(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, body := range []string{"", "null", "[]", `{"cents": "4"}`, `{}`, `{"cents": 0}`, `{"cents": -400}`, `{"cents": 4, "account": "bob"}`, pay4 + pay4} {
		if status, _ := s.post("k", body); status != http.StatusBadRequest {
			t.Errorf("%s is %d", body, status)
		}
	}
	payments, cents := s.stored()
	check.Equal(t, "payments and cents", []int64{int64(payments), cents}, []int64{0, 10_00})
}

// No order of the requests of two duplicates, and no fault at one of them, makes two
// payments, or gives two results.
func TestDuplicatesUnderEverySchedule(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: Schema, Faults: 1, Limit: 100,
		Setup: func(ctx context.Context, r *tabletest.Run) error {
			tbl := r.Table(r.Client)
			var made [2]Payment
			for i := range made {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					p, err := New(r.Table(client))
					if err != nil {
						return err
					}
					result, err := p.Pay(ctx, r.ID, "k-1", []byte(pay4))
					made[i] = result.Value
					return err
				})
			}
			r.Check(func(ctx context.Context, errs []error) error {
				stats, err := tbl.Consistent().Count(ctx, table.Query{PK: account.PK(r.ID), Range: keys.Range{Prefix: "PAYMENT#"}})
				switch {
				case err != nil:
					return err
				case stats.Items > 1:
					return fmt.Errorf("%d payments", stats.Items)
				case errs[0] == nil && errs[1] == nil && made[0] != made[1]:
					return errors.New("two results")
				}
				return nil
			})
			return tbl.Do(ctx, table.Put(balanceKey(r.ID), map[string]any{"entityType": "BALANCE", "cents": 10_00}))
		},
	})
}
