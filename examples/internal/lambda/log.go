package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// requestKey is the attribute of each line that has the id of a request.
const requestKey = "requestId"

// NewLog returns a log of JSON lines. Each has "service", and "requestId": the line's own,
// such as that of an HTTP request, or the invocation's, or "" for what belongs to none,
// such as the program's start. A nil level is [slog.LevelInfo].
func NewLog(w io.Writer, service string, level slog.Leveler) *slog.Logger {
	lines := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	return slog.New(requestHandler{lines}).With(slog.String("service", service))
}

// RequestID returns the id of an invocation, or "" outside of one.
func RequestID(ctx context.Context) string {
	if about, ok := lambdacontext.FromContext(ctx); ok {
		return about.AwsRequestID
	}
	return ""
}

// requestHandler adds the request id of the context to lines without one.
type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	named := false
	r.Attrs(func(a slog.Attr) bool {
		named = a.Key == requestKey
		return !named
	})
	if !named {
		r = r.Clone()
		r.AddAttrs(slog.String(requestKey, RequestID(ctx)))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}

// Logged returns a function as a handler that logs its errors and panics. A handler of
// Logged is returned as it is.
func Logged(function any, log *slog.Logger) awslambda.Handler {
	if l, ok := function.(logged); ok {
		return l
	}
	return logged{awslambda.NewHandler(function), log}
}

type logged struct {
	handler awslambda.Handler
	log     *slog.Logger
}

// Invoke invokes the function.
func (l logged) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	defer func() {
		if p := recover(); p != nil {
			l.log.ErrorContext(ctx, "invocation panicked", slog.String("error", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			panic(p) // Lambda starts a new process
		}
	}()
	response, err := l.handler.Invoke(ctx, event)
	if err != nil {
		l.log.ErrorContext(ctx, "invocation failed", slog.Any("error", err))
	}
	return response, err
}

// LibraryLog is where package log of the standard library should write to, with
// which the Lambda library logs. The library prints the error of each failed
// invocation, without a request id. [Logged] has logged it, so it is repeated at
// the level of debugging only.
func LibraryLog(log *slog.Logger) io.Writer { return libraryLog{log} }

type libraryLog struct{ log *slog.Logger }

func (l libraryLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	var failure struct {
		Message *string `json:"errorMessage"`
	}
	if json.Unmarshal(line, &failure) == nil && failure.Message != nil {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
