package codec_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/internal/codec"
)

func TestRow(t *testing.T) {
	t.Parallel()
	var row codec.Row[sample]
	var filler codec.Filler = &row
	if p, ok := filler.Target().(*sample); !ok || p != &row.Value {
		t.Errorf("the target is a %T", filler.Target())
	}
	if got := row.Key("PK"); got != "" {
		t.Errorf("a key before there is one: %q", got)
	}
	filler.Fill(errLoud, []string{"PK", "SK"}, []string{"p", "s"}, 7)
	if !errors.Is(row.Refusal, errLoud) || row.Size != 7 || row.Key("PK") != "p" || row.Key("SK") != "s" || row.Key("no") != "" {
		t.Errorf("%+v", row)
	}
}
