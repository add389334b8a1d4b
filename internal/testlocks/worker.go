package testlocks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	workers = 3
	permits = 3
)

// user is the part of a node that uses locks.
type user struct {
	node  string
	locks *lockrt.Locker
	keys  []string
	mixed string       // the one of keys that is held in all ways
	hear  func(Belief) // may be called concurrently

	beliefs, lost atomic.Int64
}

// work takes locks in all ways until stop is closed.
func (u *user) work(seed uint64, stop <-chan struct{}) {
	var all sync.WaitGroup
	for i := range workers {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					u.visit(random)
				}
			}
		})
	}
	all.Wait()
}

func (u *user) visit(random *rand.Rand) {
	key := u.keys[random.IntN(len(u.keys))]
	o := lockrt.Options{TTL: time.Second + upTo(random, 2*time.Second)}
	switch random.IntN(4) {
	case 0:
	case 1:
		o.Wait = upTo(random, 500*time.Millisecond)
	default:
		o.Wait = 20 * time.Second
	}
	o.NoRenew = random.IntN(4) == 0
	downgrade := false
	if key == u.mixed {
		switch random.IntN(6) {
		case 0, 1, 2:
			o.Mode = lockrt.Read
		case 3:
			o.Permits = permits
		case 4:
			downgrade = true
		}
	}
	patience := 30 * time.Second
	if random.IntN(4) == 0 {
		patience = upTo(random, 200*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stay := 60 * time.Millisecond
	if random.IntN(20) == 0 {
		stay = 5 * time.Second // longer than a TTL, so that renewals matter
	}
	u.hold(ctx, key, o, upTo(random, stay), downgrade)
}

// hold takes a lock for a while. A writer may go on as a reader for as long again.
func (u *user) hold(ctx context.Context, key string, o lockrt.Options, d time.Duration, downgrade bool) {
	lease, err := u.locks.Acquire(ctx, key, o)
	if err != nil {
		time.Sleep(5 * time.Millisecond)
		return
	}
	u.believe(lease, d, o.Mode == lockrt.Read)
	if downgrade && lease.Downgrade(ctx) == nil {
		u.believe(lease, d, true)
	}
	_ = lease.Release(ctx)
}

// tellEvery is how often a node says that a lease lives: it may be killed at any time.
const tellEvery = 20 * time.Millisecond

// believe tells of a lease for as long as it is believed in. The moment is taken before the context is asked, and one
// that has ended never lives again.
func (u *user) believe(lease *lockrt.Lease, d time.Duration, read bool) {
	b := Belief{
		Key: lease.Key(), Number: int(u.beliefs.Add(1)), Node: u.node, Fence: lease.Fence(), Read: read, Slot: lease.Slot(),
	}
	told := int64(0)
	for b.From = Now(); ; time.Sleep(time.Millisecond) {
		now := Now()
		if lease.Err() != nil {
			u.lost.Add(1)
			break
		}
		if b.To = now; time.Duration(now-b.From) > d {
			break
		}
		if time.Duration(now-told) > tellEvery {
			u.hear(b)
			told = now
		}
	}
	if b.To != 0 {
		u.hear(b)
	}
}

// end makes sure that the node gets every lock when all harm is over, and closes its Locker.
func (u *user) end() error {
	for _, key := range u.keys {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		lease, err := u.locks.Acquire(ctx, key, lockrt.Options{TTL: time.Minute, Wait: time.Minute})
		if err == nil {
			err = lease.Release(ctx)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s does not get %q at the end: %w", u.node, key, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := u.locks.Close(ctx); err != nil {
		return fmt.Errorf("close %s: %w", u.node, err)
	}
	return nil
}

// upTo returns a time below d.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}
