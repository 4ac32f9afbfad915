package lambda

import (
	"context"
	stdlog "log"
	"log/slog"
	"os"

	awslambda "github.com/aws/aws-lambda-go/lambda"
)

// Main is the func main of the program of a service's functions. It loads the function
// that the environment names, a handler or func of aws-lambda-go, and gives Lambda's events
// to it. It does not return. A program that cannot load its function exits with status 1.
// The program's log goes to the standard output, see [NewLog], and so does what the Lambda
// library and the standard library log. Failed invocations and panics are logged.
func Main(service string, level slog.Leveler, load func(context.Context, *slog.Logger) (any, error)) {
	log := NewLog(os.Stdout, service, level)
	stdlog.SetFlags(0)
	stdlog.SetOutput(LibraryLog(log))
	function, err := load(context.Background(), log)
	if err != nil {
		log.Error("the function does not start", slog.Any("error", err))
		os.Exit(1)
	}
	awslambda.Start(Logged(function, log))
}
