package paginate_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// forge is the format written a second time, from its description: it makes
// authentic cursors with texts that Seal would not write.
func forge(tb testing.TB, first byte, text string, scope []byte) string {
	tb.Helper()
	secret := expect.Value(base64.StdEncoding.DecodeString(secretA))(tb)
	id := sha256.Sum256(secret)
	head := slices.Concat([]byte{first}, id[:4])
	block := expect.Value(aes.NewCipher(secret))(tb)
	gcm := expect.Value(cipher.NewGCM(block))(tb)
	nonce := []byte("twelve bytes")
	cursor := gcm.Seal(slices.Concat(head, nonce), nonce, []byte(text), slices.Concat(head, scope))
	return base64.RawURLEncoding.EncodeToString(cursor)
}

// forgeUnsealed does the same without a key.
func forgeUnsealed(text string, scope []byte) string {
	first := []byte{('U' - 'A') << 2}
	size := binary.BigEndian.AppendUint64(nil, uint64(1+len(scope)))
	sum := sha256.Sum256(slices.Concat(size, first, scope, []byte(text)))
	return base64.RawURLEncoding.EncodeToString(slices.Concat(first, []byte(text), sum[:8]))
}

// issuedAt is the text of a cursor: its issue time and its values.
func issuedAt(issued time.Time, values string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(issued.Unix()))) + values
}

const (
	firstPage      = ('S' - 'A') << 2
	firstWatermark = firstPage | 1
	firstProcess   = ('P' - 'A') << 2
	// What is added to them for another way.
	before, fromEdge = 26 << 2, 2
)

func codecA(tb testing.TB) *paginate.Codec {
	return newCodec(tb, &paginate.Options{Now: func() time.Time { return epoch }}, parseKeys(tb, secretA)...)
}

// wire is a position with a value of each tag, byte by byte.
const wire = "\x20METADATA" + // 8<<2 | string
	"\x41" + "9007199254740993" + // 16<<2 | number
	"\x0e\x00\xff\x00" + // 3<<2 | binary
	"\x2b\x03\x01\x8d\x0c\x94\xe0\xe0TX##tx-abc" // 10<<2 | stamped, at 3, milliseconds

var wirePosition = paginate.Position{Values: []paginate.Value{
	{Kind: paginate.String, Data: "METADATA"},
	{Kind: paginate.Number, Data: "9007199254740993"},
	{Kind: paginate.Binary, Data: "\x00\xff\x00"},
	{Kind: paginate.String, Data: "TX#2024-01-15T10:05:00.000Z#tx-abc"},
}}

// TestFormatIsStable fails when cursors in clients' hands would stop opening.
func TestFormatIsStable(t *testing.T) {
	t.Parallel()
	c := codecA(t)
	checkOpens(t, c, forge(t, firstPage, issuedAt(epoch, wire), scope), scope, wirePosition)
	checkOpens(t, c.Watermarks(), forge(t, firstWatermark, issuedAt(epoch, wire), scope), scope, wirePosition)
	checkOpens(t, c, pinnedToken, scope, wirePosition)
	for way, want := range map[byte]paginate.Position{
		before:            {Values: wirePosition.Values, Before: true},
		fromEdge:          {Values: wirePosition.Values, FromEdge: true},
		before + fromEdge: {Values: wirePosition.Values, Before: true, FromEdge: true},
	} {
		checkOpens(t, c, forge(t, firstPage+way, issuedAt(epoch, wire), scope), scope, want)
		checkOpens(t, c.Watermarks(), forge(t, firstWatermark+way, issuedAt(epoch, wire), scope), scope, want)
		checkOpens(t, c, seal(t, c, want, scope), scope, want)
	}

	checkOpens(t, paginate.Insecure(), forgeUnsealed(issuedAt(time.Now(), wire), scope), scope, wirePosition)
	first := paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "1970-01-01T00:00:00.000Z"}}}
	checkOpens(t, paginate.Insecure(), forgeUnsealed(issuedAt(time.Now(), "\x03\x00\x00\x00\x00\x00\x00\x00"), scope), scope, first)

	// The other direction: what Seal writes is what the description says.
	raw := expect.Value(base64.RawURLEncoding.DecodeString(seal(t, paginate.Insecure(), wirePosition, scope)))(t)
	if got := string(raw[5 : len(raw)-8]); got != wire {
		t.Errorf("written as %s, want %s", hex.EncodeToString([]byte(got)), hex.EncodeToString([]byte(wire)))
	}
}

// pinnedToken is wirePosition, sealed by codecA at epoch.
const pinnedToken = "SGMNzSnIcHKXbB0wDGn9gen4ln-jToCOl1qgREwbf3xxox_VDBzRGChIRDaXzqGg" +
	"njJQg1Hx46SpNK44JLWwGltW_TtB5DK2BIDaY-NSZBNkq_Ir9A"

// TestOnlyCanonicalEncodings offers authentic cursors, as a faulty release with
// the right key would write them.
func TestOnlyCanonicalEncodings(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"no values":                "",
		"length in two bytes":      "\x90\x00TX#1",
		"endless length":           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"length cut off":           "\x80",
		"length beyond the end":    "\x14TX#1",
		"huge length":              "\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"bytes behind":             "\x10TX#1\xff",
		"number that is none":      "\x0d1e+",
		"string that is not UTF-8": "\x04\xff",
		"stamp not packed":         "\x602024-01-15T10:05:00.000Z",
		"stamp behind another":     "\x63\x18\x01\x8d\x0c\x94\xe0\xe02024-01-15T10:05:00.000Z",
		"stamp in year 10000":      "\x03\x00\xe6\x77\xd2\x1f\xdc\x00",
		"stamp past the end":       "\x03\x01\x01\x8d\x0c\x94\xe0\xe0",
		"stamp far past the end":   "\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x8d\x0c\x94\xe0\xe0",
		"stamp cut off":            "\x03\x00\x01\x8d",
		"stamp without last byte":  "\x03\x00\x01\x8d\x0c\x94\xe0",
		"stamp without place":      "\x03",
		"stamp's place in two":     "\x03\x80\x00\x01\x8d\x0c\x94\xe0\xe0",
		"stamp within a character": "\x0b\x01\x01\x8d\x0c\x94\xe0\xe0é",
	}
	c, unsealed, now := codecA(t), paginate.Insecure(), time.Now()
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRefused(t, c, forge(t, firstPage, issuedAt(epoch, payload), scope), scope, paginate.Malformed)
			checkRefused(t, unsealed, forgeUnsealed(issuedAt(now, payload), scope), scope, paginate.Malformed)
		})
	}
}

func TestTextTooShortForItsTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "abc"} {
		checkRefused(t, codecA(t), forge(t, firstPage, text, scope), scope, paginate.Malformed)
		checkRefused(t, paginate.Insecure(), forgeUnsealed(text, scope), scope, paginate.Malformed)
	}
}

func TestUnknownFirstBytes(t *testing.T) {
	t.Parallel()
	c := codecA(t)
	for first := range 256 {
		want := paginate.UnknownVersion
		switch first &^ fromEdge {
		case firstPage, firstPage + before:
			continue
		case firstProcess, firstProcess | 1, firstProcess + before, firstProcess + before | 1:
			want = paginate.NoSharedKey
		case firstWatermark, firstWatermark + before:
			want = paginate.Mismatch
		}
		checkRefused(t, c, forge(t, byte(first), issuedAt(epoch, wire), scope), scope, want)
	}
}
