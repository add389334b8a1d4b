package testenv

import "syscall"

// childAttributes puts the child in a process group of its own, so that an
// interrupt typed at the terminal reaches only us, and lets it die with us.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
