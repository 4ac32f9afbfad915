package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/zip"
)

// maxPath leaves room for the directory of a checkout: git on Windows refuses
// paths of more than 260 characters by default.
const maxPath = 160

// file is a tracked file, for package zip.
type file struct {
	fsys fs.FS
	path string // from the root of fsys
	name string // from the root of the module
}

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (fs.FileInfo, error)  { return fs.Lstat(f.fsys, f.path) }
func (f file) Open() (io.ReadCloser, error) { return f.fsys.Open(f.path) }

// checkNames reports every path that is refused in a module zip or on Windows or
// that differs from another one only in case. It looks at the repository as a
// whole: a checkout has all of it, nested modules too.
func checkNames(fsys fs.FS, paths []string) error {
	var files []zip.File
	var errs []error
	for _, p := range paths {
		// Without the go.mod files of nested modules, package zip omits nothing.
		if path.Base(p) != "go.mod" || p == "go.mod" {
			files = append(files, file{fsys, p, p})
		}
		if err := checkWindows(p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p, err))
		}
	}
	checked, err := zip.CheckFiles(files)
	for _, omitted := range checked.Omitted {
		errs = append(errs, omitted)
	}
	return errors.Join(append(errs, err)...)
}

// checkWindows knows the rules of Windows that package zip does not apply.
// See https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
func checkWindows(p string) error {
	if len(p) > maxPath {
		return fmt.Errorf("path of %d bytes, more than %d", len(p), maxPath)
	}
	for elem := range strings.SplitSeq(p, "/") {
		if strings.TrimSpace(elem) != elem {
			return fmt.Errorf("space at the start or end of %q", elem)
		}
		name, _, _ := strings.Cut(elem, ".")
		if name = strings.ToLower(name); name == "conin$" || name == "conout$" {
			return fmt.Errorf("%q is reserved on Windows", elem)
		}
	}
	return nil
}
