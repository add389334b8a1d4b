package testenv

import (
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

// RedisCluster is a Redis Cluster of masters without replicas.
type RedisCluster struct {
	// Nodes are its servers; each serves an equal part of the slots, in order.
	Nodes []*RedisServer
}

// Cluster starts a cluster of n masters for one test. Servers older than
// Redis 7.0 cannot be told their bus port, so there the test skips.
func Cluster(t testing.TB, n int) *RedisCluster {
	t.Helper()
	c := new(RedisCluster)
	var busPorts []int
	for range n {
		bus, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		busPorts = append(busPorts, bus)
		c.Nodes = append(c.Nodes, Redis(t, RedisConfig{Args: []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "5000",
		}}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := c.join(ctx, busPorts); err != nil {
		t.Fatalf("testenv: form a cluster of %s: %v", c.URL(), err)
	}
	return c
}

// URL returns the addresses as redis+cluster://….
func (c *RedisCluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Addrs returns the addresses of all nodes.
func (c *RedisCluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

func (c *RedisCluster) join(ctx context.Context, busPorts []int) error {
	for i, node := range c.Nodes {
		first, last := i*clusterSlots/len(c.Nodes), (i+1)*clusterSlots/len(c.Nodes)-1
		if _, err := node.askOnce(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
		// Distinct epochs from the start: the nodes would have to settle them among each other.
		if _, err := node.askOnce(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(node.Addr())
		if _, err := c.Nodes[0].askOnce(ctx, "CLUSTER", "MEET", host, port, strconv.Itoa(busPorts[i])); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := c.awaitWhole(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// awaitWhole waits until a node knows all slots and all nodes.
func (c *RedisCluster) awaitWhole(ctx context.Context, node *RedisServer) error {
	for {
		info, err := node.askOnce(ctx, "CLUSTER", "INFO")
		if err == nil && strings.Contains(info, "cluster_state:ok") &&
			strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err, fmt.Errorf("%s says: %s", node.Addr(), info))
		case <-time.After(pollEvery):
		}
	}
}
