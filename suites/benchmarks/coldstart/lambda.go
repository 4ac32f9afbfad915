package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// event is a request without a token, which the function refuses: the keys of
// tokens are Cognito's, and not here.
const event = `{"version":"2.0","rawPath":"/transactions/tx-1","requestContext":{"http":{"method":"GET","path":"/transactions/tx-1"}}}`

// lambda measures the function of examples/appcore: from its start until it asks
// for the first event, and from the event to the response.
func lambda(ctx context.Context, dir string, runs int) error {
	path := filepath.Join(dir, "bootstrap")
	if _, err := compile(ctx, path, module+"/examples/appcore/lambda/bootstrap"); err != nil {
		return err
	}
	var ready, first []float64
	for range runs {
		started, responded, err := invoke(ctx, path)
		if err != nil {
			return err
		}
		ready, first = append(ready, milliseconds(started)), append(first, milliseconds(responded))
	}
	fmt.Printf("\nThe Lambda function of examples/appcore: initialization %s ms, first response %s ms\n", spread(ready), spread(first))
	return nil
}

// invoke starts the function once and sends it one event, as the Lambda Runtime
// API does. AWS: "Using the Lambda runtime API for custom runtimes", AWS Lambda
// Developer Guide.
func invoke(ctx context.Context, path string) (ready, responded time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	asked, response := make(chan time.Time, 1), make(chan string, 1)
	var given time.Time
	runtime := http.NewServeMux()
	runtime.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- time.Now():
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			given = time.Now()
			_, _ = io.WriteString(w, event)
		default:
			<-r.Context().Done() // there is one event only
		}
	})
	runtime.HandleFunc("POST /2018-06-01/runtime/invocation/1/response", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		responded = time.Since(given)
		w.WriteHeader(http.StatusAccepted)
		response <- string(body)
	})
	server := httptest.NewServer(runtime)
	defer server.Close()

	var output strings.Builder
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"),
		"TABLE_NAME=AppCore", "AWS_REGION=eu-west-1", "COGNITO_USER_POOL_ID=eu-west-1_AbCdEfGhI", "COGNITO_CLIENT_ID=client",
		"CURSOR_KEYS_SECRET=keys", "_HANDLER=getTransaction", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	cmd.Stdout, cmd.Stderr = &output, &output
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case body := <-response:
		ready = (<-asked).Sub(begun)
		cancel()
		if err := <-ended; err == nil {
			return 0, 0, errors.New("the function ended by itself")
		}
		if !strings.Contains(body, `"statusCode":401`) {
			return 0, 0, fmt.Errorf("the function responds %s", body)
		}
		return ready, responded, nil
	case err := <-ended:
		return 0, 0, fmt.Errorf("the function ended: %w\n%s", errors.Join(err, ctx.Err()), &output)
	}
}
