package coldstart

import (
	"os"
	"syscall"
)

// peak returns the greatest resident memory of a process in kilobytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss
}
