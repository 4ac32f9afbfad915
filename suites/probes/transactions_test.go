package probes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

var missingTable = fails("ResourceNotFoundException", "Requested resource not found")

func many(count int) (ks []keys.Key) {
	for i := range count {
		ks = append(ks, keys.Key{PK: "P", SK: keys.SK(fmt.Sprintf("k%03d", i))})
	}
	return ks
}

func puts(count int) (ops []table.Op) {
	for _, k := range many(count) {
		ops = append(ops, table.Put(k, nil))
	}
	return ops
}

func transactions() []claims {
	const both = "ConditionalCheckFailed"
	touched := expression.Set(name("data"), with(s("x")))
	first := func(code string, item json.RawMessage) response {
		message := ""
		if code == both {
			message = "The conditional request failed"
		}
		return cancels(reason{Code: code, Message: message, Item: item}, reason{Code: "None"})
	}
	stored := json.RawMessage(`{"pk":{"S":"P"},"sk":{"S":"S"},"status":{"S":"inactive"}}`)
	refused := returns(table.Permanent, table.ErrConditionFailed)
	conditions := claims{source: fork + "tests/tier2/transactions/transactWrite.test.ts", date: "2026-08-12", probes: []probe{
		{"put, update, delete", transact(table.Put(key, nil), table.Update(many(1)[0], touched), table.Delete(many(2)[1])), accepts, sends(`{"Delete":`)},
		{"a check that holds", transact(table.Check(key, name("status").Equal(with(s("active")))), second), accepts, sends(`{"ConditionCheck":{"ConditionExpression":"status = 'active'"`)},
		{"a check that fails", transact(table.Check(key, name("status").Equal(with(s("active")))), second), first(both, stored), refused},
		{"a put that fails", transact(table.Create(key, nil), second), first(both, stored), returns(table.Permanent, table.ErrExists)},
		{"an update that fails", transact(table.Update(key, touched).If(name("counter").GreaterThan(with(n("10")))), second), first(both, stored), refused},
		{"a deletion that fails", transact(table.Delete(key).If(name("locked").Equal(expression.Value(false))), second), first(both, stored), refused},
		{"an update of a missing item", transact(table.Update(key, touched).IfExists(), second), first(both, nil), returns(table.Permanent, table.ErrNotFound)},
		{"an update over a missing item", transact(table.Update(key, touched).If(name("score").GreaterThan(with(n("0")))), second), first(both, nil), refused},
		{"an upsert in a transaction", transact(table.Update(key, touched).If(name("pk").AttributeNotExists()), second), accepts, sends(`{"Update":{"ConditionExpression":"attribute_not_exists (pk)"`)},
		{
			"a stale version", transact(table.Put(key, table.Item{"version": n("4")}).IfVersion("version", 3), second),
			first(both, json.RawMessage(`{"pk":{"S":"P"},"sk":{"S":"S"},"version":{"N":"4"}}`)), returns(table.Permanent, table.ErrStale),
		},
	}}
	limits := claims{source: parity + "tests/tier3/error-messages/transactWriteItems.test.ts", date: "2026-10-08", probes: []probe{
		{"no action", transact(), refuses("1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"), unsent(table.ErrInvalid)},
		{"100 actions", transact(puts(100)...), accepts, sends("k099")},
		{"101 actions", transact(puts(101)...), refuses("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"), unsent(table.ErrTooLarge)},
		{"two actions on an item", transact(second, second), refuses("Transaction request cannot include multiple operations on one item"), unsent(table.ErrInvalid)},
		{"a check and a put of an item", transact(table.Check(key, name("a").AttributeExists()), table.Put(key, nil)), refuses("Transaction request cannot include multiple operations on one item"), unsent(table.ErrInvalid)},
		{"a missing table", transact(table.Put(key, nil), second), missingTable, returns(table.Unclassified)},
		{"two of two fail", transact(table.Create(key, nil), table.Create(second.Key(), nil)), cancels(reason{Code: both}, reason{Code: both}), returns(table.Permanent, table.ErrExists)},
		{"the second of two fails", transact(table.Create(key, nil), table.Create(second.Key(), nil)), cancels(reason{Code: "None"}, reason{Code: both}), returns(table.Permanent, table.ErrExists)},
	}}
	names := claims{source: parity + "tests/tier3/validation-ordering/deepRequests.test.ts", date: "2026-10-09", probes: []probe{
		{"an attribute without name", transact(table.Put(key, table.Item{"": s("x")}), second), refuses("Empty attribute name"), unsent(table.ErrInvalid)},
		{"a member without name", transact(table.Put(key, table.Item{"m": m("", s("x"))}), second), refuses("Empty attribute name"), unsent(table.ErrInvalid)},
		{"a check of 40 maps", transact(table.Check(key, name("d").Equal(with(deep(40)))), second), refuses("ExpressionAttributeValues contains invalid value: " + levels + " for key :deep"), unsent(table.ErrInvalid)},
	}}
	// The reasons that AWS's page of TransactWriteItems names.
	reasons := claims{source: "TransactWriteItems, Amazon DynamoDB API Reference", date: "2026-11"}
	for code, want := range map[string]want{
		"TransactionConflict":             returns(table.Transient, table.ErrConflict),
		"ThrottlingError":                 returns(table.Transient, table.ErrThrottled),
		"ProvisionedThroughputExceeded":   returns(table.Transient, table.ErrThrottled),
		"ItemCollectionSizeLimitExceeded": returns(table.Permanent, table.ErrTooLarge),
		"ValidationError":                 returns(table.Unclassified),
		"AccessDenied":                    returns(table.Unclassified),
	} {
		reasons.probes = append(reasons.probes,
			probe{"reason " + code, transact(table.Put(key, nil), second), first(code, nil), want},
			probe{"reason " + code + " of a read", transactGet(key, second.Key()), first(code, nil), want},
		)
	}
	reads := claims{source: parity + "tests/tier3/error-messages/transactGetItems.test.ts", date: "2026-10-08", probes: []probe{
		{"100 reads in a transaction", transactGet(many(100)...), response{body: `{"Responses":[` + nothing(100) + `]}`}, sends("k099")},
		{"101 reads in a transaction", transactGet(many(101)...), refuses("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"), unsent(table.ErrTooLarge)},
		{"reads of a missing table in a transaction", transactGet(key, second.Key()), missingTable, returns(table.Unclassified)},
		{"one stored, one missing", transactGet(key, second.Key()), response{body: `{"Responses":[{"Item":{"pk":{"S":"P"},"sk":{"S":"S"}}},{}]}`}, sends(`{"Get":`)},
	}}
	return []claims{conditions, limits, names, reasons, reads, validated(), batches(), lost()}
}

// validated are transactions that eu-north-1, ap-northeast-2 and, since 2026-10-08, eu-west-2
// check before they run. These Regions refuse them as a whole; the other 30 run them, and
// cancel them with a reason. To a caller both are one error.
func validated() claims {
	c := claims{source: parity + "captures/2026-10-08-transact-write-rollout.json", date: "2026-10-08"}
	both := func(id string, call call, whole response, cancelled response, want want) {
		c.probes = append(c.probes, probe{id + ", refused as a whole", call, whole, want}, probe{id + ", cancelled", call, cancelled, want})
	}
	invalid := func(message string) response {
		return cancels(reason{Code: "ValidationError", Message: message}, reason{Code: "None"})
	}
	const (
		empty    = "failed to satisfy constraint: Member must have length greater than or equal to 1"
		outgrown = "Item size to update has exceeded the maximum allowed size"
	)
	touched := expression.Set(name("touched"), with(s("y")))
	both("no action at all", transact(), refuses("1 validation error detected: Value at 'TransactItems' "+empty),
		refuses("1 validation error detected: Value '[]' at 'transactItems' "+empty), unsent(table.ErrInvalid))
	both("an update that writes 32 maps", transactSet(deep(32)), refuses(levels), invalid(levels), unsent(table.ErrInvalid))
	unequal := cancels(reason{Code: "ConditionalCheckFailed"}, reason{Code: "None"})
	both("an update if equal to 32 maps", transact(table.Update(key, touched).If(name("d").Equal(with(deep(32)))), second), refuses(levels), unequal, unsent(table.ErrInvalid))
	both("a check for 32 maps", transactCheck(deep(32)), refuses(levels), unequal, unsent(table.ErrInvalid))
	// A statement with one SET counts 22 bytes more than it writes, so that the three Regions
	// refuse this one. The others cancel it if the stored item has another attribute.
	at := s(strings.Repeat("x", 400<<10-len("pkPskSv")))
	tooLarge := returns(table.Permanent, table.ErrTooLarge)
	both("an update over the statement's size", transactSet(at), refuses(outgrown), invalid(outgrown), tooLarge)
	both("one update over the statement's size", transact(table.Update(key, expression.Set(name("v"), with(at)))),
		refuses(outgrown), cancels(reason{Code: "ValidationError", Message: outgrown}), tooLarge)
	c.probes = append(c.probes, probe{"an update of the statement's size, stored", transactSet(at), accepts, sends("SET v = 'xxx")})
	return c
}

// TestRefusalsOfTransactions shows that the two responses of [validated] are one error to a
// caller: a definite refusal that says what is wrong, and of one op, of which.
func TestRefusalsOfTransactions(t *testing.T) {
	t.Parallel()
	for _, p := range validated().probes {
		if p.want.unsent || !p.want.fails {
			continue
		}
		service := &service{response: p.aws}
		db, err := warmed.New(service.client(), payments, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = p.call(t.Context(), db)
		tx, ok := errors.AsType[*table.TxError](err)
		if !ok || errors.Is(err, table.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "Transact on table payments: transaction cancelled: ") ||
			!strings.Contains(err.Error(), "over a size limit") {
			t.Errorf("%s: %v", p.id, err)
			continue
		}
		one := strings.HasPrefix(p.id, "one ")
		if op, named := table.FailedOp(err, ""); one || named {
			if !named || op.Key != key || op.Op != "Update" || op.OpNumber != 1 || !errors.Is(op, table.ErrTooLarge) {
				t.Errorf("%s: failed %v of %v", p.id, op, tx)
			}
		}
	}
}

// nothing are so many responses without an item.
func nothing(count int) string {
	text := "{}"
	for range count - 1 {
		text += ",{}"
	}
	return text
}

func numberedNames(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprint("x", i))
	}
	return names
}

func batches() claims {
	all := response{body: `{"UnprocessedItems":{}}`}
	return claims{source: parity + "tests/tier3/error-messages/batchWriteItem.test.ts", date: "2026-10-09", probes: []probe{
		{"a put and a deletion of an item", batch(table.Put(key, nil), table.Delete(key)), refuses("Provided list of item keys contains duplicates"), unsent(table.ErrInvalid)},
		{"25 puts", batch(puts(25)...), all, sends("k024")},
		{"26 puts, in two requests", batch(puts(26)...), all, sends("k025")},
		{"puts and deletions", batch(table.Put(key, nil), table.Delete(second.Key())), all, sends(`{"DeleteRequest":`)},
		{"a batch for a missing table", batch(table.Put(key, nil)), missingTable, returns(table.Unclassified)},
		{"100 keys", batchGetKey(many(100)...), response{body: `{"Responses":{},"UnprocessedKeys":{}}`}, sends("k099")},
		{"101 keys, in two requests", batchGetKey(many(101)...), response{body: `{"Responses":{},"UnprocessedKeys":{}}`}, sends("k100")},
		{"keys of a missing table", batchGetKey(key), missingTable, returns(table.Unclassified)},
		// The library asks for a key once.
		{"a key twice", batchGetKey(key, key), response{body: `{"Responses":{},"UnprocessedKeys":{}}`}, sends(`"Keys":[{"pk":{"S":"P"},"sk":{"S":"S"}}]`)},
	}}
}

// lost are errors of single requests.
func lost() claims {
	c := claims{source: "Error handling with DynamoDB, Amazon DynamoDB Developer Guide", date: "2026-11"}
	for code, want := range map[string]want{
		"ResourceNotFoundException":                returns(table.Unclassified),
		"AccessDeniedException":                    returns(table.Unclassified),
		"UnrecognizedClientException":              returns(table.Unclassified),
		"ValidationException":                      returns(table.Unclassified),
		"ProvisionedThroughputExceededException":   returns(table.Transient, table.ErrThrottled),
		"RequestLimitExceeded":                     returns(table.Transient, table.ErrThrottled),
		"ThrottlingException":                      returns(table.Transient, table.ErrThrottled),
		"TransactionConflictException":             returns(table.Transient, table.ErrConflict),
		"ReplicatedWriteConflictException":         returns(table.Transient, table.ErrConflict),
		"ItemCollectionSizeLimitExceededException": returns(table.Permanent, table.ErrTooLarge),
	} {
		c.probes = append(c.probes, probe{code, do(table.Put(key, nil)), fails(code, "message"), want})
	}
	return c
}

// TestStoredInReasons shows that an error has the item that made a condition fail, as
// transactWrite.test.ts of 2026-08-12 shows it in a reason, and conditions.test.ts of
// 2026-07-01 in the error of a single write.
func TestStoredInReasons(t *testing.T) {
	t.Parallel()
	item := `{"pk":{"S":"P"},"sk":{"S":"S"},"val":{"S":"first"}}`
	for _, p := range []probe{
		{call: transact(table.Create(key, nil), second), aws: cancels(reason{Code: "ConditionalCheckFailed", Item: json.RawMessage(item)}, reason{Code: "None"})},
		{call: do(table.Create(key, nil)), aws: storedIn(item)},
	} {
		service := &service{response: p.aws}
		db, err := warmed.New(service.client(), payments, nil)
		if err != nil {
			t.Fatal(err)
		}
		op, failed := table.FailedOp(p.call(t.Context(), db), "")
		if v, ok := op.Stored["val"].(*types.AttributeValueMemberS); !failed || !ok || v.Value != "first" {
			t.Errorf("%v: stored %v", op, op.Stored)
		}
	}
}

// TestBatchesFitIntoRequests writes items that are six times as large in JSON as DynamoDB counts
// them. It refuses a batch of more than 16 MB. AWS: BatchWriteItem, Amazon DynamoDB API
// Reference.
func TestBatchesFitIntoRequests(t *testing.T) {
	t.Parallel()
	service := &service{response: accepts}
	db, err := warmed.New(service.client(), payments, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ops []table.Op
	for _, k := range many(8) {
		ops = append(ops, table.Put(k, table.Item{"v": s(strings.Repeat("\x01", 400_000))}))
	}
	if err := db.BatchWrite(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
	written := strings.Count(strings.Join(service.requests, ""), "PutRequest")
	if service.bytes > 16<<20 || len(service.requests) != 2 || written != len(ops) {
		t.Errorf("%d items in %d requests, the largest of %d bytes", written, len(service.requests), service.bytes)
	}
}

// tables are schemas that are refused before a request, as CreateTable is.
func tables() []claims {
	define := func(change func(*schema.Table)) call {
		return func(ctx context.Context, t *table.Table) error {
			s := schema.Table{Name: "orders"}
			change(&s)
			return s.Ensure(ctx, new(service).client())
		}
	}
	index := func(x schema.Index) call { return define(func(s *schema.Table) { s.Indexes = []schema.Index{x} }) }
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'x'
	}
	basic := claims{source: nubo + "tests/tier1/createTable/basic.test.ts", date: "2026-06-26"}
	for id, change := range map[string]func(*schema.Table){
		"a name of 2 characters":       func(s *schema.Table) { s.Name = "ab" },
		"a name of 256 characters":     func(s *schema.Table) { s.Name = string(long) },
		"a name with a semicolon":      func(s *schema.Table) { s.Name = "invalid;name" },
		"no table name":                func(s *schema.Table) { s.Name = "" },
		"units of a table on demand":   func(s *schema.Table) { s.ProvisionedThroughput = schema.Throughput{Read: 5, Write: 5} },
		"provisioned without units":    func(s *schema.Table) { s.BillingMode = types.BillingModeProvisioned },
		"an unknown billing mode":      func(s *schema.Table) { s.BillingMode = "INVALID_MODE" },
		"an unknown type of attribute": func(s *schema.Table) { s.PKType = "INVALID" },
		"one attribute as both keys":   func(s *schema.Table) { s.PK, s.SK = "pk", "pk" },
		"an index name twice":          func(s *schema.Table) { s.Indexes = []schema.Index{{Name: "same", PK: "a"}, {Name: "same", PK: "b"}} },
		"a local index of a table without sort key": func(s *schema.Table) {
			s.SimpleKey, s.Indexes = true, []schema.Index{{Name: "lsi", SK: "a", Local: true}}
		},
	} {
		basic.probes = append(basic.probes, probe{id, define(change), refuses(""), unsent(table.ErrInvalid)})
	}
	indexes := claims{source: nubo + "tests/tier1/createTable/specValidation.test.ts", date: "2026-07-01", probes: []probe{
		{"INCLUDE without attributes", index(schema.Index{Name: "gsi", PK: "a", Projection: types.ProjectionTypeInclude}), refuses(""), unsent(table.ErrInvalid)},
		{"INCLUDE without attributes, local", index(schema.Index{Name: "lsi", SK: "a", Local: true, Projection: types.ProjectionTypeInclude}), refuses(""), unsent(table.ErrInvalid)},
		{"INCLUDE with an attribute twice", index(schema.Index{Name: "gsi", PK: "a", Projection: types.ProjectionTypeInclude, Include: []string{"x", "x"}}), refuses("Cannot have two attributes with the same name"), unsent(table.ErrInvalid)},
		{"INCLUDE with 101 attributes", index(schema.Index{Name: "gsi", PK: "a", Projection: types.ProjectionTypeInclude, Include: numberedNames(101)}), refuses(""), unsent(table.ErrInvalid)},
		{"KEYS_ONLY with attributes", index(schema.Index{Name: "gsi", PK: "a", Projection: types.ProjectionTypeKeysOnly, Include: []string{"x"}}), refuses(""), unsent(table.ErrInvalid)},
		{"a local index with another partition key", index(schema.Index{Name: "lsi", PK: "a", SK: "b", Local: true}), refuses(""), unsent(table.ErrInvalid)},
		{"an index name of 2 characters", index(schema.Index{Name: "g1", PK: "a"}), refuses(""), unsent(table.ErrInvalid)},
	}}
	return []claims{basic, indexes, multiAttribute()}
}

// multiAttribute are queries of an index whose keys have several attributes.
func multiAttribute() claims {
	attributes := func(names ...string) (all []schema.Attribute) {
		for _, name := range names {
			all = append(all, schema.Attribute{Name: name})
		}
		return all
	}
	spec := schema.Table{Name: "matches", Indexes: []schema.Index{{Name: "byRound", PKs: attributes("h"), SKs: attributes("a", "b", "c", "d")}}}
	of := func(r keys.Range, sks ...string) call {
		return query(table.Query{Index: "byRound", PKs: []string{"H"}, SKs: sks, Range: r})
	}
	all := keys.Range{}
	return claims{source: parity + "tests/tier1/query/multiAttributeGsiKey.test.ts", date: "2026-10", table: spec, probes: []probe{
		{"the partition", of(all), none, sends(`"h = 'H'"`)},
		{"the first of four", of(all, "T"), none, sends(`"h = 'H' AND a = 'T'"`)},
		{"two of four", of(all, "T", "live"), none, sends(`"h = 'H' AND a = 'T' AND b = 'live'"`)},
		{"three of four", of(all, "T", "live", "a"), none, sends(`"h = 'H' AND a = 'T' AND b = 'live' AND c = 'a'"`)},
		{"begins_with for the fourth", of(keys.Range{Prefix: "r"}, "T", "live", "a"), none, sends(`AND c = 'a' AND begins_with(d, 'r')"`)},
		{"BETWEEN for the fourth", of(keys.Range{From: "r1", To: "r2"}, "T", "live", "a"), none, sends(`AND d BETWEEN 'r1' AND 'r2'"`)},
		{"a range for the second", of(keys.Range{To: "live"}, "T"), none, sends(`"h = 'H' AND a = 'T' AND b <= 'live'"`)},
		{"descending in several attributes", query(table.Query{Index: "byRound", PKs: []string{"H"}, SKs: []string{"T"}, Descending: true}), none, sends(`"ScanIndexForward":false`)},
		// A gap or a range before the last attribute cannot be written.
		{"five of four", of(all, "T", "live", "a", "d", "e"), refuses(""), unsent(table.ErrInvalid)},
		{"no partition", query(table.Query{Index: "byRound"}), refuses(""), unsent(table.ErrInvalid)},
	}}
}
