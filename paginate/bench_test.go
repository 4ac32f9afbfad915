package paginate_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/singletable/singletable/paginate"
)

// scheme is one way to turn a position into a cursor and back.
type scheme struct {
	name string
	seal func(paginate.Position) (string, error)
	open func(string) (paginate.Position, error)
}

// schemes are the codecs of this package and what is common elsewhere: the
// base64 of JSON, with and without a signature.
func schemes(b *testing.B) []scheme {
	b.Helper()
	of := func(name string, c *paginate.Codec) scheme {
		return scheme{
			name: name,
			seal: func(p paginate.Position) (string, error) { return c.Seal(p, scope) },
			open: func(cursor string) (paginate.Position, error) { return c.Open(cursor, scope) },
		}
	}
	secret := []byte("0123456789abcdef0123456789abcdef")
	return []scheme{
		of("sealed", newCodec(b, nil)),
		of("unsealed", paginate.Insecure()),
		{name: "json", seal: sealJSON, open: openJSON},
		{
			name: "hmac-json",
			seal: func(p paginate.Position) (string, error) { return sealHMAC(p, secret) },
			open: func(cursor string) (paginate.Position, error) { return openHMAC(cursor, secret) },
		},
	}
}

var benchPositions = []struct {
	name     string
	position paginate.Position
}{
	{"transaction", txPosition},
	{"index", indexPosition},
}

func BenchmarkSeal(b *testing.B) {
	for _, p := range benchPositions {
		for _, s := range schemes(b) {
			b.Run(p.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				var cursor string
				for b.Loop() {
					var err error
					if cursor, err = s.seal(p.position); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(cursor)), "chars/cursor")
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, p := range benchPositions {
		for _, s := range schemes(b) {
			b.Run(p.name+"/"+s.name, func(b *testing.B) {
				cursor, err := s.seal(p.position)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.open(cursor); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(cursor)), "chars/cursor")
			})
		}
	}
}

// keyNames are the attributes as a last evaluated key has them.
var keyNames = map[int][]string{1: {"sk"}, 3: {"GSI1SK", "pk", "sk"}}

func marshalPosition(p paginate.Position) ([]byte, error) {
	key := make(map[string]map[string]string, len(p))
	for i, name := range keyNames[len(p)] {
		key[name] = map[string]string{string(rune(p[i].Kind)): p[i].Data}
	}
	return json.Marshal(key)
}

func unmarshalPosition(text []byte) (paginate.Position, error) {
	var key map[string]map[string]string
	if err := json.Unmarshal(text, &key); err != nil {
		return nil, err
	}
	p := make(paginate.Position, 0, len(key))
	for _, name := range keyNames[len(key)] {
		for kind, data := range key[name] {
			p = append(p, paginate.Value{Kind: paginate.Kind(kind[0]), Data: data})
		}
	}
	return p, nil
}

func sealJSON(p paginate.Position) (string, error) {
	text, err := marshalPosition(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

func openJSON(cursor string) (paginate.Position, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, err
	}
	return unmarshalPosition(text)
}

func sealHMAC(p paginate.Position, secret []byte) (string, error) {
	text, err := marshalPosition(p)
	return base64.RawURLEncoding.EncodeToString(append(sign(text, secret), text...)), err
}

func openHMAC(cursor string, secret []byte) (paginate.Position, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, err
	}
	if len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], sign(raw[sha256.Size:], secret)) {
		return nil, errors.New("bad signature")
	}
	return unmarshalPosition(bytes.Clone(raw[sha256.Size:]))
}

func sign(text, secret []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(scope)
	mac.Write(text)
	return mac.Sum(nil)
}
