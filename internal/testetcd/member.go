package testetcd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Member is one server, in a process of its own.
type Member struct {
	number int
	setup  setup
	lines  *lines // to the others; nil: none that anybody can shut
	proxy  string // at the beginning of the lines
	cmd    *exec.Cmd
	stdin  io.Closer
}

// run starts the member's process, and returns when it is a member of a cluster with a leader.
func (m *Member) run() error {
	text, err := json.Marshal(m.setup)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	if m.proxy != "" {
		cmd.Env = append(cmd.Env, "HTTP_PROXY="+m.proxy, "NO_PROXY=", "no_proxy=")
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd, m.stdin = cmd, in
	line, err := bufio.NewReader(out).ReadString('\n')
	if line == "ready\n" {
		return nil
	}
	m.Kill()
	return errors.Join(fmt.Errorf("the member %s says %q instead of being ready", m.setup.Name, line), err)
}

// Kill ends the member without a warning.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	_ = m.stdin.Close()
	m.cmd = nil
}

// portPatience is how long Restart waits for whoever took the member's port, as a connection of somebody's may have.
const portPatience = 2 * time.Minute

// Restart starts a killed member again, with what it had.
func (m *Member) Restart() error {
	m.setup.State = "existing"
	for end := time.Now().Add(portPatience); ; time.Sleep(50 * time.Millisecond) {
		if err := m.run(); !isPortTaken(err) || time.Now().After(end) {
			return err
		}
	}
}

func isPortTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), syscall.EADDRINUSE.Error())
}

// Signal sends a signal to the member's process.
func (m *Member) Signal(s os.Signal) error { return m.cmd.Process.Signal(s) }

// Addr is where clients reach the member.
func (m *Member) Addr() string {
	_, addr, _ := strings.Cut(m.setup.Client, "://")
	return addr
}
