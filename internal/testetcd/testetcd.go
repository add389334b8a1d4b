// Package testetcd starts clusters of etcd for tests and benchmarks. The server is in the binary of the caller, so that
// nothing has to be installed. It is a module of its own so that nobody else downloads it.
//
// Each member is a process: the binary itself, started again. So main, or TestMain, must begin with [BeServer].
package testetcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Options are those of a cluster.
type Options struct {
	Quota   int64  // bytes
	Compact string // revisions that are kept
	MaxOps  uint   // that a transaction may have; 0: 128
	TLS     *Files
	Fsync   bool // wait for the disk
	Lines   bool // the members can be parted from each other, see Member.Part
}

// Files are the names of files in PEM.
type Files struct{ CA, Cert, Key string }

// Cluster is a number of members.
type Cluster struct {
	Members []*Member
	lines   *lines // nil: they reach each other themselves
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
		if try == portTries || !isPortTaken(err) {
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
	var peers []string
	for i := range n {
		client, err := freeAddr()
		peer, err2 := freeAddr()
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		peers = append(peers, peer)
		c.Members = append(c.Members, &Member{number: i, setup: setup{
			Options: o, Name: fmt.Sprint("m", i), Dir: filepath.Join(dir, fmt.Sprint("m", i)), State: "new",
			Client: scheme + client, Peer: "http://" + peer, Known: "http://" + peer,
		}})
	}
	if err := c.layLines(o, peers); err != nil {
		return nil, err
	}
	if err := c.runAll(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// layLines puts lines between the members, if they are to have them.
func (c *Cluster) layLines(o Options, peers []string) (err error) {
	if !o.Lines {
		return nil
	}
	var proxies []string
	if c.lines, proxies, err = newLines(peers); err != nil {
		return err
	}
	for i, m := range c.Members {
		m.lines, m.proxy, m.setup.Known = c.lines, proxies[i], "http://"+publicHost(i)
	}
	return nil
}

// runAll starts all members. They are ready together or not at all.
func (c *Cluster) runAll() (err error) {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.setup.Name+"="+m.setup.Known)
	}
	done := make(chan error, len(c.Members))
	for _, m := range c.Members {
		m.setup.Cluster = strings.Join(all, ",")
		go func() { done <- m.run() }()
	}
	for range c.Members {
		err = errors.Join(err, <-done)
	}
	return err
}

// Stop kills all members.
func (c *Cluster) Stop() {
	for _, m := range c.Members {
		m.Kill()
	}
	if c.lines != nil {
		c.lines.close()
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
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
