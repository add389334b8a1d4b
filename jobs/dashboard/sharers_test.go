package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// sharedFake has a lock that readers hold, and one of which all permits are held.
func sharedFake() *fake {
	f := busyFake()
	readers := lockrt.LockInfo{Key: "catalog", Node: "node-1", ID: "r0", Fence: 7, Mode: lockrt.Read, Since: noon,
		Remaining: 20 * time.Second, Waiters: []lockrt.Waiter{{Node: "node-3"}, {Node: "node-4", Mode: lockrt.Read}}}
	for i := range 6 {
		readers.Holders = append(readers.Holders, lockrt.Holder{Node: fmt.Sprintf("node-%d", i), ID: fmt.Sprintf("r%d", i), Fence: 7,
			Slot: -1, Since: noon.Add(-time.Minute), Remaining: 20 * time.Second})
	}
	pool := lockrt.LockInfo{Key: "gpu", Node: "node-2", ID: "p0", Fence: 11, Limit: 2, Since: noon, Remaining: 9 * time.Second,
		Holders: []lockrt.Holder{
			{Node: "node-2", ID: "p0", Fence: 11, Slot: 0, Since: noon.Add(-time.Minute), Remaining: 9 * time.Second},
			{Slot: 1, Remaining: time.Second},
		}, Waiters: []lockrt.Waiter{{Node: "node-3", Permits: 2}}}
	f.locks = append(f.locks, readers, pool)
	return f
}

// TestLocks_shared names who holds a lock together and how each waits, and offers to break one of them.
func TestLocks_shared(t *testing.T) {
	h := sharedFake().serve(operator)
	expect(t, get(h, "locks"), 200, "<b>6 readers</b>", "and 2 more", "<b>2 of 2 permits</b>", "permit 0",
		"kept by its minimum hold time", "node-3, node-4 (to read)", "node-3 (a permit)",
		`href="break?key=catalog&amp;lease=r0"`, `aria-label="Break the lock gpu for node-2, permit 0"`, "Break for all …")
	expect(t, get(h, "break?key=catalog"), 200, "Break the lock catalog for all?", "It is held by 6 readers.",
		`href="break?key=catalog&amp;lease=r5"`)
	expect(t, get(h, "break?key=gpu&lease=p0"), 200, "Break the lock gpu for node-2?", "by permit 0", "the others keep it",
		`name="lease" value="p0"`)
	expect(t, get(h, "break?key=gpu&lease=gone"), 409, "This holder is gone")

	if body := get(sharedFake().serve(Config{}), "locks").Body.String(); strings.Contains(body, "break?") {
		t.Error("a reader is offered to break a lock")
	}
}

// TestLocks_crowd has a lock with more holders than a list names.
func TestLocks_crowd(t *testing.T) {
	f := sharedFake()
	for i := range f.locks {
		if f.locks[i].Key != "catalog" {
			continue
		}
		for n := len(f.locks[i].Holders); n < 100; n++ {
			f.locks[i].Holders = append(f.locks[i].Holders, lockrt.Holder{Node: "node-9", ID: fmt.Sprint("r", n), Slot: -1})
		}
	}
	expect(t, get(f.serve(operator), "locks"), 200, "<b>at least 100 readers</b>", "and at least 96 more")
}

// TestBreak_oneHolder breaks what was confirmed, and nothing once that is gone.
func TestBreak_oneHolder(t *testing.T) {
	f := sharedFake()
	h := f.serve(operator)
	w := post(h, "break", "key", "gpu", "lease", "p0", "reason", "stuck")
	if w.Code != http.StatusSeeOther || len(f.done) != 1 || f.done[0] != "break p0 of gpu: stuck (by ada)" {
		t.Fatalf("%d, did %q\n%s", w.Code, f.done, w.Body)
	}
	expect(t, follow(h, w), 200, "Broke the lock “gpu” for node-2. The others keep it.")
	expect(t, post(h, "break", "key", "gpu", "lease", "gone", "reason", "stuck"), 409, "This holder is gone")

	// All of them: readers of one batch have one fence, permits come and go.
	expect(t, post(h, "break", "key", "catalog", "holder", "6", "reason", "stuck"), 409, "changed hands")
	for _, holder := range [][2]string{{"catalog", "7"}, {"gpu", "permits"}} {
		f.done = nil
		w := post(h, "break", "key", holder[0], "holder", holder[1], "reason", "stuck")
		if w.Code != http.StatusSeeOther || len(f.done) != 1 || f.done[0] != "break "+holder[0]+": stuck (by ada)" {
			t.Errorf("%v: %d, did %q", holder, w.Code, f.done)
		}
	}
}
