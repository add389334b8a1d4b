package testenv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	sqlUser = "lockgen"
	sqlName = "lockgen" // of the database

	// sqlStartTimeout covers the creation of the system tables too.
	sqlStartTimeout = 5 * time.Minute
	sqlStopTimeout  = 10 * time.Second
)

// SQLConfig configures an SQL server. The zero value is for tests.
type SQLConfig struct {
	// Flush lets every commit wait for the disk, as servers do that are not for tests.
	Flush bool
}

func flushes(cfg []SQLConfig) bool { return len(cfg) > 0 && cfg[0].Flush }

// sqlServer is what the SQL servers have in common: a directory of their own, a
// password that nobody else on the machine knows, and a process that does not
// run as root.
type sqlServer struct {
	name     string // as LOCKGEN_REQUIRE lists it
	program  string
	account  *account
	dir      string
	port     int
	password string
	flush    bool

	mu       sync.Mutex              // guards what follows
	proc     *process                // nil when the server is down
	launched func(port int) []string // how it is started, once it was; nil when it was stopped for good
	ready    func(*process) bool
}

// forTest ties a server that was just started, or could not be, to the test.
func forTest(t testing.TB, name string, s *sqlServer, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNotInstalled):
		missing(t, name, err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// newSQLServer makes the directory of a server that will run as one of the users.
func newSQLServer(name, program string, users ...string) (*sqlServer, error) {
	account, err := serverAccount(users...)
	if err != nil {
		return nil, err
	}
	parent, err := dirFor(account)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "lockgen-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("testenv: make a directory for %s: %w", name, err)
	}
	s := &sqlServer{name: name, program: program, account: account, dir: dir, password: rand.Text()}
	if err := account.own(dir); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("testenv: give %s to the user of %s: %w", dir, name, err)
	}
	return s, nil
}

// dirFor returns the directory for temporary files, or /tmp where the account
// cannot get into that: a TMPDIR made by mktemp -d is its owner's alone.
func dirFor(a *account) (string, error) {
	if a == nil {
		return os.TempDir(), nil
	}
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		if open, err := openToAll(dir); err == nil && open {
			return dir, nil
		}
	}
	return "", fmt.Errorf("testenv: a database server does not run as root, and neither %s nor /tmp lets other users in; set TMPDIR to a directory that does",
		os.TempDir())
}

// openToAll reports whether every user may pass through dir and all above it.
func openToAll(dir string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true, nil
		}
		dir = parent
	}
}

// Addr returns the host and port of the server.
func (s *sqlServer) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Stop ends the server for good and removes its directory. What it had not
// written to disk is lost. Further calls do nothing.
func (s *sqlServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launched = nil
	if s.proc != nil {
		s.crash()
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("testenv: remove the directory of %s: %w", s.name, err)
	}
	return nil
}

// quit asks the server to end at once, without saving, and kills it if it does
// not. A killed PostgreSQL leaves shared memory and, for a moment, children.
func (p *process) quit() {
	if p.cmd.Process.Signal(syscall.SIGQUIT) == nil {
		select {
		case <-p.done:
			return
		case <-time.After(sqlStopTimeout):
		}
	}
	p.kill()
}
