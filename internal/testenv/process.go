package testenv

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a child that is always waited for: kill returns when it is gone.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has been waited for
}

// startProcess starts a child with its output in log, and with env besides the environment of this process.
func startProcess(program string, args []string, log *os.File, env ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = childAttributes()
	return startCommand(cmd, log)
}

// startCommand is startProcess for a command with more to it than its arguments.
//
// The goroutine that starts it keeps its thread until the child is gone. Linux
// sends the death signal when the starting thread ends, not when the process
// does, so a thread the Go scheduler is free to end would take the child along.
func startCommand(cmd *exec.Cmd, log *os.File) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.cmd.Wait() // the exit status says nothing: we end it ourselves
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill may be called for a child that has ended by itself; the handle then
// refuses the signal, so a reused process id is never hit.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}
