//go:build !unix && !(windows && (amd64 || arm64))

package subprocess

import "os/exec"

// startLeashed starts cmd. There is no leash on this platform: the child ends by
// [Process.Kill] only, and outlives a process that is killed.
func startLeashed(cmd *exec.Cmd) (release func(), err error) {
	return func() {}, cmd.Start()
}
