//go:build unix

package testenv

import "syscall"

func (p *process) pause() error  { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

func (s *sqlServer) pauseAll() error  { return s.signalAll(syscall.SIGSTOP) }
func (s *sqlServer) resumeAll() error { return s.signalAll(syscall.SIGCONT) }

// signalAll signals the server and then those that it has started, which it starts no more by then.
func (s *sqlServer) signalAll(sig syscall.Signal) error {
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		return err
	}
	for _, pid := range childrenOf(s.proc.pid()) {
		_ = syscall.Kill(pid, sig) // one that has ended meanwhile is fine
	}
	return nil
}
