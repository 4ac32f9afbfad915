package lines

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// File is a file that a job writes for hours. What was written before a [File.Save]
// survives a crash, together with the position that was saved with it. What was written
// after it is cut off when the file is opened again. So a job that continues from its
// position writes everything exactly once.
//
// A name that ends in .gz is compressed, as one member of gzip for each Save. File is
// used by one goroutine at a time, and by one process where the system has locks.
type File struct {
	name   string
	file   *os.File
	zip    *gzip.Writer // nil unless it is compressed
	member bool         // a member has begun
}

// fileState is the state of a File.
type fileState struct {
	Length   int64           `json:"length"`
	Position json.RawMessage `json:"position"`
}

// Open creates the file, or opens it again to continue a job, whose position it reads
// into v then. v is the position of a new job.
//
// A file without a state is complete, or of others: it is an error and stays as it is.
func Open(name string, v any) (f *File, continued bool, err error) {
	var state fileState
	found, err := ReadState(name, &state)
	if err != nil {
		return nil, false, err
	}
	if found && len(state.Position) == 0 {
		return nil, false, fmt.Errorf("%s is not of a dump", StateFile(name))
	}
	if !found {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, false, errors.Join(err, fmt.Errorf("%s is there already, and complete or not of a dump", name))
		}
	}
	// The state is there before the file, so that a crash leaves no file without one.
	f = &File{name: name}
	if strings.HasSuffix(name, ".gz") {
		f.zip = gzip.NewWriter(nil)
	}
	if !found {
		if err := f.save(v, 0); err != nil {
			return nil, false, err
		}
	} else if err := json.Unmarshal(state.Position, v); err != nil {
		return nil, false, fmt.Errorf("%s: %w", StateFile(name), err)
	}
	flags := os.O_RDWR | os.O_CREATE
	if !found {
		flags |= os.O_EXCL // Another process can have created it in between.
	}
	f.file, err = os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, false, err
	}
	if err := f.truncate(state.Length); err != nil {
		return nil, false, errors.Join(err, f.file.Close())
	}
	return f, found, nil
}

// truncate cuts off what was written after the last Save.
func (f *File) truncate(length int64) error {
	if err := Lock(f.file); err != nil {
		return fmt.Errorf("%s: another process writes it: %w", f.name, err)
	}
	info, err := f.file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < length:
		return fmt.Errorf("%s has %d bytes, and %s says %d: it was changed", f.name, info.Size(), StateFile(f.name), length)
	}
	if err := f.file.Truncate(length); err != nil {
		return err
	}
	_, err = f.file.Seek(length, io.SeekStart)
	return err
}

// Write writes to the file.
func (f *File) Write(text []byte) (int, error) {
	if f.zip == nil {
		return f.file.Write(text)
	}
	if !f.member {
		f.zip.Reset(f.file)
		f.member = true
	}
	return f.zip.Write(text)
}

// Save makes what was written, and the position that belongs to it, survive a crash.
func (f *File) Save(position any) error {
	if f.member {
		if err := f.zip.Close(); err != nil {
			return err
		}
		f.member = false
	}
	length, err := f.file.Seek(0, io.SeekCurrent)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return err
	}
	return f.save(position, length)
}

func (f *File) save(position any, length int64) error {
	text, err := json.Marshal(position)
	if err != nil {
		return err
	}
	return WriteState(f.name, fileState{Length: length, Position: text})
}

// Finish closes the file and removes its state, after a last [File.Save].
func (f *File) Finish() error {
	at, err := f.file.Seek(0, io.SeekCurrent)
	if err == nil && at == 0 && f.zip != nil { // Nothing is a file that gzip refuses.
		f.zip.Reset(f.file)
		err = f.zip.Close()
	}
	return errors.Join(err, f.file.Close(), RemoveState(f.name))
}

// Close closes the file, which can be opened again.
func (f *File) Close() error { return f.file.Close() }
