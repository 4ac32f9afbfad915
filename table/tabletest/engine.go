package tabletest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/subprocess"
)

// endpointVariable is the environment variable, the AWS SDK's own, that names a
// running engine. Where it is set, nothing is started.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// errNoEngine begins the error of [Start] when there is no engine to use and none can
// be installed.
var errNoEngine = errors.New("no DynamoDB engine")

// Options configures [Start]. The zero value is an engine in memory.
type Options struct {
	// Path is the file that keeps the data. It is created if it does not exist;
	// one engine at a time may use it. On Unix, Start gives it the mode 0600, also
	// if it exists with another mode, and so for the files with the suffixes -wal,
	// -shm and -journal. Empty means in memory. The path has no effect on an engine
	// that AWS_ENDPOINT_URL_DYNAMODB names.
	Path string
	// Port is the port of 127.0.0.1 to listen on. Zero means a free one, of a random
	// address of 127.0.0.0/8 if the system has these, as Linux has. A web page can try
	// all ports of one address, but not all addresses. Port is of no effect on an engine
	// that AWS_ENDPOINT_URL_DYNAMODB names.
	Port int
}

// Engine is a DynamoDB engine at an endpoint. It is safe for concurrent use.
type Engine struct {
	endpoint string
	creds    aws.Credentials
	http     *awshttp.BuildableClient
	process  *subprocess.Process // Nil if the engine was running already.
}

// startTimeout bounds the start of an installed engine, which takes some
// milliseconds on an idle machine.
const startTimeout = 20 * time.Second

// responseTimeout bounds the wait for an engine that runs already, which may be
// on the other side of the world.
const responseTimeout = 5 * time.Second

// maxPort is the greatest port there is.
const maxPort = 1<<16 - 1

// maxBackoff bounds the pauses of clients before they repeat a request.
const maxBackoff = 10 * time.Millisecond

// Start returns an engine: the one that AWS_ENDPOINT_URL_DYNAMODB names, or else one
// that it starts. The package documentation says where it comes from, and when it
// ends besides by [Engine.Close]. A started engine listens on this machine only, where
// every program and user can use it. ctx bounds the start, not the engine's life.
//
// Where no engine can be started, the text of the error says each way to get one. Where
// nothing responds at the variable's address, it names both.
func Start(ctx context.Context, opts *Options) (*Engine, error) {
	e := &Engine{
		creds: aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local", Source: "tabletest"},
		// The SDK's default keeps ten idle connections. A test of concurrent
		// writers would open and close the rest over and over.
		http: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = t.MaxIdleConns
		}),
	}
	var err error
	if named := os.Getenv(endpointVariable); named != "" {
		e.endpoint, err = named, e.probe(ctx, named)
		if id := os.Getenv("AWS_ACCESS_KEY_ID"); id != "" {
			e.creds = aws.Credentials{
				AccessKeyID:     id,
				SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
				SessionToken:    os.Getenv("AWS_SESSION_TOKEN"),
				Source:          "environment",
			}
		}
	} else {
		e.process, e.endpoint, err = run(ctx, cmp.Or(opts, &Options{}))
	}
	if err != nil {
		return nil, fmt.Errorf("tabletest: %w", err)
	}
	return e, nil
}

// probe returns nil if something responds at the endpoint that the environment names,
// whatever it says. Without it, each request to a wrong address would fail only after the
// SDK's retries.
func (e *Engine) probe(ctx context.Context, named string) error {
	u, err := url.Parse(named)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The value can hold a password.
		return fmt.Errorf("%s is not the URL of an engine, such as http://127.0.0.1:8000", endpointVariable)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, responseTimeout, fmt.Errorf("no response within %v", responseTimeout))
	defer cancel()
	if err := subprocess.Responds(ctx, e.http.Do, u.String()); err != nil {
		return fmt.Errorf("%w: nothing responds at %s=%s: %w; start the engine there, or unset the variable to have one started",
			errNoEngine, endpointVariable, u.Redacted(), cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

// run starts an installed engine, and returns its process and endpoint.
func run(ctx context.Context, opts *Options) (*subprocess.Process, string, error) {
	if opts.Port < 0 || opts.Port > maxPort {
		return nil, "", fmt.Errorf("Options.Port: %d is not 0 to %d", opts.Port, maxPort)
	}
	program, err := find(ctx)
	if err != nil {
		return nil, "", err
	}
	var path []string
	if opts.Path != "" {
		abs, err := filepath.Abs(opts.Path)
		if err != nil {
			return nil, "", err
		}
		if err := makePrivate(abs); err != nil {
			return nil, "", fmt.Errorf("Options.Path: %w", err)
		}
		path = []string{"--db-path", abs}
	}
	host := "127.0.0.1"
	if opts.Port == 0 {
		host = hiddenAddress()
	}
	server := subprocess.Server{
		Program: program,
		Args: func(port string) []string {
			return append([]string{"--host", host, "--port", port}, path...)
		},
		Says:    func(port string) string { return "listening on http://" + host + ":" + port },
		Host:    host,
		Port:    opts.Port,
		Timeout: startTimeout,
	}
	return server.Run(ctx)
}

// hiddenAddress returns a random address of 127.0.0.0/8 on which a program can listen,
// 127.0.0.1 if the system has no other.
func hiddenAddress() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // It never fails.
	ip := net.IPv4(127, b[0], b[1], 1+b[2]%254)
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip})
	if err != nil {
		return "127.0.0.1"
	}
	_ = l.Close()
	return ip.String()
}

// Endpoint returns the engine's URL, for AWS_ENDPOINT_URL_DYNAMODB or
// dynamodb.Options.BaseEndpoint.
func (e *Engine) Endpoint() string { return e.endpoint }

// Done returns a channel that is closed when an engine that [Start] has started
// has ended, by [Engine.Close] or by itself. It is nil for an engine that
// AWS_ENDPOINT_URL_DYNAMODB names, whose end nobody tells.
func (e *Engine) Done() <-chan struct{} {
	if e.process == nil {
		return nil
	}
	return e.process.Exited()
}

// Client returns a new client of the engine. Its region is AWS_REGION,
// AWS_DEFAULT_REGION or us-east-1. Its credentials are made up, except for an
// engine that AWS_ENDPOINT_URL_DYNAMODB names: there AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN count if set. A client of an
// engine that Start started repeats as often as the SDK's client by default, but
// waits milliseconds, since nobody else needs the engine to recover. Everything
// else is the SDK's default, for optFns to change:
//
//	var faults tabletest.Faults
//	client := engine.Client(faults.Install)
func (e *Engine) Client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	if e.process != nil {
		optFns = append([]func(*dynamodb.Options){hurry}, optFns...)
	}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(e.endpoint),
		Region:       cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return e.creds, nil
		}),
		HTTPClient: e.http,
	}, optFns...)
}

// hurry shortens the pauses of a client.
func hurry(o *dynamodb.Options) {
	if r, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = hurried{r}
	}
}

// hurried is the client's own retryer, without its long pauses.
type hurried struct{ aws.RetryerV2 }

func (r hurried) RetryDelay(attempt int, cause error) (time.Duration, error) {
	delay, err := r.RetryerV2.RetryDelay(attempt, cause)
	return min(delay, maxBackoff), err
}

// Close ends an engine that [Start] has started, and waits until its process is
// gone. The process is killed: what was in memory is lost, and what was
// acknowledged is in the file of [Options.Path], which a next Start reads. So
// Close followed by Start is also the test of a crash. Close may be called
// again. It does not stop an engine that AWS_ENDPOINT_URL_DYNAMODB names.
func (e *Engine) Close() error {
	if e.process != nil {
		e.process.Kill()
	}
	return nil
}
