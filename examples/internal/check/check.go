// Package check holds what the tests of the examples expect of values and errors.
package check

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends the test unless all errors are nil.
func OK(tb testing.TB, errs ...error) {
	tb.Helper()
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// Must returns the value of a call, and ends the test if it had an error:
//
//	order := check.Must(s.order(ctx, "o-1"))(t)
func Must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		OK(tb, err)
		return v
	}
}

// Err returns the error of a call, for [Is].
func Err[T any](_ T, err error) error { return err }

// Is fails the test unless the error matches the one that is wanted, nil for none.
// What was done is told by about, if that is not plain.
func Is(tb testing.TB, err, want error, about ...any) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%serror %v, want %v", prefix(about), err, want)
	}
}

// Equal fails the test unless both values are equal.
func Equal[T any](tb testing.TB, what string, got, want T, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Together calls a function n times at the same time, with 0 to n-1.
func Together(n int, do func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	group.Wait()
}

// Errors calls a function as [Together] does, and returns the errors.
func Errors(n int, do func(i int) error) []error {
	errs := make([]error, n)
	Together(n, func(i int) { errs[i] = do(i) })
	return errs
}

func prefix(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return fmt.Sprint(about...) + ": "
}
