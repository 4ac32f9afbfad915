package paginate_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/singletable/singletable/paginate"
)

// The ring usually comes from the environment: os.Getenv("CURSOR_KEYS").
const (
	january  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	february = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA="
)

func ring(text string) *paginate.Codec {
	keys, err := paginate.ParseKeys(text)
	if err != nil {
		panic(err)
	}
	codec, err := paginate.New(keys, nil)
	if err != nil {
		panic(err)
	}
	return codec
}

// Cursors of a public list live for a day. The reason of an error tells an expired
// cursor from one of another user. Now is for tests.
func ExampleOptions() {
	keys, err := paginate.ParseKeys(january)
	if err != nil {
		panic(err)
	}
	now := time.Date(2024, time.January, 15, 10, 0, 0, 0, time.UTC)
	codec, err := paginate.New(keys, &paginate.Options{TTL: 24 * time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	cursor, err := codec.Seal(paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "METADATA"}}}, []byte("alice"))
	if err != nil {
		panic(err)
	}
	open := func(scope string) {
		_, err := codec.Open(cursor, []byte(scope))
		e, _ := errors.AsType[*paginate.Error](err)
		switch {
		case e == nil:
			fmt.Println("opens")
		case e.Reason == paginate.Mismatch:
			fmt.Println("of another user, or changed: to the security log")
		case e.Reason == paginate.Expired:
			fmt.Println("too old: from the first page again")
		}
	}
	open("alice")
	open("bob")
	now = now.Add(25 * time.Hour)
	open("alice")
	// Output:
	// opens
	// of another user, or changed: to the security log
	// too old: from the first page again
}

// A position is sealed for a scope, and opens for that scope alone.
func ExampleCodec() {
	codec := ring(january)

	last := paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "TX#2024-01-15T10:05:00.000Z#tx-abc"}}}
	cursor, err := codec.Seal(last, []byte("alice's transactions"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(cursor), "characters")

	position, err := codec.Open(cursor, []byte("alice's transactions"))
	fmt.Println(position.Values[0].Data, err)

	_, err = codec.Open(cursor, []byte("bob's transactions"))
	fmt.Println(err)
	// Output:
	// 74 characters
	// TX#2024-01-15T10:05:00.000Z#tx-abc <nil>
	// invalid cursor
}

// The variable holds one key, or several while they are being rotated.
func ExampleParseKeys() {
	keys, err := paginate.ParseKeys(february + "," + january)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("seals:", keys[0].ID())
	fmt.Println("opens:", keys)

	_, err = paginate.ParseKeys(os.Getenv("A_VARIABLE_NOBODY_SET"))
	fmt.Println(err)
	// Output:
	// seals: 1865c008
	// opens: [paginate.Key(1865c008) paginate.Key(630dcd29)]
	// paginate: no keys: the text is empty
}

// A new key goes behind the old one first, then in front of it; when the last
// cursor of the old key has expired, the old key goes.
func ExampleNew_rotation() {
	deployments := []*paginate.Codec{
		ring(january),
		ring(january + "," + february),
		ring(february + "," + january),
		ring(february),
	}
	last := paginate.Position{Values: []paginate.Value{{Kind: paginate.Number, Data: "9007199254740993"}}}
	first, err := deployments[0].Seal(last, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, codec := range deployments {
		position, err := codec.Open(first, nil)
		if e, ok := errors.AsType[*paginate.Error](err); ok {
			fmt.Println("deployment", i, "refuses:", e.Reason)
			continue
		}
		fmt.Println("deployment", i, "opens:", position.Values[0].Data)
	}
	// Output:
	// deployment 0 opens: 9007199254740993
	// deployment 1 opens: 9007199254740993
	// deployment 2 opens: 9007199254740993
	// deployment 3 refuses: unknown key
}

// A merged read of several partitions continues from a watermark. Its cursor
// is of another kind than that of a page.
func ExampleCodec_Watermarks() {
	pages := ring(january)
	marks := pages.Watermarks()

	mark := paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "2024-01-15T10:05:00.000Z#tx-abc"}}}
	cursor, err := marks.Seal(mark, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	position, err := marks.Open(cursor, nil)
	fmt.Println(position.Values[0].Data, err)

	_, err = pages.Open(cursor, nil)
	fmt.Println(err)
	// Output:
	// 2024-01-15T10:05:00.000Z#tx-abc <nil>
	// invalid cursor
}

// A test that must read positions needs no key. Its cursors are not secret, and a
// codec with keys refuses them.
func ExampleInsecure() {
	cursor, err := paginate.Insecure().Seal(paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: "METADATA"}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cursor[:1])

	position, err := paginate.Insecure().Open(cursor, nil)
	fmt.Println(position.Values[0].Data, err)

	_, err = ring(january).Open(cursor, nil)
	fmt.Println(err)
	// Output:
	// U
	// METADATA <nil>
	// invalid cursor
}

// A handler responds to every refused cursor alike, and logs the reason.
func ExampleError() {
	codec := ring(january)
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))

	handler := func(w http.ResponseWriter, r *http.Request) {
		_, err := codec.Open(r.FormValue("after"), []byte("alice's transactions"))
		if e, ok := errors.AsType[*paginate.Error](err); ok {
			log.Info("cursor refused", "reason", string(e.Reason))
			http.Error(w, e.Error(), http.StatusBadRequest)
			return
		}
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		// Query on from the position.
	}

	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest(http.MethodGet, "/transactions?after=eyJwayI6IlVTRVIjYm9iIn0", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// level=INFO msg="cursor refused" reason="unknown version"
	// 400 invalid cursor
}
