package lines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/table"
)

var sameValues = cmpopts.IgnoreUnexported(
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{},
	types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{},
	types.AttributeValueMemberL{}, types.AttributeValueMemberM{},
)

// every has each type of value, and those values that are easy to lose.
var every = table.Item{
	"pk":      &types.AttributeValueMemberS{Value: "a\"\\\x00\x1f\u007f\u2028<é𝄞\ufffd"},
	"":        &types.AttributeValueMemberS{},
	"n":       &types.AttributeValueMemberN{Value: "-9.9999999999999999999999999999999999999E+125"},
	"long":    &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
	"b":       &types.AttributeValueMemberB{Value: []byte{0, 255, 10}},
	"empty":   &types.AttributeValueMemberB{Value: []byte{}},
	"yes":     &types.AttributeValueMemberBOOL{Value: true},
	"null":    &types.AttributeValueMemberNULL{Value: true},
	"ss":      &types.AttributeValueMemberSS{Value: []string{"x", ""}},
	"ns":      &types.AttributeValueMemberNS{Value: []string{"1", "0.1"}},
	"bs":      &types.AttributeValueMemberBS{Value: [][]byte{{1}, {}}},
	"l":       &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
	"m":       &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"é": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}}},
	"\"q\\\"": &types.AttributeValueMemberBOOL{},
}

func TestEveryValueComesBack(t *testing.T) {
	t.Parallel()
	text, err := Append(nil, every)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(every, got, sameValues); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v", err)
	}
	// The SDK reads it, too.
	theirs, err := attributevalue.UnmarshalMapJSON(bytes.TrimSuffix(bytes.TrimPrefix(text, []byte(`{"Item":`)), []byte("}\n")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(every, table.Item(theirs), sameValues); diff != "" {
		t.Errorf("of the SDK (-want +got):\n%s", diff)
	}
	if _, err := Append(nil, table.Item{"a": nil}); err == nil {
		t.Error("a value that is none has a line")
	}
}

func TestLinesThatAreNoItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`{"Item":{"pk":{"S":"a"}}`:                           errJSON,
		`{"Item":{"pk":{"S":"a`:                              errJSON,
		`x`:                                                  errJSON,
		"{\"Item\":{\"pk\":{\"S\":\"\xff\"}}}":               errUTF8,
		`{"Item":{"pk":{"S":"\ud800"}}}`:                     errUTF8,
		`{"Item":{"pk":{"S":"\udc00\ud800"}}}`:               errUTF8,
		`{"Item":{"pk":{"S":"\ud834x\udd1e"}}}`:              errUTF8,
		`{"Item":{"pk":{"S":"a"},"pk":{"S":"b"}}}`:           errTwice,
		`{"Item":{"m":{"M":{"a":{"S":"a"},"a":{"S":"b"}}}}}`: errTwice,
		`{"Item":{"pk":{"S":"a"}}} {}`:                       errTrailer,
		`{"Item":{"pk":{"S":"a"}},"Line":1}`:                 errForm,
		`{"Keys":{"pk":{"S":"a"}}}`:                          errForm,
		`{"Item":{"pk":"a"}}`:                                errForm,
		`{"Item":{"pk":{"N":1}}}`:                            errForm,
		`{"Item":{"pk":{"S":null}}}`:                         errForm,
		`{"Item":{"pk":{"S":"a","N":"1"}}}`:                  errForm,
		`{"Item":{"pk":{}}}`:                                 errForm,
		`{"Item":{"pk":{"X":"a"}}}`:                          errForm,
		`{"Item":{"pk":{"B":"a"}}}`:                          errForm,
		`{"Item":{"pk":{"B":"YR=="}}}`:                       errForm, // bits that are lost
		`{"Item":{"pk":{"NULL":"true"}}}`:                    errForm,
		`{"Item":{"pk":{"SS":{}}}}`:                          errForm,
		`{"Item":{"pk":{"L":["a"]}}}`:                        errForm,
		`[{"Item":{"pk":{"S":"a"}}}]`:                        errForm,
		`{}`:                                                 errForm,
		`{"Item":{"l":` + strings.Repeat(`{"L":[`, 100) + strings.Repeat(`]}`, 100) + `}}`:                  errDeep,
		`{"Item":{"l":` + strings.Repeat(`{"M":{"a":`, 100) + `{"S":""}` + strings.Repeat(`}}`, 100) + `}}`: errDeep,
	} {
		if _, err := parseLine([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.80q: %v, want %v", text, err, want)
		}
	}
	for _, text := range []string{`{"Item":{"pk":{"S":"\ud834\udd1e\\ud800"}}}`, `{ "Item" : {} }`} {
		if _, err := parseLine([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReaderNumbersLines(t *testing.T) {
	t.Parallel()
	good := `{"Item":{"pk":{"S":"secret"}}}`
	for text, want := range map[string]string{
		good + "\n\n \n" + good[:20] + "\n" + good: "line 4: is not JSON, or was cut off",
		good + "\n" + good[:20]:                    "line 2: is not JSON, or was cut off",
		good + "\n" + strings.Repeat(" ", MaxLine): "line 2: has more than 8388608 bytes",
		good + "\r\n" + good:                       "EOF",
	} {
		r, err := NewReader(strings.NewReader(text))
		for err == nil {
			_, err = r.Next()
		}
		if err.Error() != want {
			t.Errorf("%.100q: %v, want %s", text, err, want)
		}
	}
}

func TestReaderOfCompressedFiles(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for range 2 { // several members, as of a dump that was continued
		z := gzip.NewWriter(&text)
		_, _ = io.WriteString(z, `{"Item":{"pk":{"S":"a"}}}`+"\n")
		_ = z.Close()
	}
	count := func(text []byte) (n int, err error) {
		r, err := NewReader(bytes.NewReader(text))
		for err == nil {
			if _, err = r.Next(); err == nil {
				n++
			}
		}
		return n, err
	}
	if n, err := count(text.Bytes()); n != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("%d lines, %v", n, err)
	}
	if _, err := count(text.Bytes()[:text.Len()-5]); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut off: %v", err)
	}
}

func TestSumIsOfTheLines(t *testing.T) {
	t.Parallel()
	sum := func(text string, lines int64) string {
		r, err := NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Skip(lines); err != nil {
			t.Fatal(err)
		}
		return r.Sum()
	}
	if sum("a\nb\nc\n", 2) != sum("a\nb\nx", 2) {
		t.Error("it depends on later lines")
	}
	if sum("a\nb\n", 2) == sum("ab\n\n", 2) {
		t.Error("lines are not told from each other")
	}
}

// TestFileContinuesAtItsLastSave ends writers without a Close, as a crash does.
func TestFileContinuesAtItsLastSave(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"items.jsonl", "items.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), name)
			for round := range 4 {
				position := 0
				f, continued, err := Open(name, &position)
				if err != nil || continued != (round > 0) || position != round {
					t.Fatalf("round %d: %v, continued %t at %d", round, err, continued, position)
				}
				write(t, f, strings.Repeat("x", 10_000), "\n")
				position++
				if err := f.Save(position); err != nil {
					t.Fatal(err)
				}
				write(t, f, "lost", "lost, too")
				_ = f.file.Close()
			}
			var position int
			f, _, err := Open(name, &position)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := Open(name, &position); err == nil {
				t.Error("two writers")
			}
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
			want := strings.Repeat(strings.Repeat("x", 10_000)+"\n", 4)
			if got := content(t, name); got != want {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
			if _, err := os.Stat(StateFile(name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the state is there: %v", err)
			}
			if _, _, err := Open(name, &position); err == nil || content(t, name) != want {
				t.Errorf("a complete file was opened: %v", err)
			}
		})
	}
}

func write(t *testing.T, w io.Writer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFileThatWasChanged(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "items.jsonl")
	f, _, err := Open(name, new(int))
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "a line\n")
	if err := errors.Join(f.Save(1), f.Close(), os.Truncate(name, 3)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(name, new(int)); err == nil || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("a file that was cut off: %v", err)
	}
}

func TestEmptyFileIsValid(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "items.jsonl.gz")
	f, _, err := Open(name, new(int))
	if err == nil {
		err = errors.Join(f.Save(1), f.Finish())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "" {
		t.Errorf("it holds %q", got)
	}
}

// FuzzLine reads arbitrary text. What is read is written in one form, which gives the
// same item.
func FuzzLine(f *testing.F) {
	text, err := Append(nil, every)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"Item":{"pk":{"S":"\ud834\udd1e"},"n":{"N":"x"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		item, err := parseLine(text)
		if err != nil {
			return
		}
		line, err := Append(nil, item)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(item, again, sameValues); diff != "" {
			t.Error(diff)
		}
	})
}
