//go:build unix

package testenv

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sqlKinds are the SQL servers, by their names in LOCKGEN_REQUIRE.
var sqlKinds = map[string]struct {
	env   string
	forT  func(testing.TB) *sqlServer
	start func(context.Context) (*sqlServer, error)
}{
	"postgres": {
		env:  postgresEnv,
		forT: func(t testing.TB) *sqlServer { return Postgres(t).sqlServer },
		start: func(ctx context.Context) (*sqlServer, error) {
			s, err := StartPostgres(ctx)
			if err != nil {
				return nil, err
			}
			return s.sqlServer, nil
		},
	},
	"mariadb": {
		env:  mariadbEnv,
		forT: func(t testing.TB) *sqlServer { return MariaDB(t).sqlServer },
		start: func(ctx context.Context) (*sqlServer, error) {
			s, err := StartMariaDB(ctx)
			if err != nil {
				return nil, err
			}
			return s.sqlServer, nil
		},
	},
}

func TestSQLServer_startAndStop(t *testing.T) {
	for name, kind := range sqlKinds {
		t.Run(name, func(t *testing.T) {
			s := kind.forT(t)
			conn, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatalf("it does not take connections: %v", err)
			}
			conn.Close()
			info, err := os.Stat(filepath.Join(s.dir, "data"))
			if err != nil {
				t.Fatal(err)
			}
			if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 {
				t.Error("its data belong to root: the server may write wherever it likes")
			}
			wantStopped(t, s.Stop, s.proc, s.dir)
		})
	}
}

// mktemp -d makes directories that nobody else may enter, and CI uses it.
func TestSQLServer_closedTMPDIR(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", closed)
	for name, kind := range sqlKinds {
		t.Run(name, func(t *testing.T) { kind.forT(t) })
	}
}

func TestSQLServer_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, kind := range sqlKinds {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			_, err := kind.start(ctx)
			if errors.Is(err, ErrNotInstalled) {
				missing(t, name, err)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "lockgen-*")); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func TestSQLServer_setUp_errorShowsTheLog(t *testing.T) {
	s, err := newSQLServer("postgres", "sh", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	err = s.setUp(t.Context(), "sh", "-c", "echo the disk is full; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error does not show what the program said: %v", err)
	}
}

// A server that loses the race for its port must try another one, and one that
// ends for another reason must not be tried again.
func TestSQLServer_start_portTaken(t *testing.T) {
	s, err := newSQLServer("postgres", "sh", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	tries := 0
	args := func(int) []string {
		tries++
		if tries < 3 {
			return []string{"-c", "echo bind: Address already in use; exit 1"}
		}
		return []string{"-c", "echo no such table; exit 2"}
	}
	err = s.start(t.Context(), args, func(*process) bool { return false })
	if tries != 3 || err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

func TestSQLServer_missing(t *testing.T) {
	for name, kind := range sqlKinds {
		t.Setenv(kind.env, filepath.Join(t.TempDir(), "no-server-here"))
		for list, want := range map[string]outcome{
			"redis": {skipped: true},
			name:    {failed: true},
		} {
			t.Setenv(requireEnv, list)
			var got outcome
			var wg sync.WaitGroup
			wg.Go(func() { kind.forT(&got) })
			wg.Wait()
			if got.failed != want.failed || got.skipped != want.skipped {
				t.Errorf("%s, %s=%q: failed %v, skipped %v", name, requireEnv, list, got.failed, got.skipped)
			}
		}
	}
}

func TestNewest(t *testing.T) {
	got := newest([]string{"/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/9/bin/postgres"})
	if want := "/usr/lib/postgresql/15/bin/postgres"; got != want {
		t.Errorf("newest = %s, want %s", got, want)
	}
}

// A server that was killed comes back on the same port with what it had, and one that is paused answers nothing.
func TestSQLServer_killRestartPause(t *testing.T) {
	for name, kind := range sqlKinds {
		t.Run(name, func(t *testing.T) {
			s := kind.forT(t)
			addr := s.Addr()
			answers := func() bool { // both kinds of server speak first, or answer a request for TLS
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					return false
				}
				defer conn.Close()
				_, _ = conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47})
				_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
				n, _ := conn.Read(make([]byte, 1))
				return n > 0
			}
			awaitAnswer := func(what string) {
				t.Helper()
				for end := time.Now().Add(time.Minute); !answers(); {
					if time.Now().After(end) {
						t.Fatal(what)
					}
				}
			}
			awaitAnswer("it does not answer")
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			if answers() {
				t.Error("a paused server answers")
			}
			if err := s.Resume(); err != nil {
				t.Fatal(err)
			}
			awaitAnswer("it does not answer after the pause")
			for range 2 { // running, and down
				if err := s.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if answers() {
				t.Error("a killed server answers")
			}
			if err := s.Pause(); !errors.Is(err, errDown) {
				t.Errorf("pause of a server that is down: %v", err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if s.Addr() != addr {
				t.Errorf("it is on %s after a restart, was on %s", s.Addr(), addr)
			}
			awaitAnswer("it does not answer after the restart")
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(); !errors.Is(err, errStopped) {
				t.Errorf("restart of a server that was stopped: %v", err)
			}
		})
	}
}
