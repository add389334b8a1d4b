package testenv

import (
	"context"
	"errors"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testsync"
)

func TestStartRedis_errorShowsTheLog(t *testing.T) {
	installed(t)
	_, err := StartRedis(context.Background(), RedisConfig{Args: []string{"--no-such-option", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("error does not show what the server said: %v", err)
	}
}

func TestStartRedis_endsWithItsContext(t *testing.T) {
	installed(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := StartRedis(ctx, RedisConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

// A server that loses the race for its port must not be taken for ready because
// somebody else answers there.
func TestRedisServer_launch_portTakenByAnotherServer(t *testing.T) {
	other := Redis(t)
	s := &RedisServer{program: other.program, port: other.port, dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.launch(ctx); !errors.Is(err, errPortTaken) {
		t.Errorf("launch on a taken port: %v, want errPortTaken", err)
	}
}

// A node of a cluster has two ports, and both are found anew where one is taken.
func TestRedisServer_startOnFreePort_busPortTaken(t *testing.T) {
	other := Redis(t)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &RedisServer{cfg: RedisConfig{cluster: true}, program: other.program, port: port, busPort: other.port, dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.launch(ctx); !errors.Is(err, errPortTaken) {
		t.Errorf("launch on a taken bus port: %v, want errPortTaken", err)
	}
	t.Cleanup(func() { s.killLocked() })
	if err := s.startOnFreePort(ctx); err != nil || s.busPort == other.port {
		t.Errorf("startOnFreePort: %v, with bus port %d", err, s.busPort)
	}
}

func TestRedisServer_Restart_waitsForItsPort(t *testing.T) {
	s := Redis(t)
	s.Kill()
	ln, err := net.Listen("tcp", s.Addr())
	if err != nil {
		t.Skipf("somebody else took %s first: %v", s.Addr(), err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- s.Restart() }()
	conn, err := ln.Accept() // Restart asks on the port: it is waiting
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	ln.Close()
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	mustCommand(t, s, "PING")
}

func TestRedis_manyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	servers := make([]*RedisServer, 8)
	installed(t)
	for i := range servers {
		wg.Go(func() {
			s, err := StartRedis(context.Background(), RedisConfig{})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	ports := map[int]bool{}
	for _, s := range servers {
		if s == nil {
			continue
		}
		if ports[s.port] {
			t.Errorf("two servers on port %d", s.port)
		}
		ports[s.port] = true
		s.Stop()
	}
}

func TestRequired(t *testing.T) {
	for list, want := range map[string]bool{
		"": false, "redis": true, "etcd, redis": true, "redis-cluster": false, "etcd": false,
	} {
		t.Setenv(requireEnv, list)
		if got := Required("redis"); got != want {
			t.Errorf("%s=%q: Required = %v, want %v", requireEnv, list, got, want)
		}
	}
}

// outcome records how missing ended a test.
type outcome struct {
	testing.TB
	failed, skipped bool
}

func (o *outcome) Helper()               {}
func (o *outcome) Fatalf(string, ...any) { o.failed = true; runtime.Goexit() }
func (o *outcome) Skip(...any)           { o.skipped = true; runtime.Goexit() }

func TestRedis_missingServer(t *testing.T) {
	t.Setenv(redisEnv, filepath.Join(t.TempDir(), "no-redis-here"))
	for list, want := range map[string]outcome{
		"":      {skipped: true},
		"redis": {failed: true},
	} {
		t.Setenv(requireEnv, list)
		var got outcome
		var wg sync.WaitGroup
		wg.Go(func() { Redis(&got) })
		wg.Wait()
		if got.failed != want.failed || got.skipped != want.skipped {
			t.Errorf("%s=%q: failed %v, skipped %v", requireEnv, list, got.failed, got.skipped)
		}
	}
}

// helperEnv makes the test binary a parent that starts a server, writes its
// port to the file named here, and waits to be killed.
const helperEnv = "TESTENV_HELPER"

func TestMain(m *testing.M) {
	if portFile := os.Getenv(helperEnv); portFile != "" {
		beParent(portFile)
	}
	goleak.VerifyTestMain(m)
}

func beParent(portFile string) {
	s, err := StartRedis(context.Background(), RedisConfig{})
	if err != nil {
		log.Fatal(err)
	}
	// Renamed into place, so that the reader never sees half a number.
	if err := os.WriteFile(portFile+".part", []byte(strconv.Itoa(s.port)), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(portFile+".part", portFile); err != nil {
		log.Fatal(err)
	}
	time.Sleep(time.Hour)
}

func TestStartRedis_serverDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	installed(t)
	portFile := filepath.Join(t.TempDir(), "port")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperEnv+"="+portFile, "TMPDIR="+t.TempDir())
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { parent.Process.Kill(); parent.Wait() }()
	orphan := new(RedisServer)
	testsync.Eventually(t, "the helper starts its server", func() bool {
		text, err := os.ReadFile(portFile)
		if err == nil {
			orphan.port, err = strconv.Atoi(string(text))
		}
		return err == nil
	})
	if _, err := orphan.askProcessID(context.Background()); err != nil {
		t.Fatalf("the helper's server does not answer: %v", err)
	}
	parent.Process.Kill()
	parent.Wait()
	testsync.Eventually(t, "the server of the killed helper refuses connections", func() bool {
		_, err := orphan.askProcessID(context.Background())
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

func TestZooKeeperServer_Restart_waitsForItsPort(t *testing.T) {
	s := ZooKeeper(t).Servers[0]
	s.Kill()
	ln, err := net.Listen("tcp", s.Addr())
	if err != nil {
		t.Skipf("somebody else took %s first: %v", s.Addr(), err)
	}
	defer ln.Close()
	conns := make(chan error, 1)
	go func() {
		conn, err := ln.Accept() // Restart asks on the port: it is waiting
		if err == nil {
			conn.Close()
			time.Sleep(2 * time.Second) // the server finds the port taken before that
			ln.Close()
		}
		conns <- err
	}()
	if err := s.Restart(); err != nil {
		t.Error(err)
	}
	if err := <-conns; err != nil {
		t.Error(err)
	}
}
