package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	redisEnv     = "LOCKGEN_REDIS_SERVER"
	portAttempts = 10
	startTimeout = 2 * time.Minute
)

// ErrNotInstalled is wrapped by the error of StartRedis when there is no
// redis-server to start.
var ErrNotInstalled = errors.New("not installed")

// RedisConfig says how to start a Redis server. The zero value starts one that
// keeps its data in memory only.
type RedisConfig struct {
	// AOF makes the server log and sync every write before it answers, so that
	// data survives Kill followed by Restart.
	AOF bool

	// Password is what clients must send with AUTH. Defaults to none.
	Password string

	// Args are appended to the command line, for example "--maxmemory", "10mb".
	Args []string

	// Env has variables that the server gets besides the environment of the test.
	Env []string

	sentinelFile string // makes it a sentinel with this configuration
	cluster      bool   // gives it a port for the bus of a cluster
}

// RedisServer is a running redis-server that belongs to its creator.
// All methods may be called from several goroutines.
//
// The methods that return an error also fail the test the server was made for,
// if it was made by [Redis], so there the result may be dropped.
type RedisServer struct {
	cfg     RedisConfig
	program string
	port    int
	busPort int // 0: none
	dir     string
	report  func(error) error

	mu      sync.Mutex // guards the fields below
	proc    *process   // nil while the server is down
	stopped bool
}

// Redis starts a server for one test and stops it when the test ends. At most
// one config may be given. See the package documentation for what happens where
// redis-server is not installed.
func Redis(t testing.TB, config ...RedisConfig) *RedisServer {
	t.Helper()
	s, err := StartRedis(context.Background(), optional(t, config))
	switch {
	case errors.Is(err, ErrNotInstalled):
		missing(t, "redis", err)
	case err != nil:
		t.Fatal(err)
	}
	s.report = func(err error) error {
		if err != nil {
			t.Helper()
			t.Error(err) // not Fatal: the caller may be another goroutine
		}
		return err
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

// optional returns the config, the zero value if there is none.
func optional[C any](t testing.TB, config []C) (cfg C) {
	t.Helper()
	if len(config) > 1 {
		t.Fatalf("testenv: at most one config may be given, got %d", len(config))
	}
	if len(config) == 1 {
		cfg = config[0]
	}
	return cfg
}

// StartRedis starts a server and returns once it has answered. It gives up when
// ctx ends, or after two minutes. The caller must call Stop.
func StartRedis(ctx context.Context, cfg RedisConfig) (*RedisServer, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockgen-redis-")
	if err != nil {
		return nil, fmt.Errorf("testenv: make a directory for redis-server: %w", err)
	}
	s := &RedisServer{cfg: cfg, program: program, dir: dir, report: func(err error) error { return err }}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.startOnFreePort(ctx); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func redisProgram() (string, error) {
	name := os.Getenv(redisEnv)
	if name == "" {
		name = "redis-server"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("testenv: redis-server is %w: %w; install it (apt-get install redis-server) or name one in %s",
			ErrNotInstalled, err, redisEnv)
	}
	return program, nil
}

// startOnFreePort tries several ports: between finding a free one and the
// server's bind, any other process may take it.
func (s *RedisServer) startOnFreePort(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		if s.cfg.cluster {
			if s.busPort, err = freePort(); err != nil {
				return err
			}
		}
		err = s.launch(ctx)
		if err == nil || attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("testenv: find a free port on 127.0.0.1: %w", err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// Addr returns the host and port of the server.
func (s *RedisServer) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// URL returns the address as redis://…/0, with the password if there is one.
func (s *RedisServer) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr(), Path: "/0"}
	if s.cfg.Password != "" {
		u.User = url.UserPassword("", s.cfg.Password)
	}
	return u.String()
}

func (s *RedisServer) logFile() string { return filepath.Join(s.dir, "server.log") }

func (s *RedisServer) args() []string {
	if s.cfg.sentinelFile != "" {
		return []string{s.cfg.sentinelFile, "--sentinel", "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir}
	}
	args := []string{
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(s.port),
		"--dir", s.dir,
		"--daemonize", "no",
		"--save", "", // no snapshots: what survives is decided by AOF alone
		"--appendonly", "no",
	}
	if s.cfg.AOF {
		// Syncing always, because with everysec a write may be acknowledged
		// up to two seconds before it reaches the file.
		args = append(args[:len(args)-1], "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
	}
	if s.cfg.Password != "" {
		args = append(args, "--requirepass", s.cfg.Password)
	}
	if s.cfg.cluster {
		args = append(args, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.busPort))
	}
	return append(args, s.cfg.Args...)
}
