package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A read whose response was damaged on its way is sent again, and fails if the budget
// is spent. Compressed responses are compared before they are decompressed.
func TestDamagedReads(t *testing.T) {
	t.Parallel()
	own, _ := newTable(t, appCore())
	ks, want := accounts(t, own, 3)
	for how, read := range readers {
		for _, gzip := range []bool{false, true} {
			for _, bySDK := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/gzip=%t/bySDK=%t", how, gzip, bySDK), func(t *testing.T) {
					t.Parallel()
					tbl, faults := damagedTable(t, own.Schema(), table.Options{MaxAttempts: 2}, gzip, bySDK)
					faults.Next("", tabletest.BadChecksum())
					equal(t, "values", expect.Value(read(t.Context(), tbl, ks))(t), want)
					sent := len(faults.Requests())
					faults.Always("", tabletest.BadChecksum())
					_, err := read(t.Context(), tbl, ks)
					if _, damaged := errors.AsType[*smithy.DeserializationError](err); !damaged || table.Classify(err) != table.Transient {
						t.Errorf("damaged each time: %v", err)
					}
					equal(t, "requests until it is given up", len(faults.Requests())-sent, 2)
				})
			}
		}
	}
}

func damagedTable(t *testing.T, spec schema.Table, o table.Options, gzip, bySDK bool) (*table.Table, *tabletest.Faults) {
	t.Helper()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, idleIf(bySDK), func(o *dynamodb.Options) {
		o.EnableAcceptEncodingGzip = gzip
	})
	return expect.Value(table.New(client, spec, &o))(t), &faults
}

// A write whose response was damaged may have taken effect. That also holds for one
// that says that a condition has failed.
func TestDamagedWrites(t *testing.T) {
	t.Parallel()
	key := keys.Key{PK: "USER#1", SK: "ACCOUNT#1"}
	addOne := expression.Add(expression.Name("n"), expression.Value(1))
	for name, tt := range map[string]struct {
		call     func(context.Context, *table.Table) error
		unknown  bool
		requests int
		n        int
	}{
		"Put": {
			func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, table.Put(key, account{N: 5})) },
			false, 2, 5,
		},
		"Create": {
			func(ctx context.Context, tbl *table.Table) error {
				return tbl.Do(ctx, table.Create(keys.Key{PK: "USER#1", SK: "ACCOUNT#2"}, account{N: 5}))
			},
			false, 2, 1,
		},
		"an update that counts": {
			func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, table.Update(key, addOne)) },
			true, 1, 2,
		},
		"DoReturning, update": {
			func(ctx context.Context, tbl *table.Table) error {
				got, err := table.DoReturning[account](ctx, tbl, table.Update(key, setN(7)))
				if err == nil && got.N != 7 {
					err = fmt.Errorf("returned %d", got.N)
				}
				return err
			},
			false, 2, 7,
		},
		"DoReturning, delete": {
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.DoReturning[account](ctx, tbl, table.Delete(key)))
			},
			true, 1, -1,
		},
		"a condition that fails": {
			func(ctx context.Context, tbl *table.Table) error {
				return tbl.Do(ctx, table.Update(key, addOne).If(nIs(100)))
			},
			true, 1, 1,
		},
		"Transact": {
			func(ctx context.Context, tbl *table.Table) error {
				return tbl.Transact(ctx, table.Update(key, addOne), table.Put(keys.Key{PK: "USER#1", SK: "ACCOUNT#2"}, account{N: 5}))
			},
			false, 2, 2,
		},
	} {
		for _, gzip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/gzip=%t", name, gzip), func(t *testing.T) {
				t.Parallel()
				own, _ := newTable(t, appCore())
				must(t, own.Do(t.Context(), table.Put(key, account{N: 1})))
				tbl, faults := damagedTable(t, own.Schema(), table.Options{}, gzip, false)
				faults.Next("", tabletest.BadChecksum())
				err := tt.call(t.Context(), tbl)
				if errors.Is(err, table.ErrOutcomeUnknown) != tt.unknown || (err == nil) == tt.unknown {
					t.Errorf("the error is %v", err)
				}
				equal(t, "requests", len(faults.Requests()), tt.requests)
				n := -1
				if a, err := table.Get[account](t.Context(), own, key); err == nil {
					n = a.N
				}
				equal(t, "n", n, tt.n)
			})
		}
	}
}

// A client can be told not to compare checksums, and a response need not have one.
func TestChecksumsNotCompared(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	unchecked := func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install, unchecked), appCore(), nil)
	faults.Always("", tabletest.BadChecksum())
	must(t, tbl.Do(t.Context(), table.Put(user, account{N: 1})))
	must(t, get(t.Context(), tbl, user))
	equal(t, "requests", len(onItems(&faults)), 2)
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: fixedResponse{200, []byte(`{"Item":{"n":{"N":"7"}}}`)}, Retryer: aws.NopRetryer{},
		Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://127.0.0.1:1"),
	})
	must(t, get(t.Context(), expect.Value(table.New(client, appCore(), nil))(t), user))
}
