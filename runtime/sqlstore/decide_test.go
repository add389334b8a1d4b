package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func places(ids ...string) (queue []place) {
	for _, id := range ids {
		queue = append(queue, place{id: id, ttl: 100, session: "session of " + id, node: "node of " + id})
	}
	return queue
}

func ids(queue []place) (ids []string) {
	for _, p := range queue {
		ids = append(ids, p.id)
	}
	return ids
}

func TestRow_ask(t *testing.T) {
	dead := func(names ...string) liveness { return func(p place) bool { return !slices.Contains(names, p.id) } }
	held := row{epoch: 7, owner: "a", since: 900, until: 1100}
	for name, c := range map[string]struct {
		row   row
		wait  bool
		lives liveness

		out   outcome
		write write
		owner string
		queue []string
		over  bool
	}{
		"free":                          {row: row{epoch: 7}, out: granted, write: change, owner: "me"},
		"kept":                          {row: row{epoch: 7, until: 1100}, out: busy, write: nothing},
		"held, try":                     {row: held, out: busy, write: nothing, owner: "a"},
		"held, wait":                    {row: held, wait: true, out: busy, write: join, owner: "a", queue: []string{"me"}},
		"mine":                          {row: row{epoch: 7, owner: "me", until: 1100}, out: granted, write: nothing, owner: "me"},
		"mine, broken":                  {row: row{epoch: 7, owner: "me", until: 1100, broken: "x"}, out: broken, write: nothing, owner: "me"},
		"mine, over":                    {row: row{epoch: 7, owner: "me", until: 1000}, out: granted, write: change, owner: "me", over: true},
		"over":                          {row: row{epoch: 7, owner: "a", until: 1000}, out: granted, write: change, owner: "me", over: true},
		"over, somebody waits, try":     {row: row{owner: "a", until: 999, queue: places("b", "c")}, out: busy, write: change, owner: "b", queue: []string{"c"}, over: true},
		"over, somebody waits, wait":    {row: row{owner: "a", until: 999, queue: places("b")}, wait: true, out: busy, write: change, owner: "b", queue: []string{"me"}, over: true},
		"over, I am the first":          {row: row{owner: "a", until: 999, queue: places("me", "b")}, wait: true, out: granted, write: change, owner: "me", queue: []string{"b"}, over: true},
		"over, the first is dead":       {row: row{owner: "a", until: 999, queue: places("b", "c", "d")}, lives: dead("b"), out: busy, write: change, owner: "c", queue: []string{"d"}, over: true},
		"over, all before me are":       {row: row{owner: "a", until: 999, queue: places("b", "me", "d")}, lives: dead("b", "me"), out: granted, write: change, owner: "me", queue: []string{"d"}, over: true},
		"over, all are dead":            {row: row{owner: "a", until: 999, queue: places("b", "c")}, lives: dead("b", "c"), out: granted, write: change, owner: "me", over: true},
		"queued already":                {row: row{owner: "a", until: 1100, queue: places("me")}, wait: true, out: busy, write: nothing, owner: "a", queue: []string{"me"}},
		"queued with another TTL":       {row: row{owner: "a", until: 1100, queue: []place{{id: "me", ttl: 5}}}, wait: true, out: busy, write: change, owner: "a", queue: []string{"me"}},
		"the queue is full":             {row: row{owner: "a", until: 1100, queue: make([]place, maxQueue)}, wait: true, out: full, write: nothing, owner: "a", queue: make([]string, maxQueue)},
		"the queue is full, I try":      {row: row{owner: "a", until: 1100, queue: make([]place, maxQueue)}, out: busy, write: nothing, owner: "a", queue: make([]string, maxQueue)},
		"the queue is full, I am in it": {row: row{owner: "a", until: 1100, queue: append(make([]place, maxQueue-1), places("me")...)}, wait: true, out: busy, write: nothing, owner: "a", queue: append(make([]string, maxQueue-1), "me")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.lives == nil {
				c.lives = dead()
			}
			out, w, next, over := c.row.ask(claim{place: places("me")[0], wait: c.wait}, 1000, c.lives)
			if out != c.out || w != c.write || next.owner != c.owner || !slices.Equal(ids(next.queue), c.queue) || over != c.over {
				t.Errorf("outcome %d, write %d, owner %q, queue %q, over %v", out, w, next.owner, ids(next.queue), over)
			}
			if next.owner != c.row.owner && next.owner != "" && (next.epoch != 1000 || next.since != 1000 || next.until != 1100 || next.broken != "") {
				t.Errorf("the grant is %+v", next)
			}
		})
	}
}

// Epochs grow also where the clock is behind them.
func TestRow_give_epochs(t *testing.T) {
	r := row{epoch: 5000, owner: "a", until: 1}
	if _, _, next, _ := r.ask(claim{place: places("me")[0]}, 1000, nil); next.epoch != 5001 {
		t.Errorf("epoch %d after 5000", next.epoch)
	}
}

func TestRow_release(t *testing.T) {
	all := func(place) bool { return true }
	r := row{epoch: 7, owner: "a", session: "s", node: "n", broken: "x", since: 900, until: 1100, queue: places("b", "c")}
	for _, wrong := range []row{{}, {owner: "b", until: 1100}, {owner: "a", until: 1000}} {
		if next, ok := wrong.release("a", 0, 1000, all); ok || fmt.Sprint(next) != fmt.Sprint(wrong) {
			t.Errorf("the release of %+v makes %+v", wrong, next)
		}
	}
	if next, ok := r.release("a", 0, 1000, all); !ok || next.owner != "b" || next.epoch != 1000 || next.broken != "" || len(next.queue) != 1 {
		t.Errorf("the release makes %+v", next)
	}
	if next, ok := r.release("a", 50, 1000, all); !ok || next.owner != "" || next.until != 1050 || next.epoch != 7 || len(next.queue) != 2 {
		t.Errorf("the release with MinHold makes %+v", next)
	}
	if next, ok := r.release("a", 0, 1000, func(place) bool { return false }); !ok || next.owner != "" || next.until != 0 || len(next.queue) != 0 {
		t.Errorf("the release with dead waiters makes %+v", next)
	}
}

func TestRow_breaking(t *testing.T) {
	all := func(place) bool { return true }
	r := row{epoch: 7, owner: "a", until: 1100, queue: places("b")}
	for name, c := range map[string]struct {
		row   row
		id    string
		epoch int64
		force bool

		write write
		ok    bool
		owner string
		mark  string
	}{
		"held":           {row: r, id: "a", epoch: 7, write: change, ok: true, owner: "a", mark: "why"},
		"by force":       {row: r, id: "a", epoch: 7, force: true, write: change, ok: true, owner: "b"},
		"another lease":  {row: r, id: "b", epoch: 7, owner: "a"},
		"another grant":  {row: r, id: "a", epoch: 6, owner: "a"},
		"over":           {row: row{epoch: 7, owner: "a", until: 1000}, id: "a", epoch: 7, owner: "a"},
		"kept":           {row: row{epoch: 7, until: 1100, queue: places("b")}, epoch: 7, write: change, ok: true, owner: "b"},
		"broken already": {row: row{epoch: 7, owner: "a", until: 1100, broken: "first"}, id: "a", epoch: 7, ok: true, owner: "a", mark: "first"},
	} {
		t.Run(name, func(t *testing.T) {
			w, next, ok := c.row.breaking(c.id, c.epoch, c.force, "why", 1000, all)
			if w != c.write || ok != c.ok || next.owner != c.owner || next.broken != c.mark {
				t.Errorf("write %d, ok %v, %+v", w, ok, next)
			}
		})
	}
}

// A random walk: nobody owns a lock beside another, epochs grow with every owner, and nobody stands in the queue twice
// or while it owns the lock.
func TestRow_randomSteps(t *testing.T) {
	for range 2000 {
		r, now, granted := row{}, int64(1000), map[string]int64{} // until when each lease believes to hold the lock
		epoch := int64(0)
		lives := func(place) bool { return rand.IntN(4) > 0 }
		for range 30 {
			now += rand.Int64N(40)
			id := string(rune('a' + rand.IntN(5)))
			before := r
			switch rand.IntN(6) {
			case 0, 1, 2:
				_, w, next, _ := r.ask(claim{place: places(id)[0], wait: rand.IntN(2) == 0}, now, lives)
				if w != nothing {
					r = next
				}
			case 3:
				r, _ = r.release(id, 0, now, lives)
				delete(granted, id)
			case 4:
				r, _ = r.release(id, 10, now, lives)
				delete(granted, id)
			case 5:
				_, r, _ = r.breaking(id, r.epoch, false, "x", now, lives)
			}
			if r.owner != "" && (r.owner != before.owner || r.epoch != before.epoch) {
				if r.epoch <= epoch {
					t.Fatalf("epoch %d after %d", r.epoch, epoch)
				}
				epoch = r.epoch
				for other, until := range granted {
					if other != r.owner && until > now {
						t.Fatalf("%s owns the lock at %d, and %s until %d", r.owner, now, other, until)
					}
				}
				granted[r.owner] = r.until
			}
			seen := map[string]bool{r.owner: r.held(now)}
			for _, p := range r.queue {
				if seen[p.id] {
					t.Fatalf("%s is there twice: %+v", p.id, r)
				}
				seen[p.id] = true
			}
		}
	}
}
