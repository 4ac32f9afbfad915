package lines

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// StateFile returns the name of the file that says how far a job with a file is.
func StateFile(name string) string { return name + ".state" }

// ReadState reads the state of a job into v. found is false if the file is missing.
func ReadState(name string, v any) (found bool, err error) {
	text, err := os.ReadFile(StateFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", StateFile(name), err)
	}
	return true, nil
}

// WriteState replaces the state of a job in one step, which a crash does not divide.
func WriteState(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	next := StateFile(name) + ".new"
	// What a crash has left, or another user has placed, is not written through: it can be
	// a link to another file, or a file that others read.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, StateFile(name))
}

// RemoveState removes the state of a job that has ended.
func RemoveState(name string) error { return os.Remove(StateFile(name)) }
