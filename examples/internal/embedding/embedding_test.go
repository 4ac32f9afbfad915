package embedding_test

import (
	"math"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/embedding"
)

const dimensions = 64

// distance is that of COSINE, from 0 to 2.
func distance(a, b []float32) float64 {
	d := 1.0
	for i := range a {
		d -= float64(a[i]) * float64(b[i])
	}
	return d
}

func TestVectorsHaveLengthOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Desk lamp", "Öl", "机", "", "—", "a a a a"} {
		v := embedding.Of(text, dimensions)
		if self := distance(v, v); len(v) != dimensions || math.Abs(self) > 1e-6 {
			t.Errorf("%q: %d numbers, distance to itself %v", text, len(v), self)
		}
	}
}

func TestTextsWithTheSameWordsAreNear(t *testing.T) {
	t.Parallel()
	of := func(text string) []float32 { return embedding.Of(text, dimensions) }
	lamp := of("Desk lamp")
	check.Equal(t, "case and punctuation", of("desk — LAMP!"), lamp)
	for _, c := range [][2]string{{"Floor lamp", "Spade"}, {"Lamps", "Bowl"}, {"Desk, oak", "Garden hose"}} {
		if near, far := distance(lamp, of(c[0])), distance(lamp, of(c[1])); near >= far {
			t.Errorf("a desk lamp is %.2f from %q, and %.2f from %q", near, c[0], far, c[1])
		}
	}
}
