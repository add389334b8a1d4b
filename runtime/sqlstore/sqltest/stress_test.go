package sqltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Random work by several sessions on few locks, with cancelled waits, holders that never release, breaks and renewals,
// while a trigger in the database checks every change of a row. The conformance suite is not enough for that: a planner
// that evaluates an expression twice gave a new owner the epoch of the one before in two of five runs, and passed it.
func TestStore_stress(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) { stressed(t, e, []lockrt.Request{{}}) })
}

// The same with readers and permits among them. The trigger checks the exclusive ones and the epochs of all.
func TestStore_stressOfAllKinds(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		stressed(t, e, []lockrt.Request{
			{}, {Mode: lockrt.Read}, {Mode: lockrt.Read}, {Mode: lockrt.Read}, {Permits: 2}, {Permits: 3},
		})
	})
}

func stressed(t *testing.T, e *engine, kinds []lockrt.Request) {
	for _, text := range auditTriggers[e.name] {
		e.exec(t, text)
	}
	length := 3 * time.Second
	if os.Getenv("LOCKGEN_SOAK") != "" {
		length = 2 * time.Minute
	}
	w := &stress{engine: e, t: t, kinds: kinds, end: time.Now().Add(length)}
	w.run()
	var wrong string
	err := e.db.QueryRow("SELECT count(*) FROM audit").Scan(&wrong)
	if err != nil || wrong != "0" {
		rows, _ := e.db.Query("SELECT what FROM audit")
		for rows != nil && rows.Next() {
			var what string
			_ = rows.Scan(&what)
			t.Log(what)
		}
		t.Errorf("the trigger has found %s wrong changes, %v", wrong, err)
	}
	t.Logf("%d grants, %d given up, %d busy, %d lost, %d never released", w.grants.Load(), w.left.Load(), w.busy.Load(), w.lost.Load(), w.dead.Load())
	if len(kinds) > 1 && w.together < 2 {
		t.Error("nobody held a lock together with others")
	}
}

// A change that makes somebody the owner has a higher epoch, begins at the earliest when the last lease is over or was
// given back, and no change loses waiters but the dead, leaves a version as it was or an epoch lower. (That a
// lease was given back only its holder knows: the test keeps that in its own books.)
var auditTriggers = map[string][]string{
	"postgres": {
		`CREATE TABLE audit (what text)`,
		`CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF new.owner NOT IN ('', '*') AND new.owner <> old.owner AND new.epoch <= old.epoch OR new.epoch < old.epoch OR new.version <= old.version
  OR new.owner = old.owner AND new.owner NOT IN ('', '*') AND new.epoch <> old.epoch AND old.until > new.since
  OR new.owner <> '' AND new.since <> old.since AND new.epoch = old.epoch
  OR new.owner = old.owner AND new.owner NOT IN ('', '*') AND new.until < old.until AND new.epoch = old.epoch
  OR new.owner <> '' AND position(E'\n' || new.owner || ' ' IN new.queue) > 0
THEN INSERT INTO audit VALUES (old::text || ' became ' || new::text); END IF; RETURN new; END $$`,
		`CREATE TRIGGER audit BEFORE UPDATE ON lockgen_lock FOR EACH ROW EXECUTE FUNCTION audit()`,
	},
	"mariadb": {
		`CREATE TABLE audit (what text)`,
		`CREATE TRIGGER audit BEFORE UPDATE ON lockgen_lock FOR EACH ROW
IF NEW.owner NOT IN ('', '*') AND NEW.owner <> OLD.owner AND NEW.epoch <= OLD.epoch OR NEW.epoch < OLD.epoch OR NEW.version < OLD.version
  OR NEW.version = OLD.version AND (NEW.owner <> OLD.owner OR NEW.until <> OLD.until OR NEW.queue <> OLD.queue)
  OR NEW.owner <> '' AND NEW.since <> OLD.since AND NEW.epoch = OLD.epoch
  OR NEW.owner = OLD.owner AND NEW.owner NOT IN ('', '*') AND NEW.until < OLD.until AND NEW.epoch = OLD.epoch
THEN INSERT INTO audit VALUES (CONCAT(OLD.owner, ' ', OLD.epoch, ' ', OLD.queue, ' became ', NEW.owner, ' ', NEW.epoch, ' ', NEW.queue)); END IF`,
	},
	"sqlite": {
		`CREATE TABLE audit (what text)`,
		`CREATE TRIGGER audit AFTER UPDATE ON lockgen_lock
WHEN new.owner NOT IN ('', '*') AND new.owner <> old.owner AND new.epoch <= old.epoch OR new.epoch < old.epoch OR new.version <= old.version
  OR new.owner <> '' AND new.since <> old.since AND new.epoch = old.epoch
  OR new.owner = old.owner AND new.owner NOT IN ('', '*') AND new.until < old.until AND new.epoch = old.epoch
BEGIN INSERT INTO audit VALUES (old.owner || ' ' || old.epoch || ' became ' || new.owner || ' ' || new.epoch); END`,
	},
}

type stress struct {
	*engine
	t     *testing.T
	end   time.Time
	kinds []lockrt.Request // how locks are held, one as often as the other

	grants, left, busy, lost, dead atomic.Int64

	mu       sync.Mutex             // guards what follows
	owners   map[string][]ownership // by key
	epochs   map[string]uint64
	writers  map[string]uint64 // the highest epochs of those who held their locks alone
	together int
}

// ownership is who believes to hold a lock, how, and until when.
type ownership struct {
	req   lockrt.Request
	grant lockrt.Grant
	until time.Time
}

func (o ownership) alone() bool { return o.req.Mode == lockrt.Write && o.req.Permits == 0 }

// beside reports whether two may hold a lock together.
func (o ownership) beside(other ownership) bool {
	if o.req.Permits > 0 {
		return other.req.Permits > 0 && other.grant.Slot != o.grant.Slot
	}
	return o.req.Mode == lockrt.Read && other.req.Mode == lockrt.Read && o.grant.Epoch == other.grant.Epoch
}

const (
	stressKeys    = 4
	stressWorkers = 16
)

// seen reports whether there was what the run is about.
func (w *stress) seen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grants.Load() > 0 && (len(w.kinds) == 1 || w.together > 1)
}

func (w *stress) run() {
	w.owners, w.epochs, w.writers = make(map[string][]ownership), make(map[string]uint64), make(map[string]uint64)
	sessions := make([]lockrt.Session, 3)
	for i := range sessions {
		// What is broken goes on to others once Lost has returned.
		sessions[i] = w.sessionThat(w.t, fmt.Sprint("node", i), func(id string, _ error) { w.over(id) })
	}
	var wg sync.WaitGroup
	for i := range stressWorkers {
		wg.Go(func() {
			for n := 0; time.Now().Before(w.end) || !w.seen() && time.Now().Before(w.end.Add(testsync.Patience)); n++ {
				slack := time.Duration(1)
				if !w.seen() { // the machine is too slow for the times meant
					slack += time.Duration(n / 5)
				}
				w.visit(sessions[i%len(sessions)], fmt.Sprintf("%d-%d", i, n), slack)
			}
		})
	}
	wg.Wait()
	// What was never released runs out, and nobody stands in a queue.
	testsync.Eventually(w.t, "all locks are free and all queues empty", func() bool {
		for k := range stressKeys {
			if _, queue := w.row(w.t, fmt.Sprint("k", k)); queue != "" {
				return false
			}
			if info, err := sessions[0].(lockrt.Inspector).Inspect(context.Background(), fmt.Sprint("k", k)); !errors.Is(err, lockrt.ErrNotHeld) {
				return info.Key == "" && err != nil && strings.Contains(err.Error(), "not held")
			}
		}
		return true
	})
}

// over notes the end of a lease in the test's own books.
func (w *stress) over(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.owners {
		w.owners[key] = slices.DeleteFunc(w.owners[key], func(o ownership) bool { return o.req.ID == id })
	}
}

// visit is one random acquisition. slack lengthens its times.
func (w *stress) visit(s lockrt.Session, id string, slack time.Duration) {
	key := fmt.Sprint("k", rand.IntN(stressKeys))
	ttl := slack * (300*time.Millisecond + rand.N(400*time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), slack*rand.N(600*time.Millisecond))
	defer cancel()
	req := w.kinds[rand.IntN(len(w.kinds))]
	req.Key, req.ID, req.TTL = key, id, ttl
	if rand.IntN(4) > 0 {
		req.Wait = lockrt.Forever
	}
	g, err := s.Acquire(ctx, req)
	switch {
	case errors.Is(err, lockrt.ErrLost):
		w.lost.Add(1)
		return
	case err != nil && ctx.Err() != nil:
		w.left.Add(1)
		return
	case errors.Is(err, lockrt.ErrBusy):
		w.busy.Add(1)
		return
	case err != nil:
		w.t.Errorf("acquire: %v", err)
		return
	}
	w.granted(ownership{req, g, g.Start.Add(ttl)})
	time.Sleep(rand.N(15 * time.Millisecond))
	if rand.IntN(3) == 0 {
		sent := time.Now()
		if err := s.Renew(context.Background(), []lockrt.Renewal{
			{Key: key, ID: id, TTL: ttl, Mode: req.Mode, Permits: req.Permits, Epoch: g.Epoch},
		})[0]; err == nil {
			w.renewed(key, id, sent.Add(ttl))
		}
	}
	if rand.IntN(10) == 0 {
		b := lockrt.Breaking{Key: key, ID: id, Fence: lockrt.FenceOf(g.Epoch), Reason: "stress"}
		_ = s.(lockrt.Breaker).Break(context.Background(), b)
	}
	if rand.IntN(8) == 0 {
		w.dead.Add(1) // it never releases, and stops to work when its lease is over
		return
	}
	w.over(id)
	err = s.Release(context.Background(), lockrt.Release{
		Key: key, ID: id, Mode: req.Mode, Permits: req.Permits, Epoch: g.Epoch,
	})
	switch {
	case errors.Is(err, lockrt.ErrLost):
		w.lost.Add(1)
	case err != nil:
		w.t.Errorf("release: %v", err)
	}
}

func (w *stress) granted(o ownership) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, now := o.req.Key, time.Now()
	if !now.Before(o.until) {
		return // it came too late to be used
	}
	w.grants.Add(1)
	live := w.owners[key][:0]
	for _, other := range w.owners[key] {
		if now.Before(other.until) {
			live = append(live, other)
		}
	}
	for _, other := range live {
		if !o.beside(other) {
			w.t.Errorf("%s is given to %+v while %+v holds it for another %s", key, o, other, other.until.Sub(now))
		}
	}
	before := w.epochs[key] // what permits are told of may come in another order than they were granted in
	if !o.alone() {
		before = w.writers[key]
	}
	if o.grant.Epoch <= before {
		w.t.Errorf("%s: epoch %d after %d", key, o.grant.Epoch, before)
	}
	if o.alone() {
		w.writers[key] = o.grant.Epoch
	}
	w.owners[key], w.epochs[key] = append(live, o), max(o.grant.Epoch, w.epochs[key])
	w.together = max(w.together, len(w.owners[key]))
	most := o.req.Permits
	for _, other := range live {
		most = max(most, other.req.Permits)
	}
	if o.req.Permits > 0 && len(w.owners[key]) > most {
		w.t.Errorf("%s: %d permits of %d", key, len(w.owners[key]), most)
	}
}

func (w *stress) renewed(key, id string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.owners[key] {
		if o := &w.owners[key][i]; o.req.ID == id {
			o.until = until
		}
	}
}
