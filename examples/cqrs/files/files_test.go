package files_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/files"
	"github.com/singletable/singletable/examples/internal/check"
)

// bucket serves a directory as S3 serves a bucket.
func bucket(t *testing.T, dir string) files.Bucket {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/imports/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(dir, filepath.FromSlash(r.URL.Path))
		about, err := os.Stat(name)
		if err != nil || about.IsDir() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchKey</Code></Error>`))
			return
		}
		w.Header().Set("ETag", `"`+about.ModTime().UTC().Format(time.RFC3339Nano)+`"`)
		if about.Size() == 0 {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			_, _ = w.Write([]byte(`<Error><Code>InvalidRange</Code></Error>`))
			return
		}
		http.ServeFile(w, r, name)
	})))
	t.Cleanup(server.Close)
	return files.Open(aws.Config{
		BaseEndpoint: &server.URL, Region: "eu-west-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}, "imports")
}

func TestFilesAreReadInParts(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, string) core.Files{
		"directory": func(_ *testing.T, dir string) core.Files { return files.Directory(dir) },
		"bucket":    func(t *testing.T, dir string) core.Files { t.Helper(); return bucket(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string, at time.Time) {
				t.Helper()
				file := filepath.Join(dir, "tenants", name)
				check.OK(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at))
			}
			begun := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
			write("rows", "0123456789", begun)
			write("empty", "", begun)
			write("a%2Fb/rows", "x", begun)
			check.OK(t, os.WriteFile(filepath.Join(dir, "outside"), []byte("x"), 0o600))
			all := open(t, filepath.Join(dir, "tenants"))
			first := check.Must(all.Read(t.Context(), "rows", "", 0, 4))(t)
			check.Equal(t, "first", []any{string(first.Data), first.Size}, []any{"0123", int64(10)})
			last := check.Must(all.Read(t.Context(), "rows", first.Revision, 8, 4))(t)
			check.Equal(t, "last", []any{string(last.Data), last.Size, last.Revision}, []any{"89", int64(10), first.Revision})
			check.Equal(t, "empty", check.Must(all.Read(t.Context(), "empty", "", 0, 1))(t).Size, int64(0))
			check.Equal(t, "escaped", string(check.Must(all.Read(t.Context(), "a%2Fb/rows", "", 0, 1))(t).Data), "x")
			for _, name := range []string{"none", "a%2Fb", "../outside"} {
				if _, err := all.Read(t.Context(), name, "", 0, 1); err == nil || name != "../outside" && !errors.Is(err, core.ErrNoFile) {
					t.Errorf("%s: %v", name, err)
				}
			}
			write("rows", "9876543210", begun.Add(time.Second))
			check.Is(t, check.Err(all.Read(t.Context(), "rows", first.Revision, 0, 4)), core.ErrFileChanged, "changed")
		})
	}
	check.Is(t, check.Err(files.Directory("").Read(t.Context(), "rows", "", 0, 1)), core.ErrNoFile, "no directory")
}
