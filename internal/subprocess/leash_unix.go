//go:build unix

package subprocess

import (
	"os"
	"os/exec"
	"syscall"
)

// startLeashed starts cmd in the process group of a watcher that kills the
// group when this process ends. The returned function, to be called once cmd
// has ended, removes the watcher.
//
// The watcher leads the group and signals it as a whole, so it never needs a
// process id, which could belong to another process by then. It starts first,
// and a child that is being started holds the pipe until it has joined the
// group: there is no instant at which the child could be left behind.
func startLeashed(cmd *exec.Cmd) (release func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	watcher := exec.Command("/bin/sh", "-c", "read -r line; kill -KILL 0")
	watcher.Stdin = r
	watcher.Dir = "/"
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = watcher.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	release = func() {
		_ = w.Close()
		_ = watcher.Wait() // It ends by its own signal, always.
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: watcher.Process.Pid}
	if err := cmd.Start(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
