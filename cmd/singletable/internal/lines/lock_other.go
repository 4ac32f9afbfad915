//go:build !unix || solaris || aix

package lines

import "os"

func lock(*os.File) error { return nil }
