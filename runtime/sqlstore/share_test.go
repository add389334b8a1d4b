package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestHolders_text(t *testing.T) {
	holders := []holder{
		{id: escaped("id 1\n"), until: 1795000000000000, kind: kind{read: true}, epoch: 3, since: 5, session: "s", node: "a node\nhere"},
		{until: 7, kind: kind{permits: 12}, slot: 11, epoch: 9},
		{id: "2", until: 8, kind: kind{permits: 2}, session: "t.l", broken: "by an operator"},
	}
	text := holdersText(holders)
	again, err := parseHolders(text)
	if err != nil || !slices.Equal(again, holders) {
		t.Errorf("%+v, %v", again, err)
	}
	if at := strings.Index(text, holderMark(escaped("id 1\n"))); at != 0 || text[len(holderMark(escaped("id 1\n"))):][:endDigits] != "1795000000000000" {
		t.Errorf("the end of a lease does not follow its mark in %q", text)
	}
	if strings.Contains(text, holderMark("2")) {
		t.Errorf("a broken lease is marked as intact in %q", text)
	}
	for _, text := range []string{
		"x", "\n", "\na = 1 r 0 1 1 s n", "\na = x r 0 1 1 s n ", "\na = 1 w 0 1 1 s n ", "\na = 1 p0 0 1 1 s n ", "\na ! 1 r 0 1 1 s n ",
		"\na = 1 r 0 1 1 s n why", "\na = 1 r 0 1 1 s %zz ",
	} {
		if holders, err := parseHolders(text); err == nil {
			t.Errorf("%q are the holders %+v", text, holders)
		}
	}
	queue := []place{{id: "1", ttl: 5, kind: kind{read: true}}, {id: "2", ttl: 5, kind: kind{permits: 3}}, {id: "3", ttl: 5}}
	if again, err := parseQueue(queueText(queue)); err != nil || !slices.Equal(again, queue) {
		t.Errorf("%+v, %v", again, err)
	}
}

// walk is a lock, and what a witness knows of it.
type walk struct {
	t     *testing.T
	r     row
	now   int64
	steps []string

	order   []string // who waits, in the order of arrival
	highest int64    // epoch of the last grant to anybody who shares no epoch
}

func (w *walk) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nafter %s\n%+v", fmt.Sprintf(format, args...), strings.Join(w.steps, ", "), w.r)
}

// becomes checks a change: who holds the lock together, their epochs and slots, and that nobody has overtaken.
func (w *walk) becomes(next row, dead func(id string) bool) {
	before := w.r
	w.r = next
	slots := make(map[int]bool)
	for _, h := range next.holders {
		if !h.live(w.now) {
			continue
		}
		if h.kind.permits > 0 && slots[h.slot] {
			w.fatalf("slot %d is taken twice", h.slot)
		}
		slots[h.slot] = true
		if h.kind.read != next.holders[0].kind.read || h.kind.read && h.epoch != next.epoch {
			w.fatalf("holders of two kinds, or readers with two epochs")
		}
		if slices.ContainsFunc(before.holders, func(b holder) bool { return b.epoch == h.epoch }) ||
			next.holder(before.owner, w.now) >= 0 { // it was downgraded, and shares its epoch
			continue
		}
		if h.epoch <= w.highest {
			w.fatalf("epoch %d after %d", h.epoch, w.highest)
		}
		if at := slices.Index(next.holders, h); h.kind.permits > 0 && at >= h.kind.permits {
			w.fatalf("one of %d permits is the %dth", h.kind.permits, at+1)
		}
	}
	w.highest = max(w.highest, next.epoch)
	for i, p := range next.queue {
		if next.shared() && next.holder(p.id, w.now) >= 0 || next.owned(p.id, w.now) || next.find(p.id) != i {
			w.fatalf("%s is there twice", p.id)
		}
	}
	if next.shared() && next.taken(w.now) && len(next.queue) > 0 && !dead(next.queue[0].id) {
		fresh, _ := next.refresh(w.now, func(place) bool { return false })
		if fresh.shared() && fresh.fits(next.queue[0].kind, w.now) && len(fresh.holders) == len(next.holders) {
			w.fatalf("%s waits at the head and fits", next.queue[0].id)
		}
	}
	inOrder := w.order
	for _, p := range next.queue { // the queue is a part of the order of arrival
		at := slices.Index(inOrder, p.id)
		if at < 0 {
			w.fatalf("%s is not in its place of the order %v", p.id, w.order)
		}
		inOrder = inOrder[at+1:]
	}
	var still []string
	for _, id := range w.order {
		if next.find(id) >= 0 {
			still = append(still, id)
		}
	}
	w.order = still
}

// A random walk through all kinds.
func TestRow_randomShares(t *testing.T) {
	kinds := []kind{{}, {read: true}, {read: true}, {permits: 2}, {permits: 3}}
	together := 0
	for range 3000 {
		w := &walk{t: t, now: 1000}
		gone := map[string]bool{}
		dead := func(id string) bool { return gone[id] }
		lives := func(p place) bool { return !gone[p.id] }
		for n := range 40 {
			w.now += rand.Int64N(30)
			ids := []string{fmt.Sprint("n", n)}
			for _, h := range w.r.holders {
				ids = append(ids, h.id)
			}
			if !w.r.shared() {
				ids = append(ids, w.r.owner)
			}
			id := ids[rand.IntN(len(ids))]
			before := w.r
			switch rand.IntN(9) {
			case 0, 1, 2, 3:
				c := claim{place: place{id: ids[0], ttl: 50 + rand.Int64N(100), kind: kinds[rand.IntN(len(kinds))]}, wait: rand.IntN(4) > 0}
				w.steps = append(w.steps, "ask "+ids[0]+c.kind.text())
				out, wr, next, _ := w.r.ask(c, w.now, lives)
				if wr != nothing {
					if next.find(c.id) >= 0 {
						w.order = append(w.order, c.id)
					}
					w.becomes(next, dead)
				}
				if first, _ := before.firstLive(lives); out == granted && before.taken(w.now) && first != nil && first.id != c.id &&
					next.find(first.id) >= 0 {
					w.fatalf("%s has overtaken %s", c.id, first.id)
				}
				gone[c.id] = rand.IntN(8) == 0
			case 4, 5:
				w.steps = append(w.steps, "release "+id)
				if next, ok := w.r.release(id, 0, w.now, lives); ok {
					w.becomes(next, dead)
					if again, ok := w.r.release(id, 0, w.now, lives); ok || fmt.Sprint(again) != fmt.Sprint(w.r) {
						w.fatalf("the second release of %s changes %+v", id, again)
					}
				}
			case 6:
				w.steps = append(w.steps, "downgrade "+id)
				if next, done, ok := w.r.downgrade(id, rand.IntN(2) == 0, w.now, lives); ok && !done {
					w.becomes(next, dead)
					if again, done, ok := w.r.downgrade(id, true, w.now, lives); !ok || !done || again.epoch != w.r.epoch {
						w.fatalf("the second downgrade of %s changes %+v", id, again)
					}
				}
			case 7:
				if len(w.r.queue) > 0 && w.r.shared() {
					w.steps = append(w.steps, "leave "+w.r.queue[0].id)
					next, _ := w.r.withoutPlace(0).refresh(w.now, lives)
					w.becomes(next, dead)
				}
			case 8:
				if len(w.r.holders) > 0 {
					h := w.r.holders[0]
					w.steps = append(w.steps, "break "+h.id)
					if wr, next, _ := w.r.breaking(h.id, h.epoch, rand.IntN(2) == 0, "x", w.now, lives); wr != nothing {
						w.becomes(next, dead)
					}
				}
			}
			together = max(together, len(w.r.holders))
		}
	}
	if together < 3 {
		t.Errorf("at most %d held the lock together", together)
	}
}

// MinHold keeps a slot; it is given on when it is over, or broken.
func TestRow_keptSlot(t *testing.T) {
	all := func(place) bool { return true }
	two := kind{permits: 2}
	r := row{}.grant(place{id: "a", ttl: 100, kind: two}, 1000).grant(place{id: "b", ttl: 100, kind: two}, 1001)
	r, ok := r.release("a", 50, 1010, all)
	if !ok || r.holders[0].id != "" || r.holders[0].until != 1060 || r.holders[0].slot != 0 {
		t.Fatalf("%+v", r)
	}
	c := claim{place: place{id: "c", ttl: 100, kind: two}, wait: true}
	if out, _, next, _ := r.ask(c, 1059, all); out != busy || next.roomAt(1059) != 1060 {
		t.Errorf("outcome %d, room at %d", out, next.roomAt(1059))
	}
	if out, w, next, _ := r.ask(c, 1060, all); out != granted || w != change || next.holders[1].slot != 0 {
		t.Errorf("outcome %d, %+v", out, next)
	}
	if w, next, ok := r.breaking("", r.holders[0].epoch, false, "x", 1020, all); w != change || !ok || len(next.holders) != 1 {
		t.Errorf("the break makes %+v", next)
	}
}
