package storetest

import (
	"errors"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A writer that goes on as a reader.
var downgradeTests = map[string]func(*testing.T, *env){
	"before_all_who_wait": func(t *testing.T, e *env) {
		a, b := e.downgrader("a"), e.downgrader("b")
		g := e.takeAs(a, writer(0))
		r1 := e.wait(e.ctx, b, reader(1))
		w2 := e.wait(e.ctx, b, writer(2))
		e.wait(e.ctx, a, reader(3))
		if epoch := e.downgrade(a, 0, false); epoch != g.Epoch {
			t.Errorf("the epoch is %d after the downgrade, want still %d", epoch, g.Epoch)
		}
		if beside := e.grantedAs(reader(1), r1); beside.Epoch != g.Epoch {
			t.Errorf("the reader beside it has epoch %d, want %d", beside.Epoch, g.Epoch)
		}
		e.state(a, "0 1", "2 3")
		if info := e.info(a, "k"); info.Mode != lockrt.Read {
			t.Errorf("the lock is %+v, want one held for reading", info)
		}
		e.releaseAs(b, reader(1))
		e.state(a, "0", "2 3")
		e.releaseAs(a, reader(0))
		if next := e.granted("2", w2); next.Epoch <= g.Epoch {
			t.Errorf("the next writer's epoch is %d after %d", next.Epoch, g.Epoch)
		}
	},

	"may_be_repeated": func(t *testing.T, e *env) {
		// The first answer was lost, and others read already.
		a, b := e.downgrader("a"), e.downgrader("b")
		for _, anew := range []bool{false, true} {
			g := e.takeAs(a, writer(0))
			epoch := e.downgrade(a, 0, anew)
			if anew != (epoch > g.Epoch) {
				t.Errorf("the epoch is %d after %d, asked for a new one: %v", epoch, g.Epoch, anew)
			}
			if beside := e.takeAs(b, reader(1)); beside.Epoch != epoch {
				t.Errorf("the reader beside it has epoch %d, want %d", beside.Epoch, epoch)
			}
			if again := e.downgrade(a, 0, anew); again != epoch {
				t.Errorf("asked again the epoch is %d, was %d", again, epoch)
			}
			e.state(a, "0 1", "")
			e.epochs[share{"k", "0"}] = epoch
			e.releaseAs(a, reader(0))
			e.releaseAs(b, reader(1))
			e.free(a, "k")
		}
	},

	"either_mode_names_the_lease": func(t *testing.T, e *env) {
		// Renewals and releases may cross with the downgrade, whether it was executed or not.
		s := e.downgrader("a")
		for _, downgraded := range []bool{false, true} {
			for _, named := range []lockrt.Request{writer(0), reader(0)} {
				e.takeAs(s, writer(0))
				if downgraded {
					e.downgrade(s, 0, false)
				}
				if err := s.Renew(e.ctx, []lockrt.Renewal{e.renewal(named)})[0]; err != nil {
					t.Errorf("renewal for %s, downgraded %v: %v", named.Mode, downgraded, err)
				}
				e.releaseAs(s, named)
				e.free(s, "k")
			}
		}
	},

	"of_what_is_lost": func(t *testing.T, e *env) {
		s := e.downgrader("a")
		g := e.takeAs(s, writer(0))
		e.releaseAs(s, writer(0))
		e.takeAs(s, writer(1))
		d := lockrt.Downgrading{Key: "k", ID: "0", Epoch: g.Epoch}
		if _, err := s.Downgrade(e.ctx, d); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("downgrade of a released lease: %v, want ErrLost", err)
		}
		e.state(s, "1", "")
		e.busyWith(s, reader(2), 0)
	},
}

type downgrader interface {
	lockrt.Sharer
	lockrt.Downgrader
}

func (e *env) downgrader(node string) downgrader {
	e.t.Helper()
	d, ok := e.sharer(node).(downgrader)
	if !ok {
		e.t.Skip("this store has no Downgrader")
	}
	return d
}

// downgrade lets a writer's lease on "k" go on as a reader's, and returns its epoch.
func (e *env) downgrade(s lockrt.Downgrader, i int, anew bool) uint64 {
	e.t.Helper()
	id := writer(i).ID
	d := lockrt.Downgrading{Key: "k", ID: id, Epoch: e.epochs[share{"k", id}], NewEpoch: anew}
	epoch, err := s.Downgrade(e.ctx, d)
	if err != nil {
		e.t.Fatalf("downgrade: %v", err)
	}
	return epoch
}
