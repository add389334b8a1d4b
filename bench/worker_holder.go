package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// holderWorker is a process that holds many leases of this library.
const holderWorker = "holder"

// holderOrders is what such a process is told.
type holderOrders struct {
	Addr   string        `json:"addr"`
	Leases int           `json:"leases"`
	TTL    time.Duration `json:"ttl"`
	Ask    int           `json:"ask"` // of how many leases the store is asked at the end; 0: of all
}

// holderFound is what it reports.
type holderFound struct {
	Lost     int64         `json:"lost"` // by the lease's own account, or by the store's at the end
	CPU      time.Duration `json:"cpu"`  // used between go and stop
	Elapsed  time.Duration `json:"elapsed"`
	Acquired time.Duration `json:"acquired"` // how long it took to get all of them
}

// holderCallers is how many goroutines acquire and check the leases.
const holderCallers = 64

func runHolder(ctx context.Context, text []byte, at *signals) (any, error) {
	var o holderOrders
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	// Neither released nor closed: the server ends with the scenario, and 100,000 releases are not what is measured.
	l, err := openHolder(ctx, o)
	if err != nil {
		return nil, err
	}
	leases := make([]*lockrt.Lease, o.Leases)
	acquired, err := spreadOver(ctx, leases, func(ctx context.Context, i int) (err error) {
		leases[i], err = l.Acquire(ctx, fmt.Sprintf("renew-%d", i), lockrt.Options{TTL: o.TTL, Wait: lockrt.Forever})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := at.ready(); err != nil {
		return nil, err
	}
	cpu, begun := cpuUsed(), time.Now()
	window, parentGone := at.untilStop(ctx)
	<-window.Done()
	found := &holderFound{CPU: cpuUsed() - cpu, Elapsed: time.Since(begun), Acquired: acquired}
	if err := parentGone(); err != nil {
		return nil, err
	}
	var lost atomic.Int64
	asked := leases
	if o.Ask > 0 && o.Ask < len(leases) {
		asked = leases[:o.Ask]
		for _, lease := range leases[o.Ask:] {
			if lease.Err() != nil {
				lost.Add(1)
			}
		}
	}
	_, err = spreadOver(ctx, asked, func(ctx context.Context, i int) error {
		err := leases[i].Check(ctx) // asks the lease, then the store
		if errors.Is(err, lockrt.ErrLost) {
			lost.Add(1)
			return nil
		}
		return err
	})
	found.Lost = lost.Load()
	return found, err
}

// openHolder opens a database by its URL, or Redis by its address.
func openHolder(ctx context.Context, o holderOrders) (*lockrt.Locker, error) {
	if strings.Contains(o.Addr, "://") {
		return lockrt.Open(ctx, o.Addr, lockrt.Config{Node: "bench"})
	}
	l, err := openLockgen(address{addr: o.Addr}, 0, redisstore.Config{})
	if err != nil {
		return nil, err
	}
	return l.locker, nil
}

// spreadOver runs work for each lease, on several goroutines.
func spreadOver(ctx context.Context, leases []*lockrt.Lease, work func(ctx context.Context, i int) error) (time.Duration, error) {
	return burst(ctx, holderCallers, func(ctx context.Context, caller int) error {
		for i := caller; i < len(leases); i += holderCallers {
			if err := work(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// cpuUsed is the time that this process has run on any core, the kernel's work for it included.
func cpuUsed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it knows this argument
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
