package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The one queue of all kinds: the first is admitted while it fits, and nobody overtakes.
var shareQueueTests = map[string]func(*testing.T, *env){
	"adjacent_readers_enter_together": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		before := e.takeAs(a, writer(0))
		r1 := e.wait(e.ctx, a, reader(1))
		r2 := e.wait(e.ctx, b, reader(2))
		w3 := e.wait(e.ctx, b, writer(3))
		r4 := e.wait(e.ctx, a, reader(4))
		e.releaseAs(a, writer(0))
		one, two := e.grantedAs(reader(1), r1), e.grantedAs(reader(2), r2)
		if one.Epoch <= before.Epoch || two.Epoch != one.Epoch {
			t.Errorf("the readers have the epochs %d and %d, want one above %d", one.Epoch, two.Epoch, before.Epoch)
		}
		e.busyWith(a, reader(5), 2) // a writer waits
		e.state(a, "1 2", "3 4")
		e.releaseAs(a, reader(1))
		e.state(a, "2", "3 4")
		e.releaseAs(b, reader(2))
		if g := e.grantedAs(writer(3), w3); g.Epoch <= one.Epoch {
			t.Errorf("the writer's epoch is %d after the readers' %d", g.Epoch, one.Epoch)
		}
		e.state(a, "3", "4")
		e.releaseAs(b, writer(3))
		e.granted("4", r4)
	},

	"a_crowd_with_room_for_all_comes_in": func(t *testing.T, e *env) {
		const crowd = 110 // more than a store may let in at a time
		sessions := []lockrt.Sharer{e.sharer("a"), e.sharer("b"), e.sharer("c")}
		for name, kind := range map[string]func(i int) lockrt.Request{
			"readers": reader, "permits": func(i int) lockrt.Request { return permit(i, crowd) },
		} {
			var coming []<-chan outcome
			of := func(i int) lockrt.Request {
				req := kind(i)
				req.ID = fmt.Sprint(name, "-", i)
				return req
			}
			for i := range crowd {
				done := make(chan outcome, 1)
				coming = append(coming, done)
				go func() {
					g, err := sessions[i%len(sessions)].Acquire(e.ctx, of(i))
					done <- outcome{g, err}
				}()
			}
			for i, done := range coming {
				e.grantedAs(of(i), done)
			}
			for i := range crowd {
				e.releaseAs(sessions[i%len(sessions)], of(i))
			}
		}
	},

	"nobody_overtakes": func(t *testing.T, e *env) {
		// Each letter is a waiter of that kind, in the order of arrival: a writer, a reader, a permit of two. After a
		// blank those follow who enter when all before have left.
		for name, order := range map[string]string{
			"readers among writers": "r w rr w r", "permits among readers": "pp r p rrr pp p", "all": "w p r w pp p rr w",
		} {
			t.Run(name, func(t *testing.T) {
				e := newEnv(t, e.store, e.options)
				s := e.sharer("a")
				e.takeAs(s, writer(0))
				holders := []lockrt.Request{writer(0)}
				type entry struct {
					req  lockrt.Request
					done <-chan outcome
				}
				var groups [][]entry
				n := 0
				for _, group := range splitKinds(order) {
					var entries []entry
					for _, kind := range group {
						n++
						req := kindOf(kind, n)
						entries = append(entries, entry{req, e.wait(e.ctx, s, req)})
					}
					groups = append(groups, entries)
				}
				for i, group := range groups {
					for _, req := range holders {
						e.releaseAs(s, req)
					}
					holders = nil
					for _, entry := range group {
						e.grantedAs(entry.req, entry.done)
						holders = append(holders, entry.req)
					}
					for _, later := range groups[i+1:] {
						select {
						case o := <-later[0].done:
							t.Fatalf("waiter %s is granted out of turn, behind %+v: %+v, %v",
								later[0].req.ID, holders, o.grant, o.err)
						default:
						}
					}
				}
			})
		}
	},

	"a_writer_is_not_starved_by_readers": func(t *testing.T, e *env) {
		// Two sessions read in turns so that there is always a reader: each takes its next lease before the other one's
		// ends. Once a writer waits, nobody who comes later is before it.
		s := []lockrt.Sharer{e.sharer("a"), e.sharer("b")}
		e.takeAs(s[0], reader(0))
		for i := 1; i < 20; i++ {
			e.takeAs(s[i%2], reader(i))
			e.releaseAs(s[(i-1)%2], reader(i-1))
		}
		w := e.wait(e.ctx, s[0], writer(100))
		late := e.wait(e.ctx, s[0], reader(20))
		e.busyWith(s[1], reader(21), 1)
		e.releaseAs(s[1], reader(19))
		e.grantedAs(writer(100), w)
		e.state(s[0], "100", "20")
		e.releaseAs(s[0], writer(100))
		e.granted("20", late)
	},

	"crash_of_one_of_many_readers": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		dead := reader(1)
		dead.TTL = short
		died := e.takeAs(a, dead)
		e.takeAs(b, reader(2))
		w := e.wait(e.ctx, b, writer(3))
		testsync.Eventually(t, "the dead reader is off the lock", func() bool {
			return slices.Equal(e.holders(b), []string{"2"})
		})
		if time.Now().Before(died.Start.Add(short)) {
			t.Errorf("a reader is off the lock before the end of its lease")
		}
		e.state(b, "2", "3")
		e.releaseAs(b, reader(2))
		e.granted("3", w)
	},

	"crash_of_all_readers": func(t *testing.T, e *env) {
		s := e.sharer("a")
		for i := range 3 {
			dead := reader(i)
			dead.TTL = short
			e.takeAs(s, dead)
		}
		e.granted("3", e.wait(e.ctx, s, writer(3)))
	},

	"a_dead_permit_is_the_first_in_the_queue's": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		dead := permit(1, 2)
		dead.TTL = short
		died := e.takeAs(a, dead)
		if two := e.takeAs(b, permit(2, 2)); two.Slot == died.Slot && time.Now().After(died.Start.Add(short)) {
			return // a slow machine: the lease was over before
		}
		g := e.granted("3", e.wait(e.ctx, b, permit(3, 2)))
		if time.Now().Before(died.Start.Add(short)) {
			t.Errorf("granted while the dead one's lease was live")
		}
		if g.Slot != died.Slot || g.Epoch <= died.Epoch {
			t.Errorf("the permit has slot %d and epoch %d, want the dead one's slot %d and more than %d",
				g.Slot, g.Epoch, died.Slot, died.Epoch)
		}
		e.state(b, "2 3", "")
	},

	"a_limit_that_changes_in_mid_queue": func(t *testing.T, e *env) {
		s := e.sharer("a")
		for i := range 3 {
			e.takeAs(s, permit(i, 3))
		}
		small, large := e.wait(e.ctx, s, permit(3, 2)), e.wait(e.ctx, s, permit(4, 4))
		e.busyWith(s, permit(5, 4), 3) // it would fit, but for those who wait
		e.releaseAs(s, permit(0, 3))
		e.state(s, "1 2", "3 4") // the smaller limit waits at the head
		e.releaseAs(s, permit(1, 3))
		e.grantedAs(permit(3, 2), small)
		e.grantedAs(permit(4, 4), large)
		e.busyWith(s, permit(6, 3), 3)
		e.takeAs(s, permit(7, 4)) // the larger one counts at once
	},

	"a_waiter_that_leaves_the_head_lets_readers_in": func(t *testing.T, e *env) {
		s, other := e.sharer("a"), e.sharer("b")
		e.takeAs(s, reader(0))
		ctx, cancel := context.WithCancel(e.ctx)
		for i, leave := range []func() error{
			func() error { cancel(); return nil },
			func() error { return other.Close(e.ctx) },
		} {
			w, r := writer(10+i), reader(20+i)
			gone := e.wait(ctx, other, w)
			next := e.wait(e.ctx, s, r)
			e.comesTo(s, "0", w.ID+" "+r.ID) // what the one before had sent may arrive now, and is taken back
			if err := leave(); err != nil {
				t.Fatal(err)
			}
			e.outcome(w.ID, gone)
			e.grantedAs(r, next)
			e.releaseAs(s, r)
			ctx = e.ctx
		}
	},

	"a_wait_that_runs_out_at_the_head_lets_readers_in": func(t *testing.T, e *env) {
		s := e.sharer("a")
		e.takeAs(s, reader(0))
		w := writer(1)
		w.Wait = short
		gone, next := make(chan outcome, 1), make(chan outcome, 1)
		go func() {
			g, err := s.Acquire(e.ctx, w)
			gone <- outcome{g, err}
		}()
		testsync.Eventually(t, "the writer waits, or does so no more", func() bool {
			return len(e.info(s, "k").Waiters) > 0 || len(gone) > 0
		})
		go func() {
			g, err := s.Acquire(e.ctx, reader(2))
			next <- outcome{g, err}
		}()
		e.granted("2", next)
		if o := e.outcome("1", gone); !tooLate(o.err) && !errors.Is(o.err, lockrt.ErrBusy) {
			t.Errorf("the writer's wait ends with %v, want ErrBusy", o.err)
		}
	},

	"readers_are_recalled_when_somebody_waits": func(t *testing.T, e *env) {
		b := e.sharer("b")
		recalled := make(chan string, 100)
		a := e.sessionOf(lockrt.SessionConfig{
			Node: "a", Lost: func(string, error) {}, Recall: func(id string) { recalled <- id },
		})
		e.takeAs(a, reader(1))
		for n, end := 2, time.Now().Add(testsync.Patience); ; n++ {
			ctx, leave := context.WithCancel(e.ctx)
			w := e.wait(ctx, b, writer(n))
			select {
			case id := <-recalled:
				if id != "1" {
					t.Errorf("%q is recalled, want 1", id)
				}
				e.releaseAs(a, reader(1))
				e.granted(fmt.Sprint(n), w)
				leave()
				return
			case <-time.After(recallPause): // a session may be told nothing before it is ready to hear
				leave()
				e.outcome(fmt.Sprint(n), w)
				if time.Now().After(end) {
					t.Fatal("the reader is not recalled")
				}
			}
		}
	},
}

// recallPause is after how long somebody else begins to wait.
const recallPause = 2 * time.Second

// state checks who holds "k" and who waits for it, by their ids.
func (e *env) state(s lockrt.Session, holders, waiters string) {
	e.t.Helper()
	if held, ids := e.stateOf(s); held != holders || ids != waiters {
		e.t.Fatalf("held by %q, and %q wait; want %q and %q", held, ids, holders, waiters)
	}
}

// comesTo waits until those hold "k" and those wait for it.
func (e *env) comesTo(s lockrt.Session, holders, waiters string) {
	e.t.Helper()
	testsync.Eventually(e.t, fmt.Sprintf("%q hold the lock and %q wait", holders, waiters), func() bool {
		held, ids := e.stateOf(s)
		return held == holders && ids == waiters
	})
}

// stateOf is who holds "k" and who waits for it.
func (e *env) stateOf(s lockrt.Session) (holders, waiters string) {
	e.t.Helper()
	info := e.info(s, "k")
	var ids []string
	for _, w := range info.Waiters {
		ids = append(ids, w.ID)
	}
	held := e.holders(s)
	if len(held) == 0 && info.ID != "" {
		held = []string{info.ID}
	}
	return strings.Join(held, " "), strings.Join(ids, " ")
}

// splitKinds cuts an order of waiters into those who enter together.
func splitKinds(order string) (groups []string) {
	group := ""
	for _, kind := range order + " " {
		if kind != ' ' {
			group += string(kind)
			continue
		}
		groups, group = append(groups, group), ""
	}
	return groups
}

func kindOf(kind rune, i int) lockrt.Request {
	switch kind {
	case 'r':
		return reader(i)
	case 'p':
		return permit(i, 2)
	}
	return writer(i)
}
