//go:build unix && !solaris && !aix

package lines

import (
	"os"
	"syscall"
)

// Lock locks the file until it is closed. It is an error if another process has it.
func Lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
