package replay

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/singletable/singletable/internal/response"
)

// Client replays the requests of one client of the SDK to one table. It is safe for
// concurrent use. Get one from [New].
type Client struct {
	options dynamodb.Options
	retryer aws.RetryerV2
	// templates has a *template for each operation.
	templates sync.Map
	// skew is how far the clock of DynamoDB is ahead of ours, in nanoseconds.
	skew atomic.Int64
	off  atomic.Bool
	// alike means that a form was refused of the client's own request, too, and that nothing
	// has succeeded since.
	alike atomic.Bool
}

// New returns a Client, nil if something of others may stand between a call of the SDK's client
// and HTTP.
func New(o dynamodb.Options) *Client {
	if !plain(&o) || !response.Known(o.Protocol) {
		return nil
	}
	retryer, ok := o.Retryer.(aws.RetryerV2)
	if !ok {
		return nil
	}
	return &Client{options: o, retryer: retryer}
}

// plain reports whether a client has only what shows in its requests, or takes no part in
// those that succeed.
func plain(o *dynamodb.Options) bool {
	_, unmetered := o.MeterProvider.(metrics.NopMeterProvider)
	_, untraced := o.TracerProvider.(*tracing.NopTracerProvider)
	_, signs := o.HTTPSignerV4.(*v4.Signer)
	_, serializes := o.Protocol.(*awsjson.Protocol)
	options := reflect.ValueOf(o).Elem()
	for field, value := range options.Fields() {
		//mutants:guard an option of the SDK that is unknown here turns replay off | TestUnknownOption ./table
		if !slices.Contains(known[:], field.Name) && !empty(value) {
			return false
		}
	}
	return unmetered && untraced && signs && serializes && o.Credentials != nil && o.Retryer != nil &&
		o.EndpointDiscovery.EnableEndpointDiscovery != aws.EndpointDiscoveryEnabled &&
		reflect.TypeOf(o.EndpointResolverV2) == reflect.TypeOf(dynamodb.NewDefaultEndpointResolverV2()) &&
		reflect.TypeOf(o.AuthSchemeResolver).String() == "*dynamodb.withAnonymous" &&
		len(o.AuthSchemes) == 1 && reflect.TypeOf(o.AuthSchemes[0]).String() == "*auth.HTTPAuthScheme"
}

// known are the options that may have a value: they show in requests, from which templates are
// made, or are looked at in plain, or matter only to what the SDK's client does after a
// failure. All others, also those of later releases of the SDK, have to be empty.
var known = [...]string{
	"AccountIDEndpointMode", "AppID", "BaseEndpoint", "Credentials", "DefaultsMode", "DisableClockSkewCorrection",
	"DisableValidateResponseChecksum", "EndpointOptions", "IdempotencyTokenProvider", "Logger", "Region",
	"RetryMaxAttempts", "RetryMode", "Retryer", "RuntimeEnvironment", "resolvedDefaultsMode", "HTTPClient",
	"EndpointDiscovery", "EndpointResolverV2", "HTTPSignerV4", "MeterProvider", "TracerProvider",
	"Protocol", "AuthSchemeResolver", "AuthSchemes",
}

// empty reports whether an option has no value; a struct, whether none of its fields has one.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !empty(field) {
				return false
			}
		}
		return true
	default:
		return v.IsZero()
	}
}

// observe takes the time of a response, which has come at that time, for the clock of DynamoDB,
// as the SDK does. Code: aws-sdk-go-v2, aws/middleware/middleware.go.
func (c *Client) observe(r receipt, begun, at time.Time) {
	const longest = 15 * time.Minute
	if r.err != nil || r.response == nil || c.options.DisableClockSkewCorrection {
		return
	}
	server, err := smithyhttp.ParseTime(r.response.Header.Get("Date"))
	if err != nil || r.response.Header.Get("Age") != "" || at.Sub(begun) > longest {
		return
	}
	c.skew.Store(int64(server.Sub(at)))
}

// Again reports whether DynamoDB has refused the form of a request that was sent by a
// template: the fault can be the template's, unless the client's own request was refused as
// well and nothing has succeeded since.
func (c *Call) Again(err error) bool {
	//mutants:guard a request that the client has made is not sent again | TestRefusedFormWithinTheBudget ./table | !c.later && =>
	return c.sent && !c.later && !c.client.alike.Load() && slices.Contains(formal[:], refusal(err))
}

// Judge is given what came of the same request when the SDK's client has sent it by itself. After
// another response of DynamoDB there are no more replays. No response, as after the end of
// the context, tells nothing, nor does one that DynamoDB is too busy.
func (c *Call) Judge(before, err error) {
	code, was := refusal(err), refusal(before)
	//mutants:guard replay goes off where the SDK gets another response | TestRefusedForm ./table
	if err == nil || code != "" && code != was && !response.Throttled(code) {
		c.client.off.Store(true)
	}
	c.client.alike.Store(code == was)
}

// formal are the codes of errors about the form of a request. AWS: "Common Errors",
// Amazon DynamoDB API Reference.
var formal = [...]string{
	"SerializationException", "UnknownOperationException", "IncompleteSignatureException",
	"MissingAuthenticationTokenException", "InvalidSignatureException",
}

// refusal returns the code of DynamoDB's own refusal, with its request id. It is "" for all other errors.
func refusal(err error) string {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return ""
	}
	received, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || received.ServiceRequestID() == "" {
		return ""
	}
	if status := received.HTTPStatusCode(); status >= 500 || status == response.StatusRequestTimeout {
		return ""
	}
	return api.ErrorCode()
}
