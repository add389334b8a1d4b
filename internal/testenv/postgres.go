package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const postgresEnv = "LOCKGEN_POSTGRES_SERVER"

// PostgresServer is a running PostgreSQL server that belongs to its creator.
// All methods may be called from several goroutines.
type PostgresServer struct{ *sqlServer }

// Postgres starts a server for one test and stops it when the test ends. See the
// package documentation for what happens where PostgreSQL is not installed; its
// name in LOCKGEN_REQUIRE is "postgres".
//
// LOCKGEN_POSTGRES_SERVER names the postgres program to start; initdb must stand
// beside it. Defaults to the one in PATH, or the newest that Debian's packages
// installed.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := StartPostgres(context.Background())
	if err != nil {
		s = &PostgresServer{}
	}
	forTest(t, "postgres", s.sqlServer, err)
	return s
}

// StartPostgres starts a server and returns once it takes connections. It gives
// up when ctx ends, or after five minutes. The caller must call Stop.
func StartPostgres(ctx context.Context, cfg ...SQLConfig) (*PostgresServer, error) {
	program, err := postgresProgram()
	if err != nil {
		return nil, err
	}
	base, err := newSQLServer("postgres", program, "postgres")
	if err != nil {
		return nil, err
	}
	base.flush = flushes(cfg)
	s := &PostgresServer{base}
	ctx, cancel := context.WithTimeout(ctx, sqlStartTimeout)
	defer cancel()
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := s.start(ctx, s.args, s.ready); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func postgresProgram() (string, error) {
	name := os.Getenv(postgresEnv)
	if name == "" {
		name = "postgres"
		// Debian keeps several versions side by side and none of them in PATH.
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
			name = newest(found)
		}
	}
	program, err := exec.LookPath(name)
	if err == nil {
		program, err = filepath.EvalSymlinks(program) // initdb is beside the real one
	}
	if err != nil {
		return "", fmt.Errorf("testenv: postgres is %w: %w; install it (apt-get install postgresql) or name the program in %s",
			ErrNotInstalled, err, postgresEnv)
	}
	return program, nil
}

// newest picks the path …/<major version>/bin/postgres with the highest version.
func newest(paths []string) string {
	best, bestVersion := paths[0], -1
	for _, path := range paths {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && version > bestVersion {
			best, bestVersion = path, version
		}
	}
	return best
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

func (s *PostgresServer) create(ctx context.Context) error {
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(s.password), 0o600); err != nil {
		return fmt.Errorf("testenv: write the password of postgres: %w", err)
	}
	if err := s.account.own(password); err != nil {
		return fmt.Errorf("testenv: let postgres read its password: %w", err)
	}
	return s.setUp(ctx, filepath.Join(filepath.Dir(s.program), "initdb"),
		"--pgdata="+s.data(), "--username="+sqlUser, "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions")
}

func (s *PostgresServer) args(port int) []string {
	return []string{
		"-D", s.data(), "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=400", // tests share servers
		"-c", "unix_socket_directories=",
		"-c", fmt.Sprintf("fsync=%t", s.flush),
		"-c", "dynamic_shared_memory_type=mmap", // in the directory, so it goes with it
	}
}

// ready reads what the server itself notes for pg_ctl: its process id in the
// first line and its state in the eighth. One that follows another takes reads when it is a standby.
func (s *PostgresServer) ready(proc *process) bool {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 8 || lines[0] != strconv.Itoa(proc.pid()) {
		return false
	}
	state := strings.TrimSpace(lines[7])
	return state == "ready" || state == "standby"
}

// URL returns the address as postgres://…, with user, password and database.
func (s *PostgresServer) URL() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(sqlUser, s.password), Host: s.Addr(),
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}
