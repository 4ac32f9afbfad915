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
)

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
