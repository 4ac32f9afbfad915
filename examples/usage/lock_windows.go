package main

import (
	"fmt"
	"os"
	"syscall"
)

// openAlone opens a file that no other program has open with it.
func openAlone(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	const shared = 0 // with nobody
	handle, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, shared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, fmt.Errorf("another program uses the directory: %w", err)
	}
	return os.NewFile(uintptr(handle), name), nil
}
