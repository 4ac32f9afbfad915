package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table/tabletest"
)

// devToken returns where tokens come from: a server with -dev gives them to anyone.
func devToken(server string) func(string) (string, error) {
	return func(user string) (string, error) {
		resp, err := http.Get(server + "/dev/token?user=" + url.QueryEscape(user) + "&group=" + api.BackOffice)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		token, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return "", fmt.Errorf("no token, is it a server with -dev? status %d %w", resp.StatusCode, err)
		}
		return strings.TrimSpace(string(token)), nil
	}
}

// withServers calls do with the API and with a handler on the SDK alone. Both are
// in this process, and have tables of their own on one engine of their own.
func withServers(ctx context.Context, do func(servers ...*server) error) error {
	return program.WithEngine(ctx, "", func(engine *tabletest.Engine) error { return serve(ctx, engine.Client(), do) })
}

func serve(ctx context.Context, client *dynamodb.Client, do func(servers ...*server) error) error {
	for _, name := range []string{"LoadAppCore", "LoadSDK"} {
		if err := core.Schema(name).Ensure(ctx, client); err != nil {
			return err
		}
	}
	service, _, err := setup.Service(client, "LoadAppCore")
	if err != nil {
		return err
	}
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	keys := func(context.Context) error { return nil }
	appcore := &server{name: "appcore", token: func(user string) (string, error) { return issuer.Token(user, api.BackOffice) }}
	alone := &server{name: "SDK alone", token: func(user string) (string, error) { return user, nil }}

	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	for _, s := range []struct {
		*server
		handler http.Handler
	}{
		{appcore, api.New(service, keys, verifier, log, nil).Handler(nil)},
		{alone, sdkHandler(client, "LoadSDK")},
	} {
		ready := make(chan string, 1)
		go func() {
			ended <- httpapi.Serve(serving, "127.0.0.1:0", s.handler, log, func(url string) { ready <- url })
		}()
		select {
		case s.url = <-ready:
		case err := <-ended:
			stop()
			return err
		}
	}
	err = do(appcore, alone)
	stop()
	return errors.Join(err, <-ended, <-ended)
}
