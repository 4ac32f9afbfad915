package lambda

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
)

// Service is the name of the functions in their log.
const Service = "usage"

// NewLog returns the log of the functions.
func NewLog(w io.Writer, level slog.Leveler) *slog.Logger { return lambda.NewLog(w, Service, level) }

// Settings are what both functions take from the environment.
type Settings struct {
	// Level is LOG_LEVEL.
	Level slog.Level
	// Metering is TTL_DAYS and MAX_DATE_RANGE_DAYS.
	Metering metering.Options
}

// ReadSettings reads the environment. The error names every variable that is wrong.
func ReadSettings(getenv func(string) string) (Settings, error) {
	var s Settings
	var errs []error
	if text := getenv("LOG_LEVEL"); text != "" && s.Level.UnmarshalText([]byte(text)) != nil {
		errs = append(errs, errors.New("LOG_LEVEL is not debug, info, warn or error"))
	}
	days := func(name string) int {
		text := getenv(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < 1) {
			errs = append(errs, fmt.Errorf("%s is not a number of days", name))
		}
		return n
	}
	s.Metering = metering.Options{RetentionDays: days("TTL_DAYS"), RangeDays: days("MAX_DATE_RANGE_DAYS")}
	return s, errors.Join(errs...)
}

// Functions returns both functions on a table. They log failures.
func (s Settings) Functions(t *table.Table, log *slog.Logger) (count, query awslambda.Handler, err error) {
	consumer, err := metering.NewConsumer(t, &s.Metering)
	if err != nil {
		return nil, nil, fmt.Errorf("TTL_DAYS, MAX_DATE_RANGE_DAYS: %w", err)
	}
	reader, err := metering.NewReader(t, &s.Metering)
	if err != nil {
		return nil, nil, fmt.Errorf("TTL_DAYS, MAX_DATE_RANGE_DAYS: %w", err)
	}
	return lambda.Logged(NewConsumer(consumer, log), log), lambda.Logged(NewReader(reader), log), nil
}
