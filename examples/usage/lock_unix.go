//go:build !windows

package main

import (
	"fmt"
	"os"
	"syscall"
)

// openAlone opens a file that no other program has open with it.
func openAlone(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another program uses the directory: %w", err)
	}
	return f, nil
}
