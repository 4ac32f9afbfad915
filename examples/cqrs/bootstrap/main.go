// Bootstrap is the program of the Lambda functions: the one that the function's handler
// setting names, which Lambda hands down in _HANDLER.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/cqrs/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/internal/strictjson"
	"github.com/singletable/singletable/stream"
)

func main() { lambda.Main("cqrs", nil, load) }

// load returns the function that the environment names.
func load(ctx context.Context, log *slog.Logger) (any, error) {
	handler := os.Getenv("_HANDLER")
	if handler == "token" {
		return addTenant, nil
	}
	name := os.Getenv("TABLE_NAME")
	if name == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	app, err := setup.Open(ctx, name, os.Getenv, log)
	if err != nil {
		return nil, err
	}
	switch handler {
	case "api":
		return serve(app, nil, false)
	case "work":
		return consume(app.Service, log)
	case "resume":
		return func(ctx context.Context) (int, error) { return app.Service.Resume(ctx, idle) }, nil
	case "search", "project", "rebuild":
	default:
		return nil, fmt.Errorf("there is no handler %q: it is api, search, work, project, resume, rebuild or token", handler)
	}
	model, _, err := app.Model(ctx)
	if err != nil {
		return nil, err
	}
	switch handler {
	case "search":
		return serve(app, model, true)
	case "project":
		return consume(app.Service, log, app.Service.OnVersion(model.Apply))
	}
	return rebuilder{app.Service, model}.invoke, nil
}

// serve returns the function for the endpoints that need the relational read model, or for
// those that need the table.
func serve(app *setup.App, model *readmodel.Model, relational bool) (any, error) {
	// An instance handles one request at a time, whose address is in the event.
	served, _, err := app.API(model, nil)
	if err != nil {
		return nil, err
	}
	return lambda.New(served.HandlerOf(api.Routes(relational), nil)), nil
}

// idle is for how long a task has made no step if nobody does it any more.
const idle = 10 * time.Minute

// consume returns the function that gives changes to handlers.
func consume(service *core.Service, log *slog.Logger, handlers ...stream.Handler) (any, error) {
	router, err := service.Router(handlers...)
	return lambda.Stream(router, log), err
}

// rebuilder makes again what follows from the history.
type rebuilder struct {
	service *core.Service
	model   *readmodel.Model
}

// invoke makes the projection that the event names, as {"projection":"p2"}, of the read
// model. Without a name, it brings the data and the listings of the table up to the history.
func (r rebuilder) invoke(ctx context.Context, event json.RawMessage) (map[string]string, error) {
	var projection string
	if err := strictjson.Object(event, map[string]any{"projection": &projection}); err != nil {
		return nil, fmt.Errorf(`the event is not {"projection":"‹name›"} or {}: %w`, err)
	}
	if projection == "" {
		return map[string]string{"rebuilt": "data"}, r.service.Repair(ctx)
	}
	return map[string]string{"rebuilt": projection}, r.model.Rebuild(ctx, projection, r.service.Replay(ctx))
}

// addTenant is the trigger of the user pool that puts the tenant of a user into access
// tokens.
// AWS: "Pre token generation Lambda trigger", Amazon Cognito Developer Guide.
func addTenant(_ context.Context, event map[string]any) (map[string]any, error) {
	request, _ := event["request"].(map[string]any)
	attributes, _ := request["userAttributes"].(map[string]any)
	if tenant, ok := attributes[auth.TenantClaim].(string); ok {
		claims := map[string]any{"claimsToAddOrOverride": map[string]any{auth.TenantClaim: tenant}}
		event["response"] = map[string]any{"claimsAndScopeOverrideDetails": map[string]any{"accessTokenGeneration": claims}}
	}
	return event, nil
}
