package sqltest

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
)

// scenario is one way in which a transaction with fence 10 and one with fence 20 meet.
type scenario struct {
	engine
	resource  string
	isolation sql.IsolationLevel
	snapshot  bool // both have read something before either guards
}

// order runs all meetings at all isolation levels.
func (e engine) order(t *testing.T) {
	levels := e.isolation
	if len(levels) == 0 {
		levels = []sql.IsolationLevel{sql.LevelDefault}
	}
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			for name, meeting := range map[string]func(*scenario, *testing.T){
				"older first":         (*scenario).olderFirst,
				"newer first":         (*scenario).newerFirst,
				"newer is done":       (*scenario).newerDone,
				"newer rolls back":    (*scenario).newerRollsBack,
				"everybody all along": (*scenario).everybody,
			} {
				for _, snapshot := range []bool{false, true} {
					if e.impossible != nil && e.impossible(name, snapshot) {
						continue
					}
					for _, known := range []bool{false, true} {
						sc := &scenario{engine: e, isolation: level, snapshot: snapshot}
						sc.resource = fmt.Sprintf("%s %s %v %v %d", name, level, snapshot, known, rand.Uint32())
						t.Run(fmt.Sprintf("%s/snapshot=%v,known=%v", name, snapshot, known), func(t *testing.T) {
							sc.exec(t, "INSERT INTO data (name, fence) VALUES (?, 0)", sc.resource)
							if known {
								if err := sc.guarded(t.Context(), fence.SQL{Dialect: e.dialect}, sc.resource, 5); err != nil {
									t.Fatal(err)
								}
							}
							meeting(sc, t)
						})
					}
				}
			}
		})
	}
}

func (sc *scenario) expectData(t testing.TB, want lockrt.Fence) {
	t.Helper()
	if got := sc.number(t, "SELECT fence FROM data WHERE name = ?", sc.resource); got != int64(want) {
		t.Errorf("the data were last written with fence %d, want %s", got, want)
	}
}

// expectStale takes the result of the older writer's guard.
func (sc *scenario) expectStale(t testing.TB, err error) {
	t.Helper()
	if sc.again(err) {
		err = sc.retry(t, 10)
	}
	var stale *fence.StaleError
	if !errors.As(err, &stale) || stale.Given != 10 || stale.Highest != 20 {
		t.Errorf("the older writer was told %v", err)
	}
}

func (sc *scenario) olderFirst(t *testing.T) {
	older, newer := sc.begin(t, 10), sc.begin(t, 20)
	if err := older.guard(); err != nil {
		t.Fatal(err)
	}
	newerGuard := newer.guardLater()
	err, ended := sc.awaitBlocked(t, newerGuard)
	if ended {
		t.Errorf("the newer writer's guard did not wait for the older transaction: %v", err)
	}
	if err := older.commit(); err != nil {
		t.Errorf("older: %v", err)
	}
	if !ended {
		err = <-newerGuard
	}
	if err == nil {
		newer.expectSees(t, 10)
		err = newer.commit()
	}
	if sc.again(err) {
		err = sc.retry(t, 20)
	}
	if err != nil {
		t.Errorf("newer: %v", err)
	}
	sc.expectData(t, 20)
}

func (sc *scenario) newerFirst(t *testing.T) {
	older, newer := sc.begin(t, 10), sc.begin(t, 20)
	if err := newer.guard(); err != nil {
		t.Fatal(err)
	}
	olderGuard := older.guardLater()
	err, ended := sc.awaitBlocked(t, olderGuard)
	if ended {
		t.Errorf("the older writer's guard did not wait for the newer transaction: %v", err)
	}
	if err := newer.commit(); err != nil {
		t.Errorf("newer: %v", err)
	}
	if !ended {
		err = <-olderGuard
	}
	if err == nil {
		err = older.commit() // what a guard that lets it pass leads to
	}
	sc.expectStale(t, err)
	sc.expectData(t, 20)
}

// newerDone: the older writer's snapshot may be from before all of it.
func (sc *scenario) newerDone(t *testing.T) {
	older, newer := sc.begin(t, 10), sc.begin(t, 20)
	if err := newer.guard(); err != nil {
		t.Fatal(err)
	}
	if err := newer.commit(); err != nil {
		t.Fatal(err)
	}
	err := older.guard()
	if err == nil {
		err = older.commit()
	}
	sc.expectStale(t, err)
	sc.expectData(t, 20)
}

func (sc *scenario) newerRollsBack(t *testing.T) {
	newer := sc.begin(t, 20)
	if err := newer.guard(); err != nil {
		t.Fatal(err)
	}
	if err := newer.write(); err != nil {
		t.Fatal(err)
	}
	if err := newer.tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	older := sc.begin(t, 10)
	if err := older.guard(); err != nil {
		t.Fatalf("a rollback raised the mark: %v", err)
	}
	if err := older.commit(); err != nil {
		t.Error(err)
	}
	sc.expectData(t, 10)
}

var errChangedMind = errors.New("rolled back for the test")

// everybody: many writers at once, some of which roll back, and a reader that never sees a lower fence after a higher.
func (sc *scenario) everybody(t *testing.T) {
	var observer sync.WaitGroup
	stop := make(chan struct{})
	observer.Go(func() {
		for last := int64(0); ; {
			seen := sc.number(t, "SELECT fence FROM data WHERE name = ?", sc.resource)
			if seen < last {
				t.Errorf("fence %d became visible after %d", seen, last)
			}
			last = seen
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	highest := fencetest.Order(t, 60, 4, func(f lockrt.Fence) error {
		w := &writer{scenario: sc, ctx: t.Context(), fence: f}
		if err := w.begin(sc.snapshot && rand.IntN(2) == 0); err != nil {
			return err
		}
		if err := w.guard(); err != nil {
			return err
		}
		if rand.IntN(5) == 0 {
			return errors.Join(errChangedMind, w.write(), w.tx.Rollback())
		}
		return w.commit()
	}, func(err error) bool { return sc.again(err) || errors.Is(err, errChangedMind) })
	close(stop)
	observer.Wait()
	if highest == 0 {
		t.Error("nobody got through")
	}
	sc.expectData(t, highest)
	if mark := sc.number(t, "SELECT fence FROM lockgen_fence WHERE resource = ?", sc.resource); mark != int64(highest) {
		t.Errorf("mark = %d, highest committed %s", mark, highest)
	}
}
