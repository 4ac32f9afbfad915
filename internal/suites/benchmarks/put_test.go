package benchmarks_test

import (
	"testing"

	"github.com/singletable/singletable/internal/codec"
)

// TestMakePutAllocates bounds what writing an item allocates. It stands here since the
// race detector has pools drop what they are given.
func TestMakePutAllocates(t *testing.T) {
	v := &struct {
		Name, Text string
		N          int64
		F          float64
		Tags       []string
		Bytes      []byte
		At         *string
	}{"name", "text", 7, 1.5, []string{"a", "b"}, []byte("b"), nil}
	key := []codec.Attribute{{Name: "pk", Kind: codec.S, Text: "p"}, {Name: "sk", Kind: codec.S, Text: "s"}}
	n := testing.AllocsPerRun(100, func() {
		if _, ok := codec.MakePut(v, key, nil, nil); !ok {
			t.Error("not written")
		}
	})
	if n > 2 {
		t.Errorf("%v allocations, want the JSON and the Put", n)
	}
}
