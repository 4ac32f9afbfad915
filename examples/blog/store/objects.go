package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// ErrNoObject means that there is no object of a name.
var ErrNoObject = errors.New("there is no such object")

// Objects keeps what is too large for the table, such as a bucket of S3 or a [Directory].
// A name is used once: an object is never replaced. Names have up to 255 bytes of
// A to Z, a to z, 0 to 9, "." and "-". Implementations are safe for concurrent use.
type Objects interface {
	// Put stores an object. It is there as a whole and durable when Put returns nil, and
	// there as a whole or not at all otherwise.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns an object, or an error that matches [ErrNoObject].
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes an object. A missing object is no error.
	Delete(ctx context.Context, name string) error
	// All lists the names of the objects with the times when they were stored. The error
	// is yielded once, last.
	All(ctx context.Context) iter.Seq2[Object, error]
}

// Object is an object of a list.
type Object struct {
	Name     string
	StoredAt time.Time
}

// Directory keeps objects as files of a directory of this machine, for development.
type Directory struct{ root *os.Root }

// OpenDirectory returns the objects in a directory, which is made if it is missing.
func OpenDirectory(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	return &Directory{root}, err
}

// Close closes the directory.
func (d *Directory) Close() error { return d.root.Close() }

// unfinished is the end of the name of a file that is being written. A process that is
// killed leaves it behind, and [Store.Sweep] removes it.
const unfinished = ".part"

// Put implements [Objects]. It writes a file of another name, and renames it once it is
// on disk.
func (d *Directory) Put(_ context.Context, name string, data []byte) error {
	file, err := d.root.OpenFile(name+unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = d.root.Rename(name+unfinished, name)
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(name+unfinished))
	}
	return d.sync()
}

// sync makes a rename durable.
func (d *Directory) sync() error {
	directory, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// Get implements [Objects].
func (d *Directory) Get(_ context.Context, name string) ([]byte, error) {
	data, err := d.root.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoObject, err)
	}
	return data, err
}

// Delete implements [Objects].
func (d *Directory) Delete(_ context.Context, name string) error {
	if err := d.root.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// All implements [Objects].
func (d *Directory) All(context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		directory, err := d.root.Open(".")
		if err != nil {
			yield(Object{}, err)
			return
		}
		defer directory.Close()
		for {
			entries, err := directory.ReadDir(100)
			for _, e := range entries {
				info, err := e.Info()
				if errors.Is(err, os.ErrNotExist) { // deleted since
					continue
				}
				if err != nil {
					yield(Object{}, err)
					return
				}
				if !yield(Object{filepath.Base(e.Name()), info.ModTime()}, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Object{}, err)
				return
			}
		}
	}
}
