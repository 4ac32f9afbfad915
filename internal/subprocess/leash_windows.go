//go:build amd64 || arm64

package subprocess

import (
	"cmp"
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"
)

// startLeashed starts cmd and puts it into a job object that only this process
// has a handle of. When this process ends, Windows closes the handle and ends the
// processes of the job. The returned function, to be called once cmd has ended,
// closes the handle.
//
// A process that is killed before it has put its child into the job leaves the
// child behind. That takes some microseconds after the child's start.
func startLeashed(cmd *exec.Cmd) (release func(), err error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	release = func() { _ = syscall.CloseHandle(job) }
	// In a group of its own, Ctrl-C does not reach the child.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		release()
		return nil, err
	}
	var refused error
	err = cmd.Process.WithHandle(func(handle uintptr) {
		if ok, _, err := assignProcess.Call(uintptr(job), handle); ok == 0 {
			refused = fmt.Errorf("%s: %w", assignProcess.Name, err)
		}
	})
	if err = cmp.Or(err, refused); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		release()
		return nil, err
	}
	return release, nil
}

var (
	kernel32       = syscall.NewLazyDLL("kernel32.dll")
	createJob      = kernel32.NewProc("CreateJobObjectW")
	setInformation = kernel32.NewProc("SetInformationJobObject")
	assignProcess  = kernel32.NewProc("AssignProcessToJobObject")
)

// Of the Windows SDK's winnt.h.
const (
	extendedLimitInformation = 9      // JobObjectExtendedLimitInformation
	killOnJobClose           = 0x2000 // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
)

// extendedLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION on 64-bit Windows.
type extendedLimits struct {
	perProcessUserTimeLimit, perJobUserTimeLimit int64
	limitFlags                                   uint32
	minimumWorkingSetSize, maximumWorkingSetSize uintptr
	activeProcessLimit                           uint32
	affinity                                     uintptr
	priorityClass, schedulingClass               uint32

	ioCounters [6]uint64

	processMemoryLimit, jobMemoryLimit       uintptr
	peakProcessMemoryUsed, peakJobMemoryUsed uintptr
}

// Windows refuses the structure unless it has exactly this size.
var _ [144]byte = [unsafe.Sizeof(extendedLimits{})]byte{}

// newJob returns a job object that ends its processes when its handle is closed.
func newJob() (syscall.Handle, error) {
	handle, _, err := createJob.Call(0, 0)
	if handle == 0 {
		return 0, fmt.Errorf("%s: %w", createJob.Name, err)
	}
	job := syscall.Handle(handle)
	limits := extendedLimits{limitFlags: killOnJobClose}
	ok, _, err := setInformation.Call(handle, extendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		_ = syscall.CloseHandle(job)
		return 0, fmt.Errorf("%s: %w", setInformation.Name, err)
	}
	return job, nil
}
