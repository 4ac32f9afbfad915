//go:build unix && !solaris && !aix

package lines

import (
	"os"
	"syscall"
)

// Lock locks the file until [Unlock]. It is an error if another process has it.
func Lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Unlock ends the lock. Closing the file may not: a child process that is being started
// shares it for a moment.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
