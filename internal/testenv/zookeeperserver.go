package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ZooKeeperServer is one server of ZooKeeper, a process of its own.
type ZooKeeperServer struct {
	java, jar, dir string
	port           int
	securePort     int

	mu   sync.Mutex
	proc *process // nil while it is down
}

// setUp writes the file of settings. A change of the data waits for the disk only if the tests ask for that: what a
// killed process has written is there.
func (s *ZooKeeperServer) setUp(cfg ZooKeeperConfig, id int, members []string) error {
	data := filepath.Join(s.dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("testenv: make a directory for zookeeper: %w", err)
	}
	sync := "no"
	if cfg.Fsync {
		sync = "yes"
	}
	lines := []string{
		fmt.Sprint("tickTime=", cfg.Tick.Milliseconds()), "initLimit=20", "syncLimit=5", "dataDir=" + data,
		"clientPortAddress=127.0.0.1", fmt.Sprint("clientPort=", s.port), "maxClientCnxns=0", "admin.enableServer=false",
		"4lw.commands.whitelist=srvr", fmt.Sprint("maxSessionTimeout=", cfg.MaxSession.Milliseconds()), "forceSync=" + sync,
		"preAllocSize=64",
	}
	if cfg.TLS != nil {
		lines = append(lines, "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
			fmt.Sprint("secureClientPort=", s.securePort), "secureClientPortAddress=127.0.0.1",
			"ssl.keyStore.location="+cfg.TLS.Key, "ssl.trustStore.location="+cfg.TLS.CA, "ssl.clientAuth=need")
	}
	lines = append(lines, cfg.Settings...)
	if len(members) > 1 {
		lines = append(lines, members...)
	}
	err := os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, id), 0o600)
	return errors.Join(err, os.WriteFile(filepath.Join(s.dir, "zoo.cfg"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *ZooKeeperServer) logFile() string { return filepath.Join(s.dir, "server.log") }

func (s *ZooKeeperServer) launch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("testenv: open the log of zookeeper: %w", err)
	}
	defer logFile.Close() // the child has its own copy
	classes := s.jar
	for _, other := range []string{"slf4j-simple.jar", "netty-codec.jar"} { // the second is for TLS
		classes += string(os.PathListSeparator) + filepath.Join(filepath.Dir(s.jar), other)
	}
	// The compiler and the garbage collector of a short life, in little memory.
	s.proc, err = startProcess(s.java, []string{
		"-Xmx128m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classes,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.dir, "zoo.cfg"),
	}, logFile)
	if err != nil {
		return fmt.Errorf("testenv: start %s: %w", s.java, err)
	}
	return nil
}

// awaitReady waits until the server stands alone, or has a leader.
func (s *ZooKeeperServer) awaitReady(ctx context.Context) error {
	for {
		_, err := s.mode(ctx)
		if err == nil {
			return nil
		}
		s.mu.Lock()
		proc := s.proc
		s.mu.Unlock()
		if proc == nil {
			return s.fail("start", errDown)
		}
		select {
		case <-proc.done:
			return s.startError("ended", err)
		case <-ctx.Done():
			return s.startError("is running but not ready", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *ZooKeeperServer) startError(state string, err error) error {
	text, _ := os.ReadFile(s.logFile())
	if bytes.Contains(text, []byte("Address already in use")) {
		err = errors.Join(errPortTaken, err)
	}
	return fmt.Errorf("testenv: zookeeper on %s %s: %w\nits log ends with:\n%s", s.Addr(), state, err,
		text[max(0, len(text)-logTail):])
}

// mode asks the server what it is.
func (s *ZooKeeperServer) mode(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	_, mode, found := strings.Cut(string(said), "Mode: ")
	if mode, _, _ = strings.Cut(mode, "\n"); !found {
		return "", fmt.Errorf("srvr: %q", said)
	}
	return mode, nil
}

// Addr is where clients reach the server.
func (s *ZooKeeperServer) Addr() string { return loopback(s.port) }

// SecureAddr is where clients reach the server by TLS, if it has that.
func (s *ZooKeeperServer) SecureAddr() string { return loopback(s.securePort) }

// Kill ends the server with SIGKILL and returns when it is gone. Killing a server that is down does nothing.
func (s *ZooKeeperServer) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// Restart starts a killed server again, with what it had, and returns when it has a leader. It may be called for
// several at a time.
func (s *ZooKeeperServer) Restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), zookeeperStart)
	defer cancel()
	return onItsPort(ctx, func() error {
		s.Kill()
		if err := s.launch(); err != nil {
			return err
		}
		return s.awaitReady(ctx)
	})
}

// Pause freezes the server with SIGSTOP: connections stay open and nothing is answered.
func (s *ZooKeeperServer) Pause() error { return s.signal("pause", (*process).pause) }

// Resume lets a paused server go on with SIGCONT.
func (s *ZooKeeperServer) Resume() error { return s.signal("resume", (*process).resume) }

func (s *ZooKeeperServer) signal(verb string, send func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return s.fail(verb, errDown)
	}
	if err := send(s.proc); err != nil {
		return s.fail(verb, err)
	}
	return nil
}

func (s *ZooKeeperServer) fail(verb string, err error) error {
	return fmt.Errorf("testenv: %s zookeeper on %s: %w", verb, s.Addr(), err)
}

// Data is the directory with what the server keeps.
func (s *ZooKeeperServer) Data() string { return filepath.Join(s.dir, "data") }
