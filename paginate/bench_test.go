package paginate_test

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// benchmark runs a function for each codec and position.
func benchmark(b *testing.B, run func(c *paginate.Codec, p paginate.Position, cursor string) error) {
	for format, c := range codecs(b) {
		for name, p := range map[string]paginate.Position{"transaction": txPosition, "index": indexPosition} {
			b.Run(name+"/"+format, func(b *testing.B) {
				cursor := seal(b, c, p, scope)
				b.ReportAllocs()
				for b.Loop() {
					expect.OK(b, run(c, p, cursor))
				}
				b.ReportMetric(float64(len(cursor)), "chars/cursor")
			})
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	benchmark(b, func(c *paginate.Codec, p paginate.Position, _ string) error { return expect.ErrOf(c.Seal(p, scope)) })
}

func BenchmarkOpen(b *testing.B) {
	benchmark(b, func(c *paginate.Codec, _ paginate.Position, cursor string) error {
		return expect.ErrOf(c.Open(cursor, scope))
	})
}
