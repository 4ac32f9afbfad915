package table_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sealer is middleware that encrypts the texts that begin with "secret". Each time the
// result is another one. It decrypts the items in outputs, and leaves errors and
// unprocessed writes as they are, as AWS's middleware does.
type sealer struct {
	t    *testing.T
	aead cipher.AEAD
	// inBody means that it encrypts what the SDK has written, in the step Finalize.
	// Otherwise it changes the input in place, in Initialize.
	inBody bool
}

func newSealer(t *testing.T, inBody bool) sealer {
	t.Helper()
	block := expect.Value(aes.NewCipher(make([]byte, 16)))(t)
	return sealer{t, expect.Value(cipher.NewGCMWithRandomNonce(block))(t), inBody}
}

const sealed = "sealed:"

func (s sealer) seal(text string) string {
	if strings.HasPrefix(text, sealed) {
		s.t.Errorf("a text is encrypted twice")
	}
	if !strings.HasPrefix(text, "secret") {
		return text
	}
	return sealed + base64.StdEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(text), nil))
}

func (s sealer) open(text string) string {
	if !strings.HasPrefix(text, sealed) {
		return text
	}
	raw, err := base64.StdEncoding.DecodeString(text[len(sealed):])
	if err == nil {
		raw, err = s.aead.Open(nil, nil, raw, nil)
	}
	if err != nil {
		s.t.Errorf("decrypt: %v", err)
	}
	return string(raw)
}

// change changes all attribute values of type S in v.
func change(v reflect.Value, do func(string) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value, ok := v.Interface().(*types.AttributeValueMemberS); ok {
			value.Value = do(value.Value)
		} else if !v.IsNil() {
			change(v.Elem(), do)
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			change(each.Value(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			change(v.Index(i), do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				change(v.Field(i), do)
			}
		}
	}
}

var textInJSON = regexp.MustCompile(`"S":"[^"]*"`)

func (s sealer) install(o *dynamodb.Options) {
	encrypt := middleware.InitializeMiddlewareFunc("Encrypt", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		change(reflect.ValueOf(in.Parameters), s.seal)
		return next.HandleInitialize(ctx, in)
	})
	encryptBody := middleware.FinalizeMiddlewareFunc("EncryptBody", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (out middleware.FinalizeOutput, metadata middleware.Metadata, err error) {
		request := in.Request.(*smithyhttp.Request)
		body, err := io.ReadAll(request.GetStream())
		if err != nil {
			return out, metadata, err
		}
		body = textInJSON.ReplaceAllFunc(body, func(text []byte) []byte {
			return []byte(`"S":"` + s.seal(string(text[len(`"S":"`):len(text)-1])) + `"`)
		})
		if in.Request, err = request.SetStream(bytes.NewReader(body)); err != nil {
			return out, metadata, err
		}
		in.Request.(*smithyhttp.Request).ContentLength = int64(len(body))
		return next.HandleFinalize(ctx, in)
	})
	decrypt := middleware.FinalizeMiddlewareFunc("Decrypt", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleFinalize(ctx, in)
		if _, writes := out.Result.(*dynamodb.BatchWriteItemOutput); err == nil && !writes {
			change(reflect.ValueOf(out.Result), s.open)
		}
		return out, metadata, err
	})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		if s.inBody {
			return errors.Join(stack.Finalize.Add(encryptBody, middleware.Before), stack.Finalize.Add(decrypt, middleware.After))
		}
		return errors.Join(stack.Initialize.Add(encrypt, middleware.Before), stack.Finalize.Add(decrypt, middleware.After))
	})
}

// encrypting returns a table whose client encrypts, and one that shows what is stored.
func encrypting(t *testing.T, inBody bool) (tbl, plain *table.Table, faults *tabletest.Faults) {
	t.Helper()
	plain, _ = newTable(t, appCore())
	faults = new(tabletest.Faults)
	client := tabletest.Client(t, faults.Install, newSealer(t, inBody).install)
	return expect.Value(table.New(client, plain.Schema(), nil))(t), plain, faults
}

// stored returns the text of an item as it is stored.
func stored(t *testing.T, plain *table.Table, key keys.Key) string {
	t.Helper()
	return expect.Value(table.Get[account](t.Context(), plain.Consistent(), key))(t).Name
}

func bothWays(t *testing.T, test func(t *testing.T, inBody bool)) {
	t.Helper()
	for _, inBody := range []bool{false, true} {
		t.Run(fmt.Sprintf("inBody=%t", inBody), func(t *testing.T) {
			t.Parallel()
			test(t, inBody)
		})
	}
}

// Reads give the values that middleware has decrypted.
func TestReadsThroughMiddleware(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, inBody bool) {
		tbl, plain, _ := encrypting(t, inBody)
		ks, want := accounts(t, tbl, 1)
		if raw := stored(t, plain, ks[0]); !strings.HasPrefix(raw, sealed) {
			t.Errorf("stored is %q", raw)
		}
		for how, read := range readers {
			equal(t, how, expect.Value(read(t.Context(), tbl, ks))(t), want)
		}
	})
}

// Writes encrypt once, however often they are sent, and return decrypted items.
func TestWritesThroughMiddleware(t *testing.T) {
	t.Parallel()
	rename := func(to string) table.Op {
		return table.Update(user, expression.Set(expression.Name("name"), expression.Value(to)))
	}
	v := account{Name: "secret", N: 1}
	others := []keys.Key{{PK: "USER#1", SK: "1"}, {PK: "USER#1", SK: "2"}}
	returned := func(a account, err error) error {
		if err == nil && a.Name != "secret" && a.Name != "secret too" {
			err = fmt.Errorf("returned %q", a.Name)
		}
		return err
	}
	for name, tt := range map[string]struct {
		operation string
		fault     tabletest.Fault // of the first request
		write     func(context.Context, *table.Table) error
		keys      []keys.Key // of the items that have a secret then
	}{
		"Put":    {"", nil, func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, table.Put(others[0], v)) }, others[:1]},
		"Update": {"", nil, func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, rename("secret too")) }, []keys.Key{user}},
		"Patch": {"", nil, func(ctx context.Context, tbl *table.Table) error {
			return tbl.Do(ctx, table.Patch(user, table.Item{"name": str("secret too")}))
		}, []keys.Key{user}},
		"DoReturning, update": {"", nil, func(ctx context.Context, tbl *table.Table) error {
			return returned(table.DoReturning[account](ctx, tbl, rename("secret too")))
		}, []keys.Key{user}},
		"DoReturning, delete": {"", nil, func(ctx context.Context, tbl *table.Table) error {
			return returned(table.DoReturning[account](ctx, tbl, table.Delete(user)))
		}, nil},
		"Transact": {"", nil, func(ctx context.Context, tbl *table.Table) error {
			return tbl.Transact(ctx, table.Put(others[0], v), rename("secret too"))
		}, []keys.Key{user, others[0]}},
		"Transact, sent again": {
			"TransactWriteItems", tabletest.CancelTransaction("TransactionConflict", "None"),
			func(ctx context.Context, tbl *table.Table) error {
				return tbl.Transact(ctx, table.Put(others[0], v), rename("secret too"))
			},
			[]keys.Key{user, others[0]},
		},
		"BatchWrite, sent again": {
			"BatchWriteItem", tabletest.Unprocessed(1),
			func(ctx context.Context, tbl *table.Table) error {
				return tbl.BatchWrite(ctx, table.Put(others[0], v), table.Put(others[1], v))
			},
			others,
		},
		"Create whose response is lost": {
			"PutItem", tabletest.DropResponse(),
			func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, table.Create(others[0], v)) }, others[:1],
		},
		"an update whose response is lost": {
			"UpdateItem", tabletest.DropResponse(),
			func(ctx context.Context, tbl *table.Table) error {
				return returned(table.DoReturning[account](ctx, tbl, table.Patch(user, table.Item{"name": str("secret too"), "rev": str("r1")}).IfRevision("rev", "")))
			},
			[]keys.Key{user},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, func(t *testing.T, inBody bool) {
				tbl, plain, faults := encrypting(t, inBody)
				must(t, tbl.Do(t.Context(), table.Put(user, v)))
				if tt.fault != nil {
					faults.Next(tt.operation, tt.fault)
				}
				must(t, tt.write(t.Context(), tbl))
				for _, k := range tt.keys {
					if raw := stored(t, plain, k); !strings.HasPrefix(raw, sealed) {
						t.Errorf("stored is %q", raw)
					}
					must(t, returned(table.Get[account](t.Context(), tbl.Consistent(), k)))
				}
			})
		})
	}
}

// The item in an error is not decrypted, so callers do not get it. The reason for the
// failure is in it all the same.
func TestFailuresThroughMiddleware(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, inBody bool) {
		tbl, _, _ := encrypting(t, inBody)
		must(t, tbl.Do(t.Context(), table.Put(user, account{Name: "secret", N: 1})))
		stale := table.Update(user, setN(2)).IfVersion("n", 7).IfExists()
		for how, err := range map[string]error{
			"Do": tbl.Do(t.Context(), stale),
			"Transact": tbl.Transact(t.Context(), stale,
				table.Put(keys.Key{PK: "USER#1", SK: "1"}, account{})),
		} {
			op, failed := table.FailedOp(err, "")
			if !failed || !errors.Is(err, table.ErrStale) {
				t.Errorf("%s: %v", how, err)
				continue
			}
			if name := op.Stored["name"]; name != nil && name.(*types.AttributeValueMemberS).Value != "secret" {
				t.Errorf("%s: the item in the error has the name %v", how, name)
			}
		}
	})
}
