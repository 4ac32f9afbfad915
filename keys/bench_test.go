package keys_test

import (
	"testing"

	"github.com/singletable/singletable/keys"
)

func BenchmarkPK(b *testing.B) {
	for name, id := range map[string]string{"plain": "u-123", "escaped": "u#123 %"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = keys.User.PK(id)
			}
		})
	}
}

func BenchmarkSK(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = keys.Tx.SK(keys.Time(at), keys.Str("tx-abc"))
	}
}

func BenchmarkValidate(b *testing.B) {
	key := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Time(at), keys.Str("tx-abc"))}
	b.ReportAllocs()
	for b.Loop() {
		if err := key.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
