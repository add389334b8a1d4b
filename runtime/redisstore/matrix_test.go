package redisstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// TestMatrix makes every exported call of the API meet every fault, with every kind of context and of wait. Each cell
// has a process of its own (a Locker and a client behind a proxy) and keys of its own. It checks which error comes, how
// long that takes at most, and, when the fault is over, that nothing is left behind and everything works again. The
// parts take turns: each has hundreds of calls under way, whose times are looked at.
func TestMatrix(t *testing.T) {
	for i, faults := range [][]fault{lineFaults[:4], lineFaults[4:8], lineFaults[8:]} {
		t.Run(fmt.Sprint("line ", i), func(t *testing.T) {
			newMatrix(t, testenv.RedisConfig{}).run(faults)
		})
	}
	for _, f := range serverFaults {
		t.Run("server "+f.name, func(t *testing.T) {
			newMatrix(t, f.config).run([]fault{f})
		})
	}
}

// matrix is the cells that share a server.
type matrix struct {
	t            *testing.T
	ctx          context.Context
	server       *testenv.RedisServer
	admin        *redis.Client
	holder, next *lockrt.Locker // other processes, which no fault of a line concerns
	cells        []*cell
	late         atomic.Int32 // cells whose Close had no answer in time
}

func newMatrix(t *testing.T, cfg testenv.RedisConfig) *matrix {
	m := &matrix{t: t, server: testenv.Redis(t, cfg)}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	m.ctx = ctx
	m.admin = newClient(t, m.server)
	must(t, m.admin.Do(ctx, "ACL", "SETUSER", "app", "on", ">"+aclPassword, "~*", "&*", "+@all").Err())
	m.holder = newLocker(t, newClient(t, m.server), redisstore.Config{}, strict)
	m.next = newLocker(t, newClient(t, m.server), redisstore.Config{}, strict)
	return m
}

// matrixWaits are the values of Options.Wait that are tried.
var matrixWaits = []time.Duration{0, shortWait, lockrt.Forever}

const (
	shortWait = 700 * time.Millisecond
	// ctxTime is when contexts end that do.
	ctxTime = 300 * time.Millisecond
	// storeTime is what a call may take that nothing else bounds.
	storeTime = 5 * time.Second
	// matrixSlack is what a busy machine may add to every bound.
	matrixSlack = 2 * time.Second
	// mostLate is how many cells of hundreds may have no answer to a Close when all is well: it does not ask forever, and a
	// busy machine is late now and then.
	mostLate = 2
	// matrixPatience is how long it may take after a fault until everything is as it should be.
	matrixPatience = time.Minute
)

// ctxKind is how the context of a call ends.
type ctxKind string

const (
	endless   ctxKind = "endless"
	cancelled ctxKind = "cancelled"
	deadline  ctxKind = "deadline"
)

func (m *matrix) fill(faults []fault) {
	for _, f := range faults {
		for _, call := range matrixCalls {
			if call.total && !f.total {
				continue
			}
			waits := matrixWaits[:1]
			if call.waits {
				waits = matrixWaits
			}
			for _, kind := range []ctxKind{endless, cancelled, deadline} {
				if call.early != nil && kind == deadline {
					continue // it would end before the fault begins
				}
				for _, wait := range waits {
					m.cells = append(m.cells, &cell{
						m: m, fault: f, call: call, kind: kind, wait: wait,
						key: fmt.Sprint("cell", len(m.cells)), failing: make(chan struct{}),
					})
				}
			}
		}
	}
}

// run lets the cells go through the fault together: calls that wait take as long as one.
func (m *matrix) run(faults []fault) {
	m.fill(faults)
	m.each(16, (*cell).prepare)
	end := func() {}
	if faults[0].server != nil {
		end = faults[0].server(m.t, m.admin)
	}
	stop := watchLag(m)
	m.each(len(m.cells), (*cell).meet)
	end()
	m.each(64, (*cell).recover)
	stop()
	m.each(1, (*cell).report)
	keys, err := immortal.Run(m.ctx, m.admin, nil).StringSlice()
	if err != nil || len(keys) > 0 {
		m.t.Errorf("keys without an expiry: %q, %v", keys, err)
	}
}

// immortal lists the keys without an expiry.
var immortal = redis.NewScript(`
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found`)

// each does something for all cells, so many at a time.
func (m *matrix) each(atOnce int, do func(*cell)) {
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, c := range m.cells {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(c)
		})
	}
	wg.Wait()
}

// report makes a test of each cell, so that one can be told from another and counted.
func (c *cell) report() {
	if c.judged {
		c.judge()
	}
	c.m.t.Run(c.name(), func(t *testing.T) {
		for _, problem := range c.problems {
			t.Error(problem)
		}
	})
}

// lag is the longest time by which a goroutine of this process ran too late, while calls were measured: it was woken, and
// stood at the end of the queue of those that can run. A goroutine that only sleeps would go to the front of it, and see
// nothing of a crowd.
var lag struct {
	sync.Mutex
	most time.Duration
}

// lagged is how much later than it was a moment may have been measured.
func lagged() time.Duration {
	lag.Lock()
	defer lag.Unlock()
	return 2 * lag.most
}

func watchLag(m *matrix) (stop func()) {
	const step = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(m.ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(step)
			runtime.Gosched()
			late := time.Since(began) - step
			lag.Lock()
			lag.most = max(lag.most, late)
			lag.Unlock()
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}
