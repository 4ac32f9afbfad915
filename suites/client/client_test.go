// Package client_test has the SDK's client as programs make it, by config.LoadDefaultConfig, with
// what the environment can set. Its requests are replayed. A release of the SDK that ends that in
// silence fails here, and so does one that speaks another protocol.
package client_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/replay"
	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// environments are those in which programs run.
var environments = map[string]map[string]string{
	"a server": {},
	"Lambda": {
		"AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023", "AWS_LAMBDA_FUNCTION_NAME": "shop", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "LAMBDA_TASK_ROOT": "/var/task", "AWS_SESSION_TOKEN": "token",
		"_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
	},
	"an account":           {"AWS_ACCOUNT_ID": "123456789012", "AWS_ACCOUNT_ID_ENDPOINT_MODE": "preferred"},
	"defaults of a Region": {"AWS_DEFAULTS_MODE": "in-region", "AWS_SDK_UA_APP_ID": "shop"},
	"many attempts":        {"AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "standard"},
	"adaptive retries":     {"AWS_RETRY_MODE": "adaptive"},
}

// TestDefaultClient reads an item three times. The table learns from the first two requests.
func TestDefaultClient(t *testing.T) {
	spec := tabletest.New(t, schema.Table{}, nil).Schema()
	engine := aws.ToString(tabletest.Client(t).Options().BaseEndpoint)
	for name, variables := range environments {
		t.Run(name, func(t *testing.T) {
			client := load(t, engine, variables)
			known(t, client)
			var last table.Event
			tbl := expect.Value(table.New(client, spec, &table.Options{Observe: func(_ context.Context, e table.Event) { last = e }}))(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // as Lambda has it
			defer cancel()
			for range 3 {
				expect.Err(t, expect.ErrOf(table.Get[table.Item](ctx, tbl, keys.Key{PK: "A", SK: "B"})), table.ErrNotFound)
			}
			if last.Err != nil || !last.Replayed {
				t.Errorf("the third request of the client is not replayed: %+v\nClient.learn, in internal/replay, takes no template from its requests, or no two in a row are the same. "+
					"Print a request there. A header that differs each time belongs into varying; a signature is reproduced by Client.sign.", last)
			}
		})
	}
}

// load returns a client as a program makes it.
func load(t *testing.T, engine string, variables map[string]string) *dynamodb.Client {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_ENDPOINT_URL_DYNAMODB": engine, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	} {
		t.Setenv(name, value)
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
	return dynamodb.NewFromConfig(expect.Value(config.LoadDefaultConfig(t.Context()))(t))
}

// known ends the test if the library lets the client make all calls by itself, and says what to
// do about it.
func known(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	o := client.Options()
	if !response.Known(o.Protocol) {
		t.Fatalf("the protocol of the client is %T, and the library writes and reads %s: the SDK encodes and decodes all items, and nothing is replayed.\n"+
			"Write and read that protocol, too, in internal/item and response.Known; or give calls the known one in Table.installProtocol: awsjson.New10 is public.",
			o.Protocol, "awsJson1_0")
	}
	if replay.New(o) == nil {
		t.Fatalf("the client has an option that package replay does not know, so it makes all calls by itself. Look at what the option does to a request that succeeds, and "+
			"then add it to known in internal/replay/client.go, or change what plain expects of it. The options with a value:\n%s", options(o))
	}
}

// options lists the options that have a value, with their types and without what may be secret.
func options(o dynamodb.Options) string {
	var b strings.Builder
	for field, value := range reflect.ValueOf(o).Fields() {
		if value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		fmt.Fprintf(&b, "  %s: %v\n", field.Name, value.Type())
	}
	return b.String()
}
