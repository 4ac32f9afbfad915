package table_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// wire is an HTTP client without a network. It keeps the requests, and responds by the next
// fault in line, and otherwise by always, or with success. Use its tables with signed.
type wire struct {
	mu     sync.Mutex
	always tabletest.Fault
	line   []tabletest.Fault
	sent   []sent
}

// sent is a request as the HTTP client has got it.
type sent struct {
	*http.Request
	body []byte
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.sent = append(w.sent, sent{r.Clone(r.Context()), body})
	fault := w.always
	if fault == nil {
		fault = succeed
	}
	if len(w.line) > 0 {
		fault, w.line = w.line[0], w.line[1:]
	}
	w.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return fault(r, nil)
}

// next lines up faults. After them, all requests succeed.
func (w *wire) next(faults ...tabletest.Fault) { w.line, w.always = faults, nil }

func (w *wire) last() sent { return w.sent[len(w.sent)-1] }

// options are those of a client that signs its requests, and sends them by the wire.
func (w *wire) options(settings ...func(*dynamodb.Options)) dynamodb.Options {
	o := dynamodb.Options{Region: "eu-west-1", HTTPClient: w, Credentials: &keyring{creds: own}}
	for _, set := range settings {
		set(&o)
	}
	return o
}

func (w *wire) table(tb testing.TB, o *table.Options, settings ...func(*dynamodb.Options)) *table.Table {
	return expect.Value(table.New(dynamodb.New(w.options(settings...)), searchable(), o))(tb)
}

// bySDK is the option of a table without replay.
var bySDK = &table.Options{DisableReplay: true}

var own = aws.Credentials{AccessKeyID: "AKIDOWN", SecretAccessKey: "secret", Source: "test"}

// keyring is a provider of credentials that counts its calls. It is not for concurrent use.
type keyring struct {
	creds   aws.Credentials
	err     error
	calls   int
	sources []aws.CredentialSource
	asked   func() // nil: nothing
}

func (k *keyring) Retrieve(context.Context) (aws.Credentials, error) {
	k.calls++
	if k.asked != nil {
		k.asked()
	}
	return k.creds, k.err
}

func (k *keyring) ProviderSources() []aws.CredentialSource { return k.sources }

// eachOperation has a call for each operation that a table sends.
func eachOperation(tbl *table.Table) map[string]func(context.Context) error {
	calls := everyCall(tbl)
	return map[string]func(context.Context) error{
		"GetItem": calls["Get"], "BatchGetItem": calls["BatchGet"], "TransactGetItems": calls["TransactGet"],
		"Query": calls["QueryPage"], "Scan": calls["ScanPage"], "SearchVectors": calls["SearchVectors"],
		"PutItem": calls["Put"], "BatchWriteItem": calls["BatchWrite"], "TransactWriteItems": calls["Transact"],
		"UpdateItem": func(ctx context.Context) error { return tbl.Do(ctx, table.Patch(user, table.Item{"n": num("1")})) },
		"DeleteItem": func(ctx context.Context) error { return tbl.Do(ctx, table.Delete(user)) },
	}
}

// succeeds makes calls that succeed, and returns which requests were replayed.
func succeeds(t *testing.T, n int, call func(context.Context) error) (replayed []bool) {
	t.Helper()
	ctx := table.WithObserver(t.Context(), func(_ context.Context, e table.Event) { replayed = append(replayed, e.Replayed) })
	for range n {
		if err := call(ctx); err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Error(err)
		}
	}
	return replayed
}

// withoutReplay and learned are what succeeds returns for three calls.
var (
	withoutReplay = []bool{false, false, false}
	learned       = []bool{false, false, true}
)

// TestReplays fails if the requests of a usual client are no longer replayed, as after a change
// of the SDK. It holds for the version in go.mod, and .ci/newest runs it with the newest one.
func TestReplays(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*wire) *dynamodb.Client{
		"New": func(w *wire) *dynamodb.Client { return dynamodb.New(w.options()) },
		"NewFromConfig": func(w *wire) *dynamodb.Client {
			return dynamodb.NewFromConfig(aws.Config{
				Region: "eu-west-1", HTTPClient: w, Credentials: aws.NewCredentialsCache(&keyring{creds: own}),
				DefaultsMode: aws.DefaultsModeStandard, AppID: "shop", RetryMode: aws.RetryModeAdaptive,
			})
		},
	} {
		w := &wire{}
		tbl := expect.Value(table.New(client(w), searchable(), nil))(t)
		for operation, call := range eachOperation(tbl) {
			equal(t, name+", "+operation, succeeds(t, 3, call), learned)
		}
		equal(t, name+": requests", len(w.sent), 3*11)
		// Views of a table share what was learned.
		equal(t, name+", a view", succeeds(t, 1, everyCall(tbl.Consistent())["Get"]), []bool{true})
	}
}

// wrappedClient is a client of another kind.
type wrappedClient struct{ *dynamodb.Client }

// meters and tracers are not those that do nothing.
type meters struct{ metrics.NopMeterProvider }

type tracers struct{ tracing.NopTracerProvider }

// signer, resolver and authenticator do what the SDK's do.
type (
	signer        struct{ *v4.Signer }
	resolver      struct{ dynamodb.EndpointResolverV2 }
	authenticator struct{ dynamodb.AuthSchemeResolver }
)

// foreignSigner has a secret of its own.
type foreignSigner struct{ *v4.Signer }

func (f foreignSigner) SignHTTP(
	ctx context.Context, creds aws.Credentials, r *http.Request, hash, service, region string, at time.Time, o ...func(*v4.SignerOptions),
) error {
	creds.SecretAccessKey = "another"
	return f.Signer.SignHTTP(ctx, creds, r, hash, service, region, at, o...)
}

// TestUnknownOption shows that a client with anything between a call and HTTP makes all calls.
func TestUnknownOption(t *testing.T) {
	t.Parallel()
	usual := dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: &keyring{creds: own}}).Options()
	for name, set := range map[string]func(*dynamodb.Options){
		"APIOptions":    func(o *dynamodb.Options) { idle(o) },
		"Interceptors":  func(o *dynamodb.Options) { o.Interceptors.AddBeforeExecution(&inputItems{}) },
		"ClientLogMode": func(o *dynamodb.Options) { o.ClientLogMode = aws.LogRetries },
		"EnableAcceptEncodingGzip": func(o *dynamodb.Options) {
			o.EnableAcceptEncodingGzip = true
		},
		"EndpointResolver": func(o *dynamodb.Options) {
			o.EndpointResolver = dynamodb.EndpointResolverFromURL("http://127.0.0.1:1") //nolint:staticcheck // which clients still have
		},
		"EndpointResolverV2": func(o *dynamodb.Options) {
			o.EndpointResolverV2 = resolver{dynamodb.NewDefaultEndpointResolverV2()}
		},
		"AuthSchemes":          func(o *dynamodb.Options) { o.AuthSchemes = append(usual.AuthSchemes, usual.AuthSchemes...) },
		"AuthSchemeResolver":   func(o *dynamodb.Options) { o.AuthSchemeResolver = authenticator{usual.AuthSchemeResolver} },
		"AuthSchemePreference": func(o *dynamodb.Options) { o.AuthSchemePreference = []string{"sigv4"} },
		"HTTPSignerV4":         func(o *dynamodb.Options) { o.HTTPSignerV4 = signer{v4.NewSigner()} },
		"MeterProvider":        func(o *dynamodb.Options) { o.MeterProvider = meters{} },
		"TracerProvider":       func(o *dynamodb.Options) { o.TracerProvider = tracers{} },
		"Credentials":          func(o *dynamodb.Options) { o.Credentials = aws.AnonymousCredentials{} },
		"Retryer":              func(o *dynamodb.Options) { o.Retryer = struct{ aws.Retryer }{aws.NopRetryer{}} },
	} {
		w := &wire{}
		call := everyCall(w.table(t, nil, set))["Get"]
		equal(t, name, succeeds(t, 3, call), withoutReplay)
		equal(t, name+": requests", len(w.sent), 3)
	}
	w := &wire{}
	discovers := w.table(t, nil, func(o *dynamodb.Options) {
		o.EndpointDiscovery.EnableEndpointDiscovery = aws.EndpointDiscoveryEnabled
		o.BaseEndpoint = aws.String("http://127.0.0.1:1")
	})
	equal(t, "EndpointDiscovery", succeeds(t, 3, everyCall(discovers)["Get"]), withoutReplay)
	other := dynamodb.New(w.options(), func(o *dynamodb.Options) { o.Protocol = otherProtocol{o.Protocol} })
	tbl := expect.Value(table.New(other, appCore(), nil))(t)
	equal(t, "Protocol", succeeds(t, 3, everyCall(tbl)["Get"]), withoutReplay)
	wrapped := dynamodb.New(w.options(), func(o *dynamodb.Options) { o.Protocol = struct{ smithyhttp.ClientProtocol }{o.Protocol} })
	tbl = expect.Value(table.New(wrapped, appCore(), nil))(t)
	equal(t, "a wrapped protocol", succeeds(t, 3, everyCall(tbl)["Get"]), withoutReplay)
	tbl = expect.Value(table.NewWithClient(wrappedClient{dynamodb.New(w.options())}, appCore(), nil))(t)
	equal(t, "a wrapper", succeeds(t, 3, everyCall(tbl)["Get"]), withoutReplay)
	tbl = expect.Value(table.NewWithClient(dynamodb.New(w.options()), appCore(), nil))(t)
	equal(t, "the SDK's client, NewWithClient", succeeds(t, 3, everyCall(tbl)["Get"]), learned)
	equal(t, "DisableReplay", succeeds(t, 3, everyCall(w.table(t, bySDK))["Get"]), withoutReplay)
}

// TestForeignSignature shows that no template is made of a request whose signature is not that of
// the client's signer.
func TestForeignSignature(t *testing.T) {
	t.Parallel()
	w := &wire{}
	foreign := dynamodb.New(w.options(func(o *dynamodb.Options) { o.HTTPSignerV4 = foreignSigner{v4.NewSigner()} })).Options()
	tbl := w.table(t, nil, func(o *dynamodb.Options) { o.AuthSchemes = foreign.AuthSchemes })
	equal(t, "replayed", succeeds(t, 3, everyCall(tbl)["Get"]), withoutReplay)
	for _, r := range w.sent {
		if r.Header.Get("Authorization") == signature(t, r, own) {
			t.Error("the signature is not foreign")
		}
	}
}

// TestTwoRequestsAgree shows that a request is replayed after two in a row that were the same,
// and that the SDK's client sends one each hour, from which the later ones are made.
func TestTwoRequestsAgree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, ring := &wire{}, &keyring{creds: own}
		call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.Credentials = ring }))["Get"]
		check := func(what string, want ...bool) {
			t.Helper()
			equal(t, what, succeeds(t, len(want), call), want)
		}
		check("the first", false)
		ring.sources = []aws.CredentialSource{aws.CredentialSourceCode}
		before := w.last().UserAgent()
		check("after a change", false, false, true)
		after := w.last().UserAgent()
		if before == after {
			t.Fatalf("User-Agent is still %s", after)
		}
		ring.sources = nil
		check("a change that does not show", true)
		equal(t, "User-Agent", w.last().UserAgent(), after)
		time.Sleep(time.Hour + time.Second)
		check("an hour later", false, false, true)
		equal(t, "User-Agent", w.last().UserAgent(), before)
		time.Sleep(time.Hour + time.Second)
		check("another hour later, without a change", false, true)
	})
}

// TestTablesOfOneClient shows that two tables of one client share nothing that was learned.
func TestTablesOfOneClient(t *testing.T) {
	t.Parallel()
	w := &wire{}
	client := dynamodb.New(w.options())
	for _, name := range []string{"AppCore", "Other"} {
		tbl := expect.Value(table.New(client, schema.Table{Name: name}, nil))(t)
		equal(t, name, succeeds(t, 3, everyCall(tbl)["Get"]), learned)
		if !bytes.Contains(w.last().body, []byte(`"`+name+`"`)) {
			t.Errorf("%s: body %s", name, w.last().body)
		}
	}
}

// TestConcurrentReplays learns and replays in many goroutines.
func TestConcurrentReplays(t *testing.T) {
	t.Parallel()
	w := &wire{}
	tbl := w.table(t, nil, func(o *dynamodb.Options) { o.Credentials = aws.NewCredentialsCache(o.Credentials) })
	calls := eachOperation(tbl)
	expect.OK(t, inParallel(8, func(int) error {
		for _, call := range calls {
			for range 4 {
				if err := call(t.Context()); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
			}
		}
		return nil
	}))
	for _, r := range w.sent {
		equal(t, "Authorization", r.Header.Get("Authorization"), signature(t, r, own))
	}
	for operation, call := range calls {
		equal(t, operation, succeeds(t, 1, call), []bool{true})
	}
}
