package testlocks

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Server is one of several that keep locks.
type Server interface {
	Addr() string
	Kill()
	Restart() error
	Pause() error
	Resume() error
}

// Chaos is a test of some nodes that share a few locks of a cluster. Leaders are killed and stopped, nodes are cut off,
// silenced and slowed down, answers are lost, locks are broken; nodes that are processes are killed and stopped, too,
// and servers that are Peers are parted from each other and get slow disks. A witness knows what each of them believes:
// no two contexts of one key are alive at the same time, unless they may share it, fences grow in the order of
// acquisition, and who waits is served in the end. The namespace is the test's name.
//
// The harm ends after so many Faults, or when Patience is over; with fewer than leastFaults the test fails. With
// LOCKGEN_SOAK it goes on until all of soakFaults are done, and LOCKGEN_SOAK=10 makes that ten times as many.
// LOCKGEN_SEED repeats the plan of a run.
type Chaos struct {
	Servers   []Server
	Leader    func(context.Context) (Server, error)
	Open      Opener
	Modes     bool // one of the keys is held by readers, writers and permits
	Processes bool // each node is a process of its own, if TestMain begins with BeProcess
	Faults    int
	Patience  time.Duration // the faults end after this time
}

const (
	nodes = 4
	// leastFaults is how many faults a run must do. It has twice as long for them as for all Faults.
	leastFaults = 25
	// soakFaults is the same with LOCKGEN_SOAK. None may be missing.
	soakFaults = 100
)

// Run does harm for a while, lets everything come to its end, and hears the witness.
func (c Chaos) Run(t *testing.T) {
	r := c.begin(t)
	began := time.Now()
	done := r.harm()
	for calm := time.Now(); r.leases() < leastLeases && time.Since(calm) < time.Minute; {
		time.Sleep(100 * time.Millisecond)
	}
	r.end()
	bad, leases := r.witness.Verdict()
	for _, problem := range bad {
		t.Error(problem)
	}
	t.Logf("%d faults (%v) in %s, %d leases were seen", done, r.acts, time.Since(began).Round(time.Second), leases)
	if err := r.tooFew(done); err != nil {
		t.Error(err)
	}
	if leases < leastLeases {
		t.Error("so few leases prove nothing")
	}
}

// harm does harm until all faults are done or the time is over, and goes on for as long again where they are too few.
func (r *run) harm() (done int) {
	for began := time.Now(); done < r.Faults; done++ {
		if took := time.Since(began); took > 2*r.Patience || took > r.Patience && done >= r.least {
			return done
		}
		r.act()
	}
	return done
}

func (r *run) tooFew(done int) error {
	if done < r.least {
		return fmt.Errorf("%d faults prove too little: want %d, or set LOCKGEN_SOAK for more time", done, r.least)
	}
	return nil
}

// leastLeases is how many leases must have been seen to believe the run.
const leastLeases = 20

func (r *run) leases() int {
	_, leases := r.witness.Verdict()
	return leases
}

// run is a Chaos that goes on.
type run struct {
	Chaos
	t        *testing.T
	rand     *rand.Rand
	witness  *Witness
	keys     []string
	mixed    string
	nodes    []*node
	started  int
	operator *lockrt.Locker // breaks locks
	harms    []harm
	acts     map[string]int
	least    int // faults
}

func (c *Chaos) begin(t *testing.T) *run {
	seed := rand.Uint64()
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("LOCKGEN_SEED=%d repeats this plan", seed)
	least := leastFaults
	if text := os.Getenv("LOCKGEN_SOAK"); text != "" {
		times, _ := strconv.Atoi(text) // any other word is as good as 1
		least = soakFaults * max(1, times)
		c.Faults, c.Patience = least, 10*c.Patience*time.Duration(max(1, times))
	}
	r := &run{
		Chaos: *c, t: t, rand: rand.New(rand.NewPCG(seed, 0)), witness: NewWitness(), keys: []string{"a", "b"},
		harms: harmsFor(*c), acts: make(map[string]int), least: least,
	}
	if c.Modes {
		r.mixed = "mixed"
		r.keys = append(r.keys, r.mixed)
	}
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	var err error
	r.operator, err = c.Open(addrs, lockrt.Config{
		Namespace: t.Name(), Node: "operator", Logger: slog.New(slog.DiscardHandler),
	})
	r.must(err)
	for range nodes {
		r.nodes = append(r.nodes, r.start())
	}
	return r
}

// harmsFor are all that nodes and servers of a kind can bear.
func harmsFor(c Chaos) []harm {
	all := slices.Clone(harms)
	if c.Processes {
		all = append(all, processHarms...)
	}
	if _, lines := c.Servers[0].(Peer); lines {
		all = append(all, peerHarms...)
	}
	return all
}

// start starts a node.
func (r *run) start() *node {
	n := newNode(r.t, fmt.Sprint("node ", r.started), r.Servers)
	p := plan{
		Namespace: r.t.Name(), Node: n.name, Addrs: n.addrs(), Seed: r.rand.Uint64(),
		Keys: r.keys, Mixed: r.mixed, Line: r.started%2 == 0,
	}
	r.started++
	if r.Processes {
		n.startProcess(r.t, p, r.witness)
	} else {
		u, err := p.open(r.Open)
		r.must(err)
		n.startHere(p.Seed, u, r.witness)
	}
	return n
}

func (r *run) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// end lets all nodes come to their end. Each gets every lock before.
func (r *run) end() {
	r.t.Helper()
	done := make(chan error, len(r.nodes))
	for _, n := range r.nodes {
		go func() { done <- n.end() }()
	}
	for range r.nodes {
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.operator.Close(ctx); err != nil {
		r.t.Errorf("close the operator's Locker: %v", err)
	}
}
