// Package testetcd starts clusters of etcd for tests and benchmarks. The server is in the binary of the caller, so that
// nothing has to be installed. It is a module of its own so that nobody else downloads it.
//
// Each member is a process: the binary itself, started again. So main, or TestMain, must begin with [BeServer].
package testetcd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// serverEnv tells a process of the test binary which server it is.
const serverEnv = "TESTETCD_SERVER"

// Options are those of a cluster.
type Options struct {
	Quota   int64  // bytes
	Compact string // revisions that are kept
	TLS     *Files
	Fsync   bool // wait for the disk
}

// Files are the names of files in PEM.
type Files struct{ CA, Cert, Key string }

// setup is one member as its process is told.
type setup struct {
	Options
	Name, Dir, Client, Peer, Cluster, State string
}

// BeServer does the work of a member, and does not return there. It ends with its standard input, so that no server
// outlives the test.
func BeServer() {
	text := os.Getenv(serverEnv)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var s setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster, cfg.ClusterState = s.Name, s.Dir, s.Cluster, s.State
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = !s.Fsync // what a killed process has written is there
	cfg.QuotaBackendBytes = s.Quota
	cfg.BcryptCost = 4 // the least: a busy machine takes seconds for more
	if s.Compact != "" {
		cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "revision", s.Compact
	}
	var err error
	for to, from := range map[*[]url.URL]string{
		&cfg.ListenClientUrls: s.Client, &cfg.AdvertiseClientUrls: s.Client,
		&cfg.ListenPeerUrls: s.Peer, &cfg.AdvertisePeerUrls: s.Peer,
	} {
		u, wrong := url.Parse(from)
		*to, err = []url.URL{*u}, errors.Join(err, wrong)
	}
	if s.TLS != nil {
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = s.TLS.Cert, s.TLS.Key
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.ClientCertAuth = s.TLS.CA, true
	}
	if err != nil {
		return err
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	select {
	case <-e.Server.ReadyNotify():
		fmt.Println("ready")
	case err := <-e.Err():
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	e.Close()
	return nil
}

// Cluster is a number of members.
type Cluster struct{ Members []*Member }

// Member is one server, in a process of its own.
type Member struct {
	setup setup
	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts a cluster, and stops it at the end of the test.
func Start(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	c, err := New(t.TempDir(), n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// New starts a cluster of n members, with their files in dir. It returns when the cluster has a leader.
func New(dir string, n int, o Options) (*Cluster, error) {
	if os.Getenv(serverEnv) != "" { // or it would start itself again and again
		return nil, errors.New("a program that was started as a member goes on as something else: call BeServer first")
	}
	for try := 0; ; try++ {
		c, err := newCluster(filepath.Join(dir, fmt.Sprint(try)), n, o)
		if try == portTries || err == nil || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return c, err
		}
	}
}

// portTries is how often a cluster gets other ports because somebody was faster: they are free when they are chosen,
// and taken when their members are ready for them.
const portTries = 3

func newCluster(dir string, n int, o Options) (*Cluster, error) {
	c := new(Cluster)
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	var all []string
	for i := range n {
		client, err := freeAddr()
		peer, err2 := freeAddr()
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		m := &Member{setup: setup{
			Options: o, Name: fmt.Sprint("m", i), Dir: filepath.Join(dir, fmt.Sprint("m", i)), State: "new",
			Client: scheme + client, Peer: "http://" + peer,
		}}
		all = append(all, m.setup.Name+"="+m.setup.Peer)
		c.Members = append(c.Members, m)
	}
	done := make(chan error, n)
	for _, m := range c.Members {
		m.setup.Cluster = strings.Join(all, ",")
		go func() { done <- m.run() }()
	}
	var err error
	for range c.Members {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Stop kills all members.
func (c *Cluster) Stop() {
	for _, m := range c.Members {
		m.Kill()
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// run starts the member's process, and returns when it is a member of a cluster with a leader.
func (m *Member) run() error {
	text, err := json.Marshal(m.setup)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
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

// Restart starts a killed member again, with what it had.
func (m *Member) Restart() error {
	m.setup.State = "existing"
	return m.run()
}

// Signal sends a signal to the member's process.
func (m *Member) Signal(s os.Signal) error { return m.cmd.Process.Signal(s) }

// Addr is where clients reach the member.
func (m *Member) Addr() string {
	_, addr, _ := strings.Cut(m.setup.Client, "://")
	return addr
}

// Addrs are where clients reach the members.
func (c *Cluster) Addrs() (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Addr())
	}
	return all
}

// URL is the cluster's address as lockrt.Open takes it.
func (c *Cluster) URL() string { return "etcd://" + strings.Join(c.Addrs(), ",") }

// Client returns a client of the members, or of other addresses.
func (c *Cluster) Client(addrs ...string) (*etcd.Client, error) {
	if len(addrs) == 0 {
		addrs = c.Addrs()
	}
	return etcd.New(etcd.Config{
		Endpoints: addrs, Logger: zap.NewNop(), DialTimeout: 5 * time.Second, DialKeepAliveTime: 5 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 3 * time.Second,
		})},
	})
}

// Leader returns the member that leads, as soon as there is one.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for ctx.Err() == nil {
		for _, m := range c.Members {
			if m.cmd == nil {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, time.Second)
			s, err := client.Status(limited, m.Addr())
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				return m, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("the cluster has no leader: %w", ctx.Err())
}
