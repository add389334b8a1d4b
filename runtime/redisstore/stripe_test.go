package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// What one server of a cluster says of its clock is not taken for that of another.
func TestSession_stripe_clocksOfAClustersServers(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = client.Close() })
	s := newSession(client, lockrt.SessionConfig{Node: "node"}, Config{Liveness: time.Second, Retention: time.Hour})
	t.Cleanup(s.closeOwn)
	first := s.space.keys("k")
	ahead := time.Now().Add(30 * time.Second)
	s.stripe(first).clock.Learn(clockPair{Local: time.Now(), Micros: ahead.UnixMicro()})
	if s.stripe(s.space.keys("k")) != s.stripe(first) {
		t.Error("a lock changes its stripe")
	}
	others := 0
	for i := range 1000 {
		other := s.stripe(s.space.keys(fmt.Sprint("k", i)))
		if other == s.stripe(first) {
			continue
		}
		if others++; other.clock.Known() {
			t.Fatal("the clock of one stripe is that of another")
		}
	}
	if others < 900 {
		t.Errorf("%d of 1000 locks are in other stripes, want nearly all of them", others)
	}
	s.forgetClocks()
	if s.stripe(first).clock.Known() {
		t.Error("a clock outlives the connections")
	}
}
