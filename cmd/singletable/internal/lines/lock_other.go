//go:build !unix || solaris || aix

package lines

import "os"

// Lock does nothing: the system has no locks.
func Lock(*os.File) error { return nil }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
