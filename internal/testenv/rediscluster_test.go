package testenv

import (
	"strings"
	"testing"
	"time"
)

func TestCluster_replicaTakesThePlaceOfItsMaster(t *testing.T) {
	c := Cluster(t, 3, ClusterConfig{Replicas: 1, NodeTimeout: time.Second})
	for i, replica := range c.Replicas {
		if c.IsMaster(replica) || !c.IsMaster(c.Nodes[i]) {
			t.Errorf("the roles of pair %d are wrong", i)
		}
		_, port, _ := strings.Cut(c.Nodes[i].Addr(), ":")
		if info := mustCommand(t, replica, "INFO", "replication"); !strings.Contains(info, "master_port:"+port) {
			t.Errorf("replica %d has another master than node %d:\n%s", i, i, info)
		}
	}
	c.Nodes[1].Kill()
	for end := time.Now().Add(startTimeout); !c.IsMaster(c.Replicas[1]); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			t.Fatal("the replica was not promoted")
		}
	}
}
