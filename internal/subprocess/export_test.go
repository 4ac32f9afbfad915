package subprocess

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }
