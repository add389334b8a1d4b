package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	zookeeperEnv   = "LOCKGEN_ZOOKEEPER_JAR"
	zookeeperJar   = "/usr/share/java/zookeeper.jar"
	zookeeperStart = 2 * time.Minute // Java on a busy machine
)

// ZooKeeperConfig describes the servers. The zero value is one server with short ticks.
type ZooKeeperConfig struct {
	// Servers is how many there are. Defaults to 1.
	Servers int
	// Tick is the unit of their times. Sessions last two ticks at the least. Defaults to 500 ms.
	Tick time.Duration
	// MaxSession is the longest session that they give. Defaults to 20 ticks.
	MaxSession time.Duration
	// Fsync makes them wait for the disk at every write.
	Fsync bool
	// TLS lets them take clients on a second port, by TLS; see SecureAddr. Clients must have a certificate, too.
	TLS *ZooKeeperTLS
	// Settings are further lines of their file of settings.
	Settings []string
}

// ZooKeeperTLS are the names of files that end in .pem. Key has the certificate of the servers and its key in PKCS #8, CA
// the certificates that clients may have.
type ZooKeeperTLS struct{ CA, Key string }

// ZooKeeperEnsemble is one or several servers of ZooKeeper that belong together.
type ZooKeeperEnsemble struct {
	Servers []*ZooKeeperServer
	dir     string
}

// ZooKeeper starts servers for one test and stops them when it ends. Their name in LOCKGEN_REQUIRE is "zookeeper".
// LOCKGEN_ZOOKEEPER_JAR names another zookeeper.jar than that of Debian. At most one config may be given.
func ZooKeeper(t testing.TB, config ...ZooKeeperConfig) *ZooKeeperEnsemble {
	t.Helper()
	e, err := StartZooKeeper(context.Background(), optional(t, config))
	NeedZooKeeper(t, err)
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// NeedZooKeeper ends the test if err, which is that of StartZooKeeper, says that there is none.
func NeedZooKeeper(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNotInstalled):
		missing(t, "zookeeper", err)
	case err != nil:
		t.Fatal(err)
	}
}

// StartZooKeeper starts servers outside a test. The caller stops them. It returns when they have a leader. The error
// wraps ErrNotInstalled if ZooKeeper or Java is missing.
func StartZooKeeper(ctx context.Context, cfg ZooKeeperConfig) (*ZooKeeperEnsemble, error) {
	java, err := exec.LookPath("java")
	jar := zookeeperJar
	if path := os.Getenv(zookeeperEnv); path != "" {
		jar = path
	}
	if err == nil {
		_, err = os.Stat(jar)
	}
	if err != nil {
		return nil, fmt.Errorf("testenv: zookeeper is %w: %w; install it (apt-get install zookeeper), or set %s to its jar",
			ErrNotInstalled, err, zookeeperEnv)
	}
	cfg.Servers, cfg.Tick = max(cfg.Servers, 1), max(cfg.Tick, 0)
	if cfg.Tick == 0 {
		cfg.Tick = 500 * time.Millisecond
	}
	if cfg.MaxSession == 0 {
		cfg.MaxSession = 20 * cfg.Tick
	}
	ctx, cancel := context.WithTimeout(ctx, zookeeperStart)
	defer cancel()
	for attempt := 1; ; attempt++ {
		e, err := launchZooKeeper(ctx, java, jar, cfg)
		if err == nil || attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return e, err
		}
	}
}

// launchZooKeeper makes one attempt, on ports that were free a moment ago.
func launchZooKeeper(ctx context.Context, java, jar string, cfg ZooKeeperConfig) (*ZooKeeperEnsemble, error) {
	dir, err := os.MkdirTemp("", "lockgen-zookeeper-")
	if err != nil {
		return nil, fmt.Errorf("testenv: make a directory: %w", err)
	}
	e := &ZooKeeperEnsemble{dir: dir}
	var members []string
	for i := 1; i <= cfg.Servers; i++ {
		var ports [4]int
		for j := range ports {
			if ports[j], err = freePort(); err != nil {
				return nil, errors.Join(err, e.Stop())
			}
		}
		s := &ZooKeeperServer{java: java, jar: jar, port: ports[0], securePort: ports[3], dir: filepath.Join(dir, fmt.Sprint("server", i))}
		e.Servers = append(e.Servers, s)
		members = append(members, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i, ports[1], ports[2]))
	}
	for i, s := range e.Servers {
		if err := s.setUp(cfg, i+1, members); err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	for _, s := range e.Servers {
		if err := s.launch(); err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	for _, s := range e.Servers {
		if err := s.awaitReady(ctx); err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	return e, nil
}

// Stop ends all servers for good, and removes their files.
func (e *ZooKeeperEnsemble) Stop() error {
	for _, s := range e.Servers {
		s.Kill()
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("testenv: remove the directory of zookeeper: %w", err)
	}
	return nil
}

// Addrs are where clients reach the servers.
func (e *ZooKeeperEnsemble) Addrs() (all []string) {
	for _, s := range e.Servers {
		all = append(all, s.Addr())
	}
	return all
}

// URL returns the address as zk://host:port,….
func (e *ZooKeeperEnsemble) URL() string { return "zk://" + strings.Join(e.Addrs(), ",") }

// Leader returns the server that leads, as soon as there is one: the only one, if it stands alone.
func (e *ZooKeeperEnsemble) Leader(ctx context.Context) (*ZooKeeperServer, error) {
	for {
		for _, s := range e.Servers {
			if mode, err := s.mode(ctx); err == nil && (mode == "leader" || mode == "standalone") {
				return s, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("testenv: zookeeper has no leader: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }
