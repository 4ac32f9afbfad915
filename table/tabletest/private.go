package tabletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// private is the mode of a file that only its owner can read and write.
const private = 0o600

// companions are the suffixes of the files that SQLite keeps next to a database.
// They survive an engine that was killed. SQLite gives new ones the mode of the
// database (https://www.sqlite.org/tempfiles.html).
var companions = []string{"-wal", "-shm", "-journal"}

// makePrivate creates the database at path unless it exists, and makes it and its
// companions private. The engine itself would create them with the mode that the
// umask leaves, by default readable for every user of the machine.
func makePrivate(path string) error {
	// A device or a pipe must neither be opened nor get another mode.
	if err := regular(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, private)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(private), f.Close()); err != nil {
		return err
	}
	// SQLite follows a symbolic link, and keeps the companions next to its target.
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, suffix := range companions {
		err := regular(path + suffix)
		if err == nil {
			err = os.Chmod(path+suffix, private)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// regular returns an error unless path leads to a regular file.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}
