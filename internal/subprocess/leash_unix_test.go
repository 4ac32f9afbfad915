//go:build unix

package subprocess_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/singletable/singletable/internal/subprocess"
)

func TestChildHasAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	p, err := subprocess.Start(self(t), args("hang")("0")...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	group, err := syscall.Getpgid(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if group == syscall.Getpgrp() {
		t.Error("Ctrl-C would reach the child")
	}

	// A child that ends without Kill leaves its watcher behind neither.
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if err := syscall.Kill(-group, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child's group after its end: %v; want %v", err, syscall.ESRCH)
	}
}
