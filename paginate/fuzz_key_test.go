package paginate_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// FuzzParseKeys reads arbitrary text as a keyring. What is read is a ring that
// can be written again, and no error holds a part of the text.
func FuzzParseKeys(f *testing.F) {
	one := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789ABCDEF"))
	two := base64.StdEncoding.EncodeToString([]byte("\xff\xfe\xfd0123456789abcdef0123456789ABC"))
	for _, text := range append([]string{
		" \n", ",", one, one + "," + two, " " + one + " ,\n" + two + "\n", one + "," + one, one + ",",
		strings.TrimRight(one, "="), repeated("\xff"), repeated("\x00\xff"),
		base64.StdEncoding.EncodeToString([]byte("31 bytes, which is one too few.")), one[:43] + "B", "\x00" + one,
		strings.Repeat(one+",", 100) + two, strings.Repeat("A", 5000),
	}, expect.Nasty()...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := paginate.ParseKeys(text)
		if err != nil {
			if keys != nil {
				t.Errorf("%d keys beside %v", len(keys), err)
			}
			for field := range strings.SplitSeq(text, ",") {
				// Short fields occur in the message by chance.
				if field = strings.TrimSpace(field); len(field) > 20 && strings.Contains(err.Error(), field) {
					t.Errorf("%v holds what it is about", err)
				}
			}
			return
		}
		var fields []string
		ids := map[string]bool{}
		for field := range strings.SplitSeq(text, ",") {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(field))
			if err != nil || len(raw) != 32 {
				t.Fatalf("ParseKeys takes field %d, which is not the base64 of 32 bytes", len(fields)+1)
			}
			k := keys[len(fields)]
			fields = append(fields, base64.StdEncoding.EncodeToString(raw))
			if printed := fmt.Sprintf("%v %+v %#v %s %q %x", k, k, k, k, k, k); strings.Contains(printed, fields[len(fields)-1]) {
				t.Errorf("a key is printed as %s", printed)
			}
			ids[k.ID()] = true
		}
		if len(fields) != len(keys) {
			t.Fatalf("%d keys of %d fields", len(keys), len(fields))
		}
		again, err := paginate.ParseKeys(strings.Join(fields, ","))
		if err != nil || len(again) != len(keys) || again[0].ID() != keys[0].ID() {
			t.Fatalf("written again: %d keys, %v", len(again), err)
		}
		c, err := paginate.New(keys, nil)
		if (err == nil) != (len(ids) == len(keys)) {
			t.Fatalf("New of %d keys with %d ids: %v", len(keys), len(ids), err)
		}
		if err == nil {
			checkOpens(t, c, seal(t, c, txPosition, scope), scope, txPosition)
		}
	})
}
