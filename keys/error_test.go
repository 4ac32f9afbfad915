package keys_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
)

func TestErrorsHoldTheValueAndDoNotPrintIt(t *testing.T) {
	t.Parallel()
	const secret = "4111-1111"
	parse := func(key string) error {
		_, err := keys.Parse(key)
		return err
	}
	tests := map[string]struct {
		err  error
		want keys.Error
	}{
		"partition key": {
			keys.User.PK(secret, "").Validate(),
			keys.Error{Part: "partition key", Rule: "empty segment", Value: "USER#4111-1111#\xffempty"},
		},
		"sort key": {
			keys.Key{PK: "USER#u", SK: keys.Tx.SK(keys.Str(secret), keys.Int(-1, 2))}.Validate(),
			keys.Error{Part: "sort key", Rule: "negative number", Value: "TX#4111-1111#\xffnegative"},
		},
		"text after a bad byte": {
			keys.User.PK("\xff" + secret).Validate(),
			keys.Error{Part: "partition key", Rule: "invalid UTF-8", Value: "USER#\xff4111-1111"},
		},
		"prefix of a range": {
			keys.Range{Prefix: secret, To: "~"}.Validate(),
			keys.Error{Part: "range", Rule: "prefix together with bounds", Value: "4111-1111"},
		},
		"bound of a range": {
			keys.Range{From: "A", To: secret + "\xff"}.Validate(),
			keys.Error{Part: "range", Rule: "invalid UTF-8", Value: "4111-1111\xff"},
		},
		"parsed key": {
			parse("USER#" + secret + " "),
			keys.Error{Part: "key", Rule: "byte that is not escaped, or a malformed escape", Value: "USER#4111-1111 "},
		},
		"parsed time": {
			second(keys.Parts{"TX", secret}.Time(1)),
			keys.Error{Part: "segment 1", Rule: "not a time", Value: secret},
		},
		"parsed number": {
			second(keys.Parts{"TX", secret}.Int(1)),
			keys.Error{Part: "segment 1", Rule: "not a number", Value: secret},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := errors.AsType[*keys.Error](tt.err)
			if !ok || !errors.Is(tt.err, keys.ErrInvalid) {
				t.Fatalf("got error %v, want a *keys.Error that matches ErrInvalid", tt.err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got, want := tt.err.Error(), "keys: invalid "+tt.want.Part+": "+tt.want.Rule; got != want {
				t.Errorf("message %q, want %q", got, want)
			}
			for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
				if text := fmt.Sprintf(verb, fmt.Errorf("put: %w", tt.err)); strings.Contains(text, secret) {
					t.Errorf("%s prints the value: %s", verb, text)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }
