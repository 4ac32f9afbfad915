//go:build !unix

package subprocess

import "os/exec"

// startLeashed starts cmd. There is no leash here: the child ends by
// [Process.Kill] and outlives a process that is killed.
func startLeashed(cmd *exec.Cmd) (release func(), err error) {
	return func() {}, cmd.Start()
}
