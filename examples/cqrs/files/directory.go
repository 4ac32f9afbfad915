// Package files has the files that imports are read from: those of a directory, or of a
// bucket of Amazon S3.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/singletable/singletable/examples/cqrs/core"
)

// Directory is the files in a directory of this machine, for development. The zero
// Directory has none.
type Directory string

var _ core.Files = Directory("")

// Read implements [core.Files]. A file has the revision of its size and time.
func (d Directory) Read(_ context.Context, name, revision string, from, most int64) (core.Part, error) {
	if d == "" {
		return core.Part{}, core.ErrNoFile
	}
	file, err := os.OpenInRoot(string(d), filepath.FromSlash(name))
	if errors.Is(err, os.ErrNotExist) {
		return core.Part{}, core.ErrNoFile
	}
	if err != nil {
		return core.Part{}, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return core.Part{}, err
	}
	if about.IsDir() {
		return core.Part{}, core.ErrNoFile
	}
	part := core.Part{Revision: fmt.Sprintf("%d %d", about.Size(), about.ModTime().UnixNano()), Size: about.Size()}
	if revision != "" && revision != part.Revision {
		return core.Part{}, core.ErrFileChanged
	}
	part.Data, err = io.ReadAll(io.NewSectionReader(file, from, most))
	return part, err
}
