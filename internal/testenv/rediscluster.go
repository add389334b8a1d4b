package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clusterSlots is the number of hash slots of a Redis Cluster.
const clusterSlots = 16384

// RedisCluster is a Redis Cluster.
type RedisCluster struct {
	// Nodes are its masters; each serves an equal part of the slots, in order.
	Nodes []*RedisServer

	// Replicas are those of the masters: with one each, Replicas[i] is that of Nodes[i]; with two,
	// Replicas[i] and Replicas[i+len(Nodes)] are.
	Replicas []*RedisServer

	cfg ClusterConfig
}

// ClusterConfig says how to start a Redis Cluster. The zero value starts masters
// alone.
type ClusterConfig struct {
	// Replicas is how many each master has.
	Replicas int

	// NodeTimeout is how long a node is silent before it counts as down; a replica
	// takes the place of a dead master up to a second or two later. Defaults to 5 s.
	NodeTimeout time.Duration

	// Env returns the RedisConfig.Env of a master, counted from 0. Defaults to none.
	Env func(master int) []string
}

// Cluster starts a cluster of n masters, and their replicas, for one test. At
// most one config may be given. It returns when every node knows all others, and
// every replica has its master's data. Servers older than Redis 7.0 cannot be
// told their bus port, so there the test fails.
func Cluster(t testing.TB, n int, config ...ClusterConfig) *RedisCluster {
	t.Helper()
	c := &RedisCluster{cfg: optional(t, config)}
	c.cfg.NodeTimeout = cmp.Or(c.cfg.NodeTimeout, 5*time.Second)
	for i := range n {
		var env []string
		if c.cfg.Env != nil {
			env = c.cfg.Env(i)
		}
		c.Nodes = append(c.Nodes, c.node(t, env...))
	}
	for range n * c.cfg.Replicas {
		c.Replicas = append(c.Replicas, c.node(t))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := c.join(ctx)
	if err == nil {
		err = c.replicate(ctx)
	}
	if err != nil {
		t.Fatalf("testenv: form a cluster of %s: %v", c.URL(), err)
	}
	return c
}

func (c *RedisCluster) node(t testing.TB, env ...string) *RedisServer {
	t.Helper()
	return Redis(t, RedisConfig{cluster: true, Env: env, Args: []string{
		"--cluster-node-timeout", strconv.FormatInt(c.cfg.NodeTimeout.Milliseconds(), 10),
		// A replica is promoted however long it has not heard of its master: a busy machine is no reason to wait.
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
	}})
}

// URL returns the addresses as redis+cluster://….
func (c *RedisCluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Addrs returns the addresses of all masters.
func (c *RedisCluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// IsMaster reports whether a node says that it is one: a replica does when it was promoted.
func (c *RedisCluster) IsMaster(node *RedisServer) bool {
	info, err := node.askOnce(context.Background(), "INFO", "replication")
	return err == nil && strings.Contains(info, "role:master")
}

func (c *RedisCluster) all() []*RedisServer {
	return append(append([]*RedisServer(nil), c.Nodes...), c.Replicas...)
}

func (c *RedisCluster) join(ctx context.Context) error {
	for i, node := range c.Nodes {
		first, last := i*clusterSlots/len(c.Nodes), (i+1)*clusterSlots/len(c.Nodes)-1
		if _, err := node.askOnce(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
		// Distinct epochs from the start: the nodes would have to settle them among each other.
		if _, err := node.askOnce(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	for _, node := range c.all() {
		host, port, _ := net.SplitHostPort(node.Addr())
		if _, err := c.Nodes[0].askOnce(ctx, "CLUSTER", "MEET", host, port, strconv.Itoa(node.busPort)); err != nil {
			return err
		}
	}
	whole := fmt.Sprintf("cluster_known_nodes:%d\r", len(c.all()))
	for _, node := range c.all() {
		if err := await(ctx, node, "CLUSTER INFO", "cluster_state:ok", whole); err != nil {
			return err
		}
	}
	return nil
}

// replicate gives the masters their replicas.
func (c *RedisCluster) replicate(ctx context.Context) error {
	for i, replica := range c.Replicas {
		id, err := c.Nodes[i%len(c.Nodes)].askOnce(ctx, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if _, err := replica.askOnce(ctx, "CLUSTER", "REPLICATE", id); err != nil {
			return err
		}
	}
	for _, replica := range c.Replicas {
		if err := await(ctx, replica, "INFO replication", "role:slave", "master_link_status:up"); err != nil {
			return err
		}
	}
	// All masters have to know of them, as it is they who elect.
	for _, node := range c.Nodes {
		if err := awaitAnswer(ctx, node, "CLUSTER NODES", func(answer string) bool {
			return strings.Count(answer, "slave ") == len(c.Replicas)
		}); err != nil {
			return err
		}
	}
	return nil
}

// await asks a node until its answer holds all texts.
func await(ctx context.Context, node *RedisServer, command string, texts ...string) error {
	return awaitAnswer(ctx, node, command, func(answer string) bool {
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				return false
			}
		}
		return true
	})
}

func awaitAnswer(ctx context.Context, node *RedisServer, command string, good func(string) bool) error {
	for {
		answer, err := node.askOnce(ctx, strings.Fields(command)...)
		if err == nil && good(answer) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err, fmt.Errorf("%s says to %s: %s", node.Addr(), command, answer))
		case <-time.After(pollEvery):
		}
	}
}
