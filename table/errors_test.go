package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestErrorTexts pins the texts of our own errors.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	balance, other := table.Check(user, nIs(9)).WithName("balance"), keys.Key{PK: "A", SK: "B"}
	for want, err := range map[string]error{
		"singletable: Get on table AppCore: item not found":                                                       &table.Error{Op: "Get", Table: "AppCore", Key: user, Err: table.ErrNotFound},
		"singletable: QueryPage on table AppCore, index GSI1: invalid cursor":                                     &table.Error{Op: "QueryPage", Table: "AppCore", Index: "GSI1", Err: paginate.ErrInvalidCursor},
		`singletable: Create "profile" on table AppCore: item exists already`:                                     &table.Error{Op: "Create", Name: "profile", Table: "AppCore", Key: user, Err: table.ErrExists},
		`singletable: Transact on table AppCore: transaction cancelled: op 2 (Check "balance"): condition failed`: tbl.Transact(t.Context(), table.Delete(other), balance),
		"singletable: Transact on table AppCore: op 2 (Put): invalid operation: attribute \"\" has an empty name": tbl.Transact(t.Context(), table.Delete(other), table.Put(user, table.Item{"": str("x")})),
		"transaction cancelled: EOF":                                       &table.TxError{Err: io.EOF},
		"singletable: BatchGet on table AppCore: 2 keys remain: throttled": &table.Error{Op: "BatchGet", Table: "AppCore", Remaining: []keys.Key{user, user}, Err: table.ErrThrottled},
		"singletable: table AppCore: invalid: a; b":                        &schema.Error{Table: "AppCore", Problems: []string{"a", "b"}, Err: table.ErrInvalid},
	} {
		equal(t, "text", strings.ReplaceAll(err.Error(), tbl.Schema().Name, "AppCore"), want)
	}
}

// An item of another type is a mistake in the query, and one without a type is one in a write.
func TestWrongTypeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: user.PK, SK: "B"}, account{Type: "user"})))
	untyped := keys.Key{PK: user.PK, SK: "A"}
	must(t, tbl.Do(t.Context(), table.Update(untyped, setN(1)).IfType("order")))
	orders := tbl.OfType("order").Consistent()
	of := func(sk keys.SK) table.Query { return table.Query{PK: user.PK, Range: keys.Exactly(sk)} }
	const way, made = `Range of the sort keys of "order", or read all types with repo.Collect`, "an update without IfExists may have created it"
	for name, tt := range map[string]struct {
		err       error
		way, made bool
	}{
		"QueryPage":                {err: second(table.QueryPage[account](t.Context(), orders, of("B"))), way: true},
		"All":                      {err: second(table.Collect(table.All[account](t.Context(), orders, of("B")))), way: true},
		"Get":                      {err: second(table.Get[account](t.Context(), orders, keys.Key{PK: user.PK, SK: "B"}))},
		"QueryPage without a type": {err: second(table.QueryPage[account](t.Context(), orders, of("A"))), made: true},
		"Get without a type":       {err: get(t.Context(), orders, untyped), made: true},
	} {
		if text := fmt.Sprint(tt.err); !errors.Is(tt.err, table.ErrWrongType) || strings.Contains(text, way) != tt.way || strings.Contains(text, made) != tt.made {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// failures are errors as callers get them, each about [user].
func failures(t *testing.T) map[string]error {
	t.Helper()
	tbl, faults := newTable(t, appCore())
	ctx := t.Context()
	all := map[string]error{"Get of nothing": get(ctx, tbl, user)}
	must(t, tbl.Do(ctx, table.Put(user, account{Type: "user", Name: "Ann"})))
	all["Get of another type"] = get(ctx, tbl.OfType("order"), user)
	all["Get of a bad key"] = get(ctx, tbl, keys.Key{PK: user.PK + "\xff", SK: "x"})
	all["Create"] = tbl.Do(ctx, table.Create(user, nil))
	all["Update"] = tbl.Do(ctx, table.Update(user, setN(1)).If(nIs(9)))
	all["Check"] = tbl.Do(ctx, table.Check(user, nIs(9)))
	all["Transact"] = tbl.Transact(ctx, table.Create(user, nil).WithName("user"), table.Delete(keys.Key{PK: "A", SK: "B"}))
	all["Transact twice"] = tbl.Transact(ctx, table.Put(user, nil), table.Delete(user))
	all["Put of a slice"] = tbl.Do(ctx, table.Put(user, []string{"u-123"}))
	all["bad token"] = second(table.QueryPage[account](ctx, tbl, table.Query{PK: user.PK, After: "u-123"}))
	all["BatchGet"] = second(table.BatchGet[account](ctx, tbl.OfType("order"), []keys.Key{user}))
	all["TransactGet"] = second(table.TransactGet[account](ctx, tbl.OfType("order"), []keys.Key{user}))
	faults.Always("", tabletest.CancelTransaction("ValidationError"))
	all["TransactGet cancelled"] = second(table.TransactGet[account](ctx, tbl, []keys.Key{user}))
	all["Transact cancelled"] = tbl.Transact(ctx, table.Put(user, nil))
	faults.Always("", tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "No."))
	all["BatchWrite"] = tbl.BatchWrite(ctx, table.Put(user, nil))
	all["BatchGet denied"] = second(table.BatchGet[account](ctx, tbl, []keys.Key{user}))
	all["Query denied"] = second(table.Collect(table.All[account](ctx, tbl, table.Query{PK: user.PK})))
	return all
}

// An expected refusal has a text of the library. It wraps the SDK's error, which has
// the id of the request.
func TestARefusalHasNoTextOfTheSDK(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Name: "AppCore"}, nil)
	expect.OK(t, tbl.Do(t.Context(), table.Create(user, nil)))
	err := tbl.Do(t.Context(), table.Create(user, nil))
	equal(t, "text", err.Error(), "singletable: Create on table "+tbl.Schema().Name+": item exists already")
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); !ok || !errors.Is(err, table.ErrExists) {
		t.Errorf("%v is not both errors", err)
	}
}

// The SDK quotes what it cannot read, which may be an item.
func TestUnreadableResponsesAreNotQuoted(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"Item":"u-123"}`, `{"Item":{"a":{"NULL":"u-123"}}}`, `{"Item":{"a":{"S":{"b":"u-123"}}}}`, `{"ConsumedCapacity":{"CapacityUnits":"u-123"}}`,
	} {
		for _, bySDK := range []bool{false, true} {
			err := get(t.Context(), fixedResponse{http.StatusOK, []byte(body)}.table(t, "", bySDK), user)
			if err == nil || !strings.Contains(err.Error(), "the response cannot be read") || strings.Contains(err.Error(), "u-123") {
				t.Errorf("%s: %v", body, err)
			}
			if _, ok := errors.AsType[*smithy.DeserializationError](err); !ok {
				t.Errorf("%s: the SDK's error is not in %v", body, err)
			}
		}
	}
}

// An op returns the same error alone, in a transaction, and with its item returned.
func TestEveryCallNamesTheSameOp(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, account{N: 1})))
	op := table.Update(user, setN(2)).If(nIs(9)).WithName("profile")
	for call, err := range map[string]error{
		"Do":                  tbl.Do(t.Context(), op),
		"Transact":            tbl.Transact(t.Context(), table.Delete(keys.Key{PK: "A", SK: "B"}), op),
		"DoReturning, update": second(table.DoReturning[account](t.Context(), tbl, op)),
	} {
		failed, ok := table.FailedOp(err, "profile")
		if !ok || !errors.Is(failed, table.ErrConditionFailed) || failed.Key != user {
			t.Errorf("%s: %+v, %v", call, failed, err)
			continue
		}
		if as, _ := table.FailedOp(err, ""); as != failed {
			t.Errorf("%s: the op of any name is %+v", call, as)
		}
		var stored account
		must(t, failed.Stored.Decode(&stored))
		equal(t, call+": stored", stored.N, 1)
		if _, ok := table.FailedOp(err, "other"); ok {
			t.Errorf("%s: an op of another name", call)
		}
		if strings.Count(err.Error(), "profile") != 1 {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestErrorsHoldKeysAndDoNotPrintThem(t *testing.T) {
	t.Parallel()
	for name, err := range failures(t) {
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		e, ok := errors.AsType[*table.Error](err)
		if !ok || e.Err == nil || !strings.HasPrefix(err.Error(), "singletable: "+e.Op+" ") || !strings.Contains(err.Error(), " on table "+e.Table) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Count(err.Error(), "singletable: ") != 1 {
			t.Errorf("%s: not one prefix in %v", name, err)
		}
		for _, verb := range []string{"%v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, fmt.Errorf("wrapped: %w", err)); strings.Contains(text, "u-123") {
				t.Errorf("%s prints the key: %s", name, text)
			}
		}
		if !holdsKey(err) {
			t.Errorf("%s: no key in %#v", name, err)
		}
		noNilInside(t, err)
	}
}

// holdsKey reports whether the key is a field of the error or one below it.
func holdsKey(err error) bool {
	if e, ok := errors.AsType[*table.Error](err); ok && strings.Contains(string(e.Key.PK), "u-123") {
		return true
	}
	if e, ok := table.FailedOp(err, ""); ok && e.Key == user {
		return true
	}
	if e, ok := errors.AsType[*table.Error](err); ok && len(e.Remaining) == 1 && e.Remaining[0] == user {
		return true
	}
	// A cancellation without a reason that we know has no op to blame.
	return errors.As(err, new(*types.TransactionCanceledException))
}

// noNilInside checks the whole tree of errors.
func noNilInside(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("a nil inside an error")
		return
	}
	if many, ok := any(err).(interface{ Unwrap() []error }); ok {
		for _, inner := range many.Unwrap() {
			noNilInside(t, inner)
		}
	} else if inner := errors.Unwrap(err); inner != nil {
		noNilInside(t, inner)
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	api := func(code string, fault smithy.ErrorFault) error {
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: &smithy.GenericAPIError{Code: code, Fault: fault}}
	}
	status := func(code int) error {
		response := &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}}, Err: &smithy.GenericAPIError{Code: "Whatever"}}
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: response}
	}
	for name, tt := range map[string]struct {
		err  error
		want table.Class
	}{
		"nil":                           {nil, table.Unclassified},
		"any":                           {io.EOF, table.Unclassified},
		"not found":                     {table.ErrNotFound, table.Permanent},
		"wrong type":                    {table.ErrWrongType, table.Permanent},
		"exists":                        {table.ErrExists, table.Permanent},
		"condition":                     {table.ErrConditionFailed, table.Permanent},
		"too large":                     {table.ErrTooLarge, table.Permanent},
		"query":                         {table.ErrInvalid, table.Permanent},
		"op":                            {table.ErrInvalid, table.Permanent},
		"schema":                        {table.ErrInvalid, table.Permanent},
		"key":                           {keys.ErrInvalid, table.Permanent},
		"cursor":                        {paginate.ErrInvalidCursor, table.Permanent},
		"mismatch":                      {schema.ErrMismatch, table.Unclassified},
		"conflict":                      {table.ErrConflict, table.Transient},
		"stale":                         {table.ErrStale, table.Permanent},
		"throttled":                     {table.ErrThrottled, table.Transient},
		"unknown":                       {table.ErrOutcomeUnknown, table.Transient},
		"deadline":                      {context.DeadlineExceeded, table.Transient},
		"cancelled":                     {context.Canceled, table.Transient},
		"wrapped":                       {fmt.Errorf("x: %w", &table.Error{Err: &table.Error{Err: table.ErrExists}}), table.Permanent},
		"unknown and a refusal":         {fmt.Errorf("%w: %w", table.ErrOutcomeUnknown, &types.ConditionalCheckFailedException{}), table.Transient},
		"SDK, server in general":        {api("Whatever", smithy.FaultServer), table.Transient},
		"SDK, unavailable":              {api("ServiceUnavailable", smithy.FaultUnknown), table.Transient},
		"SDK, validation":               {api("ValidationException", smithy.FaultClient), table.Unclassified},
		"SDK, denied":                   {api("AccessDeniedException", smithy.FaultClient), table.Unclassified},
		"SDK, expired credentials":      {api("ExpiredTokenException", smithy.FaultClient), table.Transient},
		"SDK, unknown credentials":      {api("UnrecognizedClientException", smithy.FaultClient), table.Unclassified},
		"SDK, throttled":                {api("ThrottlingException", smithy.FaultClient), table.Transient},
		"SDK, cancelled for a conflict": {cancelled("None", "TransactionConflict"), table.Transient},
		"SDK, cancelled by validation":  {cancelled("ValidationError", "TransactionConflict"), table.Unclassified},
		"SDK, cancelled by a condition": {cancelled("None", "ConditionalCheckFailed"), table.Permanent},
		"SDK, cancelled by a condition and a conflict": {cancelled("TransactionConflict", "ConditionalCheckFailed"), table.Permanent},
		"SDK, cancelled for lack of capacity":          {cancelled("ThrottlingError", "ProvisionedThroughputExceeded"), table.Transient},
		"SDK, cancelled for its size":                  {cancelled("ItemCollectionSizeLimitExceeded"), table.Permanent},
		"SDK, cancelled for nothing":                   {cancelled("None", "None"), table.Unclassified},
		"stale and in conflict":                        {errors.Join(table.ErrConflict, table.ErrStale), table.Permanent},
		"throttled and too large":                      {errors.Join(table.ErrThrottled, table.ErrTooLarge), table.Permanent},
		"gave up, stale":                               {gaveUp(t), table.Transient},
		"a status of 500":                              {status(500), table.Transient},
		"a status of 501":                              {status(501), table.Transient},
		"a status of 499":                              {status(499), table.Unclassified},
		"a status of 413":                              {status(413), table.Permanent},
		"unreadable":                                   {&smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, table.Transient},
	} {
		if got := table.Classify(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	equal(t, "names", fmt.Sprint(table.Unclassified, table.Transient, table.Permanent, table.Class(9)),
		"unclassified transient permanent unclassified")
}

// gaveUp returns the error of a loop that stays stale.
func gaveUp(t *testing.T) (err error) {
	stale := tabletest.Status(http.StatusBadRequest, "ConditionalCheckFailedException", "x")
	outage(t, stale, &table.Options{MaxAttempts: 1}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		err = tbl.Retry(t.Context(), func(ctx context.Context) error {
			return tbl.Do(ctx, table.Put(user, nil).IfVersion("version", 1))
		})
	})
	return err
}

// TestClassifyCodes has every error of the SDK's package for DynamoDB, as an
// Event has it and as the calls of a Table return it.
func TestClassifyCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want table.Class
		errs []smithy.APIError
	}{
		{table.Transient, []smithy.APIError{
			&types.InternalServerError{}, &types.LimitExceededException{}, &types.ProvisionedThroughputExceededException{},
			&types.ReplicatedWriteConflictException{}, &types.RequestLimitExceeded{}, &types.ResourceInUseException{},
			&types.TableInUseException{}, &types.ThrottlingException{}, &types.TransactionConflictException{}, &types.TransactionInProgressException{},
		}},
		{table.Permanent, []smithy.APIError{
			&types.ConditionalCheckFailedException{}, &types.ItemCollectionSizeLimitExceededException{},
		}},
		// Most are about tables, backups and replicas, which no Table asks for.
		{table.Unclassified, []smithy.APIError{
			&types.BackupInUseException{}, &types.BackupNotFoundException{}, &types.ContinuousBackupsUnavailableException{},
			&types.DuplicateItemException{}, &types.ExportConflictException{}, &types.ExportNotFoundException{},
			&types.GlobalTableAlreadyExistsException{}, &types.GlobalTableNotFoundException{}, &types.IdempotentParameterMismatchException{},
			&types.ImportConflictException{}, &types.ImportNotFoundException{}, &types.IndexNotFoundException{},
			&types.InvalidEndpointException{}, &types.InvalidExportTimeException{}, &types.InvalidRestoreTimeException{},
			&types.PointInTimeRecoveryUnavailableException{}, &types.PolicyNotFoundException{}, &types.ReplicaAlreadyExistsException{},
			&types.ReplicaNotFoundException{}, &types.ResourceNotFoundException{}, &types.TableAlreadyExistsException{},
			&types.TableNotFoundException{}, &types.TransactionCanceledException{},
		}},
	} {
		for _, api := range tt.errs {
			if got := table.Classify(api); got != tt.want {
				t.Errorf("%s: %v, want %v", api.ErrorCode(), got, tt.want)
			}
			status := http.StatusBadRequest
			if api.ErrorFault() == smithy.FaultServer {
				status = http.StatusInternalServerError
			}
			fault := tabletest.Status(status, api.ErrorCode(), "Injected.")
			outage(t, fault, &table.Options{MaxAttempts: 1}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
				for call, run := range everyCall(tbl) {
					err := run(t.Context())
					if got := table.Classify(err); got != tt.want {
						t.Errorf("%s, %s: %v is %v, want %v", api.ErrorCode(), call, err, got, tt.want)
					}
				}
			})
		}
	}
}

// TestBatchErrorsAreOneLine shows the causes of a batch, each once.
func TestBatchErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	outage(t, unprocessed(func(n int) int { return n }), &table.Options{MaxAttempts: 2}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		err := second(table.BatchGet[account](t.Context(), tbl, someKeys(500)))
		equal(t, "text", err.Error(), "singletable: BatchGet on table AppCore: 500 keys remain: throttled: left unprocessed 2 times")
		if !errors.Is(err, table.ErrThrottled) {
			t.Error(err)
		}
	})
}

// TestNoCredentials shows that a failure to get credentials is not one of the
// write, though it may be one of another service.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	denied := &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRole", Err: &smithyhttp.RequestSendError{Err: io.EOF}}
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, denied }),
	})
	tbl := expect.Value(table.New(client, searchable(), nil))(t)
	for call, run := range everyCall(tbl) {
		if err := run(t.Context()); !errors.Is(err, denied) || errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func cancelled(codes ...string) error {
	err := &types.TransactionCanceledException{}
	for _, code := range codes {
		err.CancellationReasons = append(err.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return err
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"SET #0 = :0\n":                             true,
		"SET #0 = :0, #1.#2 = :1\nREMOVE #3\n":      true,
		"DELETE #0 :0\n":                            true,
		"SET #0 = if_not_exists(#0, :0)\n":          true,
		"SET #0.#1 = if_not_exists(#0.#1, :0)\n":    true,
		"SET #0 = if_not_exists(#1, :0), #1 = :1\n": false,
		"SET #0 = if_not_exists(#0, :0) + :1\n":     false,
		"SET #0 = if_not_exists(#0, :0) - :1\n":     false,
		"ADD #0 :0\n":                               false,
		"SET #0 = #1\n":                             false,
		"SET #0 = #0 + :0\n":                        false,
		"SET #0 = :0 - #0\n":                        false,
		"SET #0 = list_append(#0, :0)\n":            false,
		"SET #0 = list_append(:0, :1)\n":            false,
		"REMOVE #0[0]\n":                            false,
		"SET #0[7] = :0\n":                          false,
		"SET #0 = :0\nADD #1 :1\n":                  false,
	} {
		if got := table.Repeatable(&text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if !table.Repeatable(nil) {
		t.Error("no update is not repeatable")
	}
}

// An engine for tests can lack an operation.
func TestUnsupportedOperation(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	faults.Always("TransactWriteItems", tabletest.Status(http.StatusBadRequest, "UnknownOperationException", "Injected."))
	err := tbl.Transact(t.Context(), table.Put(user, nil))
	expect.Err(t, err, schema.ErrUnsupported)
	if errors.Is(err, table.ErrOutcomeUnknown) || table.Classify(err) != table.Unclassified {
		t.Errorf("%v is %v", err, table.Classify(err))
	}
}

// What FailedOp returns for an op that did not fail can be looked at like an error.
func TestNoOpFailed(t *testing.T) {
	t.Parallel()
	op, ok := table.FailedOp(table.ErrNotFound, "seat")
	if ok || errors.Is(op, table.ErrNotFound) || op.Error() == "" {
		t.Errorf("got %v, %v", op, ok)
	}
}
