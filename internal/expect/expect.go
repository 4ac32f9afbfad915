// Package expect holds the few checks that the tests of this repository share.
package expect

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends the test if err is not nil.
func OK(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Value returns a function that returns v, or ends the test if err is not nil:
//
//	page := expect.Value(table.QueryPage[note](ctx, tbl, q))(t)
func Value[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		OK(tb, err)
		return v
	}
}

// ErrOf returns the error of a call that returns a value, too.
func ErrOf[T any](_ T, err error) error { return err }

// Equal fails the test if got is not what is wanted.
func Equal[T any](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Err fails the test if err is nil, or does not match all of want.
func Err(tb testing.TB, err error, want ...error) {
	tb.Helper()
	if err == nil {
		tb.Errorf("no error; want one %v", want)
		return
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			tb.Errorf("error %v; want %v", err, w)
		}
	}
}

// NotErr fails the test if err matches one of targets.
func NotErr(tb testing.TB, err error, targets ...error) {
	tb.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			tb.Errorf("error %v; it must not be %v", err, target)
		}
	}
}

// Unwinds fails the test unless a call ends its goroutine as the function does that the
// call is given: by a panic, and by [runtime.Goexit].
func Unwinds(tb testing.TB, what string, call func(unwind func())) {
	tb.Helper()
	for _, want := range []error{errors.New("injected"), nil} {
		unwind := func() { panic(want) }
		if want == nil {
			unwind = runtime.Goexit
		}
		panicked, returned := make(chan any), false
		go func() {
			defer func() { panicked <- recover() }()
			call(unwind)
			returned = true
		}()
		got := <-panicked
		if err, _ := got.(error); !errors.Is(err, want) || (got == nil) != (want == nil) || returned {
			tb.Errorf("%s: panic with %v, returned %v; want a panic with %v", what, got, returned, want)
		}
	}
}

// Response returns a response of DynamoDB with that status, kind of error and body.
func Response(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Errortype": {kind}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// Nasty returns texts that are no good as one thing or another, as seeds of fuzz targets.
func Nasty() []string {
	return []string{
		"", "a", "#", "TX#", "TX#%23", "%2", "\x00", "\xff", "é日🙂", "a.b[0]", ":v", "#n", " ", "USER#u-123",
		"12345678901234567890123456789012345678901", "-0.5", "1e3", strings.Repeat("x", 1025), strings.Repeat("9", 300),
		"\r\n\t\x7f \"\\", "a#b##c", "%23%2%zz%", "a\xff\xc3(\xed\xa0\x80", "\U0010FFFF\u202e\ufeff", strings.Repeat("x", 2100),
	}
}

// Update is the flag -update: a test writes what it otherwise compares with.
var Update = flag.Bool("update", false, "write the files that tests compare with")

// Golden compares a text with a file of testdata. With the flag -update, it writes the
// file instead.
func Golden(tb testing.TB, file, got string) {
	tb.Helper()
	path := filepath.Join("testdata", file)
	if *Update {
		OK(tb, os.WriteFile(path, []byte(got), 0o644))
	}
	Equal(tb, path+", which -update writes", got, string(Value(os.ReadFile(path))(tb)))
}
