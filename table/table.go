package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/pool"
	"github.com/singletable/singletable/internal/replay"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
)

// Options adjust a [Table]. Nil and every zero value mean the default.
type Options struct {
	// Now is the clock that decides whether an item has expired; by default
	// [time.Now]. At a time that is not after 1970 began nothing can have expired, and a
	// condition about that is [ErrInvalid].
	Now func() time.Time
	// Cursors seals and opens the cursors of [Page]. By default they are sealed
	// with a key that the process draws for itself: other processes refuse them as
	// [paginate.NoSharedKey], and so does this one after a restart. Services with
	// several instances share the keys of a codec from [paginate.New].
	Cursors *paginate.Codec
	// Observe, if set, is called once for every request, when it has ended. It
	// is called from several goroutines at once if the Table is used so, and it
	// delays the operation that it observes. The context is that of the operation.
	Observe func(context.Context, Event)
	// MaxRounds bounds the requests of one [QueryPage] whose filter leaves the
	// page short; 10 by default. [All] has no such bound.
	MaxRounds int
	// MaxAttempts and MaxElapsed are the budget of a call: they bound how often a
	// request is sent while it fails for reasons that can pass, and for how long.
	// The SDK's own attempts count, and so do those of the request that finds out
	// about a lost response.
	//
	// MaxAttempts is how many attempts in a row may fail without progress; 10 by
	// default. With progress, which is part of a batch or, in [Table.Retry],
	// another writer's write, there are at most 8 times as many. No retry begins
	// later than MaxElapsed after the call; 30 seconds by default. A request that
	// is in flight then is not cut off: that is for the context. Delays are
	// random and grow to a second at most; those of the SDK are its own.
	//
	// A read of several requests, such as [All], and each request of a batch have
	// a budget for each request. [Table.Retry] has one for all that it runs.
	MaxAttempts int
	MaxElapsed  time.Duration
	// DisableReplay has the SDK's client make every call. By default it makes the first
	// two of an operation, one each hour, and all that do not succeed at once. The others are sent
	// as it has sent those, over its HTTP client and signed by its signer, which costs a third. A
	// client with anything between a call and HTTP, such as middleware, makes all
	// calls anyway. [Event].Replayed tells which requests were such.
	DisableReplay bool
}

const (
	defaultMaxRounds   = 10
	defaultMaxAttempts = 10
	defaultMaxElapsed  = 30 * time.Second
)

// Table is one physical table, bound to a client. It is safe for concurrent
// use. Get one from [New].
type Table struct {
	api        api
	schema     schema.Table
	name       *string
	options    Options
	consistent bool
	// withExpired means that reads give expired items, too.
	withExpired bool
	ofType      string
	views       []item.View // at most one of each type
	project     []string
	// ownClient means that the client is the SDK's and nobody's wrapper.
	ownClient bool
	replays   *replay.Client // nil if the client makes all calls
	pool      *pool.Pool
	layouts   map[string]layout // by the name of the index
	indexKeys []indexKey
	// mayRewrite means that middleware of the client may change inputs and outputs.
	mayRewrite bool
}

// New binds a schema to the SDK's client. It sends no request. [schema.Table.Ensure] and
// [schema.Table.Verify] look at the live table. The error matches [ErrInvalid].
//
// The client is not an interface here, since the linker would keep its 62 operations in a
// program that uses text/template or html/template. For wrappers there is [NewWithClient].
func New(client *dynamodb.Client, spec schema.Table, options *Options) (*Table, error) {
	if client == nil {
		return nil, noClient(spec)
	}
	t, err := newTable(api{
		client.GetItem, client.BatchGetItem, client.TransactGetItems, client.Query, client.Scan, client.SearchVectors,
		client.PutItem, client.UpdateItem, client.DeleteItem, client.BatchWriteItem, client.TransactWriteItems,
	}, spec, options)
	if err != nil {
		return nil, err
	}
	o := client.Options()
	t.ownClient, t.pool, t.mayRewrite = true, pool.New(o.HTTPClient), mayRewrite(o)
	if !t.options.DisableReplay {
		t.replays = replay.New(o)
	}
	return t, nil
}

// NewWithClient is [New] for a client of another kind: that of DAX, a wrapper of the SDK's, or one for
// tests.
func NewWithClient(client Client, spec schema.Table, options *Options) (*Table, error) {
	if client == nil {
		return nil, noClient(spec)
	}
	if sdk, ok := client.(*dynamodb.Client); ok {
		return New(sdk, spec, options)
	}
	operations := api{
		getItem: client.GetItem, batchGetItem: client.BatchGetItem, transactGetItems: client.TransactGetItems,
		query: client.Query, scan: client.Scan,
		putItem: client.PutItem, updateItem: client.UpdateItem, deleteItem: client.DeleteItem,
		batchWriteItem: client.BatchWriteItem, transactWriteItems: client.TransactWriteItems,
	}
	if searcher, ok := client.(interface {
		SearchVectors(context.Context, *dynamodb.SearchVectorsInput, ...func(*dynamodb.Options)) (*dynamodb.SearchVectorsOutput, error)
	}); ok {
		operations.searchVectors = searcher.SearchVectors
	}
	return newTable(operations, spec, options)
}

func noClient(spec schema.Table) error {
	return &Error{Op: "New", Table: spec.Name, Err: fmt.Errorf("%w table: the client is nil", ErrInvalid)}
}

func newTable(operations api, spec schema.Table, options *Options) (*Table, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxRounds = cmp.Or(o.MaxRounds, defaultMaxRounds)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, defaultMaxAttempts)
	o.MaxElapsed = cmp.Or(o.MaxElapsed, defaultMaxElapsed)
	var problems []string
	if _, err := o.Cursors.Open("", nil); !errors.Is(err, paginate.ErrInvalidCursor) {
		problems = append(problems, fmt.Sprintf("Options.Cursors: %v", err))
	}
	if o.MaxRounds < 0 {
		problems = append(problems, fmt.Sprintf("Options.MaxRounds: %d is negative", o.MaxRounds))
	}
	if o.MaxAttempts < 0 {
		problems = append(problems, fmt.Sprintf("Options.MaxAttempts: %d is negative", o.MaxAttempts))
	}
	if o.MaxElapsed < 0 {
		problems = append(problems, fmt.Sprintf("Options.MaxElapsed: %v is negative", o.MaxElapsed))
	}
	if len(problems) > 0 {
		return nil, &Error{Op: "New", Table: spec.Name, Err: fmt.Errorf("%w table: %s", ErrInvalid, strings.Join(problems, "; "))}
	}
	spec = spec.WithDefaults()
	return &Table{
		api: operations, schema: spec, name: aws.String(spec.Name), options: o, pool: &pool.Pool{},
		layouts: layoutsOf(&spec), indexKeys: indexKeysOf(&spec),
	}, nil
}

// Schema returns the table's schema with every default filled in.
func (t *Table) Schema() schema.Table { return t.schema.WithDefaults() }

// Now returns the time by the table's clock.
func (t *Table) Now() time.Time { return t.options.Now() }

// unixNow returns the time by the table's clock in seconds, for a condition about expiries.
func (t *Table) unixNow() (string, error) {
	seconds := t.Now().Unix()
	if seconds < 1 {
		return "", fmt.Errorf("%w clock: by Options.Now the time is %d seconds since 1970 began, when no item can have expired", ErrInvalid, seconds)
	}
	return strconv.FormatInt(seconds, 10), nil
}

// Cursors returns the codec of the table's cursors, for readers that make cursors
// of their own. It is nil if the Options had none; a nil codec works, see
// [paginate.Codec].
func (t *Table) Cursors() *paginate.Codec { return t.options.Cursors }

// Consistent returns a view of the table whose reads are strongly consistent,
// at twice the read units. A query of a global index through it is
// [ErrInvalid], because DynamoDB has no such read. AWS: "Constraints in Amazon DynamoDB",
// Amazon DynamoDB Developer Guide. Seen: paritysuite/dynamodb-conformance,
// error-messages/indexReads.test.ts.
func (t *Table) Consistent() *Table {
	view := *t
	view.consistent = true
	return &view
}

// IncludingExpired returns a view of the table whose reads, counts among them, give expired
// items that DynamoDB has not deleted yet, as those of jobs and tools that show what is stored.
// Writes are those of the table: an expired item is missing for their conditions.
func (t *Table) IncludingExpired() *Table {
	view := *t
	view.withExpired = true
	return &view
}

// readExpiry returns the attribute by which reads leave out items, "" for none.
func (t *Table) readExpiry() string {
	if t.withExpired {
		return ""
	}
	return t.schema.TTLAttribute
}

// Project returns a view of the table whose reads give only these attributes of an item,
// and always its keys, type, expiry and shape: [Get], [BatchGet], [TransactGet], and
// queries and scans without a Project of their own. Responses are smaller; what
// DynamoDB charges is the same. Names are top-level attributes. One that cannot be is
// [ErrInvalid] in every read. Without names the view is whole again. Writes are not
// changed.
//
// Read less than all of an item into a type of its own: a [Put] of such a value removes the
// attributes that were not read. The View of a repo.Repo refuses to read it into the
// entity's type, and into a type that embeds that.
//
// Seen: nubo-db/dynamodb-conformance, query/consumedCapacity.test.ts.
func (t *Table) Project(attributes ...string) *Table {
	view := *t
	view.project = slices.Clone(attributes)
	return &view
}

// OfType returns a view of the table whose reads give items of that type only:
// an item whose type attribute differs is [ErrWrongType]. Writes are not
// changed. The type "" ends that, and the View of a repo.Repo: t.OfType("").Project() reads
// items of all types, whole and as they are stored.
func (t *Table) OfType(name string) *Table {
	view := *t
	view.ofType, view.views = name, nil
	return &view
}

// Reading returns a view of the table for a package of this module: nobody else can make an
// [item.Reading]. [Table.OfType] ends it.
func (t *Table) Reading(r item.Reading) *Table {
	view := *t
	view.ofType, view.views = r.Type, r.Views
	if r.Whole {
		view.project, view.withExpired = nil, false
	}
	return &view
}

// upgrades reports whether a read changes items, which takes them as a whole.
func (t *Table) upgrades() bool {
	return slices.ContainsFunc(t.views, func(v item.View) bool { return len(v.Attributes) > 0 })
}

// checkKey reports why a key cannot be one of this table's.
func (t *Table) checkKey(k keys.Key) error {
	if err := checkPK(t.schema.PKType, k.PK); err != nil {
		return err
	}
	if t.schema.SK == "" {
		if k.SK != "" {
			return &keys.Error{Part: "sort key", Rule: "is given, and the table has none", Value: string(k.SK)}
		}
		return nil
	}
	return checkSK(t.schema.SKType, k.SK)
}

// keyItem returns a key as the attributes it is stored in.
func (t *Table) keyItem(k keys.Key) Item {
	item := make(Item, 2)
	t.setKey(item, k)
	return item
}

func (t *Table) setKey(item Item, k keys.Key) {
	item[t.schema.PK] = keyValue(t.schema.PKType, string(k.PK))
	if t.schema.SK != "" {
		item[t.schema.SK] = keyValue(t.schema.SKType, string(k.SK))
	}
}

// IndexKey returns the attributes that put an item into an index under a key;
// into the table itself if the index is "". The zero key gives none: the item is not in the index. An index that the
// schema lacks is [ErrInvalid], a key that cannot be one of the index's is
// [keys.ErrInvalid].
func (t *Table) IndexKey(index string, k keys.Key) (Item, error) {
	if index == "" {
		if err := t.checkKey(k); err != nil {
			return nil, err
		}
		return t.keyItem(k), nil
	}
	l, ok := t.layouts[index]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w index: the schema has no %q", ErrInvalid, index)
	case l.composite:
		return nil, fmt.Errorf("%w index: the keys of %q have several attributes, which items have by themselves", ErrInvalid, index)
	case k == keys.Key{}:
		return nil, nil
	}
	x := l.secondary
	if err := checkPK(x.PKType, k.PK); err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	item := Item{x.PK: keyValue(x.PKType, string(k.PK))}
	if x.SK == "" {
		return item, nil
	}
	if err := checkSK(x.SKType, k.SK); err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	item[x.SK] = keyValue(x.SKType, string(k.SK))
	return item, nil
}

// KeyOf returns the key that an item is stored under, or its key in an index if
// the name is not empty. Parts that the item does not have are empty, as is the
// key in an index that the schema lacks, or whose keys have several attributes.
func (t *Table) KeyOf(index string, item Item) keys.Key {
	pk, sk := t.layouts[index].names()
	var texts [2]string
	for i, name := range [2]string{pk, sk} {
		if name != "" { // which an invalid item can have
			_, texts[i] = keyText(item[name])
		}
	}
	return keys.Key{PK: keys.PK(texts[0]), SK: keys.SK(texts[1])}
}

// checkIndexKeys returns the first fault of the item's index keys.
func (t *Table) checkIndexKeys(item Item) *fault {
	for _, k := range t.indexKeys {
		if value, there := item[k.name]; there {
			if f := k.fault(value); f != nil {
				return f.in(k.name)
			}
		}
	}
	return nil
}

// checkExpiry returns why the expiry among attributes of the caller would never come.
func (t *Table) checkExpiry(attributes Item) error {
	return item.CheckExpiry(t.schema.TTLAttribute, attributes[t.schema.TTLAttribute])
}

// expired reports whether an item's time has come, given its expiry. Like
// DynamoDB it takes only numbers for one. Less than 1 means that the item does
// not expire: DynamoDB does not delete items whose time is more than five years
// ago, so that a field left at its zero value keeps an item.
//
// AWS: "Using time to live (TTL) in DynamoDB", "How it works: DynamoDB Time to Live
// (TTL)" and "Computing time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
func (t *Table) expired(expiry item.Watched, now time.Time) bool {
	if t.schema.TTLAttribute == "" || expiry.Kind != item.N {
		return false
	}
	seconds, err := strconv.ParseFloat(string(expiry.Text), 64)
	return err == nil && seconds >= 1 && seconds <= float64(now.Unix())
}

// Expired reports whether an item had expired at a time, as reads see it.
func (t *Table) Expired(item Item, at time.Time) bool {
	return t.expired(watched(item, t.schema.TTLAttribute), at)
}

// Client is the part of the DynamoDB API that a [Table] uses. A
// *[dynamodb.Client] satisfies it, and so do the DAX client and wrappers.
//
// An implementation that retries by itself must take the Retryer it is given
// in its options into account: it is how a [Table] learns that a write was
// sent more than once. Items of an input can share attribute values: an implementation
// that encrypts replaces a value in its map, and never changes one. It must be safe for
// concurrent use.
//
// Code: aws-dax-go-v2, dax/api.go.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// api has the operations that a Table uses, of a client of any kind. searchVectors is nil for one
// without it.
type api struct {
	getItem            function[dynamodb.GetItemInput, dynamodb.GetItemOutput]
	batchGetItem       function[dynamodb.BatchGetItemInput, dynamodb.BatchGetItemOutput]
	transactGetItems   function[dynamodb.TransactGetItemsInput, dynamodb.TransactGetItemsOutput]
	query              function[dynamodb.QueryInput, dynamodb.QueryOutput]
	scan               function[dynamodb.ScanInput, dynamodb.ScanOutput]
	searchVectors      function[dynamodb.SearchVectorsInput, dynamodb.SearchVectorsOutput]
	putItem            function[dynamodb.PutItemInput, dynamodb.PutItemOutput]
	updateItem         function[dynamodb.UpdateItemInput, dynamodb.UpdateItemOutput]
	deleteItem         function[dynamodb.DeleteItemInput, dynamodb.DeleteItemOutput]
	batchWriteItem     function[dynamodb.BatchWriteItemInput, dynamodb.BatchWriteItemOutput]
	transactWriteItems function[dynamodb.TransactWriteItemsInput, dynamodb.TransactWriteItemsOutput]
}

// function is an operation of a client.
type function[In, Out any] = func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error)
