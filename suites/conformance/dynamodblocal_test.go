package conformance_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/suites/conformance"
)

func TestStartDynamoDBLocalWithoutJava(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := conformance.StartDynamoDBLocal(t.Context())
	if err == nil || !strings.Contains(err.Error(), "apt-get install openjdk-17-jre-headless") {
		t.Errorf("without Java: %v; want the command that installs it", err)
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := pack(t, filepath.Join(dir, "good.tgz"), tar.Header{Name: "package/lib/a.txt", Typeflag: tar.TypeReg})
	expect.OK(t, conformance.Extract(archive, filepath.Join(dir, "out")))
	got, err := os.ReadFile(filepath.Join(dir, "out", "package", "lib", "a.txt"))
	if err != nil || string(got) != "content" {
		t.Errorf("a.txt: %q, %v", got, err)
	}
}

func TestExtractStaysInside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../outside", "package/../../outside", "/outside"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			archive := pack(t, filepath.Join(dir, "bad.tgz"), tar.Header{Name: name, Typeflag: tar.TypeReg})
			if err := conformance.Extract(archive, filepath.Join(dir, "out")); err == nil {
				t.Error("no error")
			}
			if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
				t.Error("a file was written outside of the directory")
			}
		})
	}
}

// pack writes an archive whose entries all have the same content.
func pack(t *testing.T, file string, entries ...tar.Header) string {
	t.Helper()
	f := expect.Value(os.Create(file))(t)
	zw := gzip.NewWriter(f)
	tw := tar.NewWriter(zw)
	for _, h := range entries {
		h.Mode, h.Size = 0o644, int64(len("content"))
		expect.OK(t, tw.WriteHeader(&h))
		if _, err := tw.Write([]byte("content")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{tw, zw, f} {
		expect.OK(t, c.Close())
	}
	return file
}
