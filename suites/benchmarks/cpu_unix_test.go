//go:build unix

package main_test

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used so far, in all of its
// threads.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
