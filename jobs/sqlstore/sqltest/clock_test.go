package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testclock"
	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	locksql "github.com/lockgen/lockgen/runtime/sqlstore"
)

// clocked runs a test on servers whose clocks it sets.
func clocked(t *testing.T, test func(*testing.T, *engine, *testclock.Clock)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		e := postgres(t)
		u, err := url.Parse(e.url)
		if err != nil {
			t.Fatal(err)
		}
		clock := testclock.Postgres(t, e.db, path.Base(u.Path))
		e.db = openDB(t, "pgx", e.url) // connections with that clock
		test(t, e, clock)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		e := mariaDB(t)
		to, clock := testclock.MySQL(e.db.Driver(), mysqlDSN(e.url)+"?interpolateParams=true")
		e.db = sql.OpenDB(to)
		t.Cleanup(func() { _ = e.db.Close() })
		test(t, e, clock)
	})
}

// The clock of the server is set back, and the answer to the next heartbeat is lost.
func TestStore_clockSetBack_lostAnswer(t *testing.T) {
	clocked(t, func(t *testing.T, e *engine, clock *testclock.Clock) {
		s, stamp := e.store(), ""
		heartbeat := func() {
			t.Helper()
			r, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute, Stamp: stamp})
			if err != nil || r.Lost {
				t.Errorf("%+v, %v; want nothing lost", r, err)
			}
			stamp = r.Stamp
		}
		heartbeat()
		clock.SetBack(t, 30*time.Second)
		known := stamp
		heartbeat()
		stamp = known
		heartbeat()
	})
}

// The clock of the server is set back by some seconds and right again. The ticks of these seconds have begun before: each
// begins once and has a record, and a one-off job runs once.
func TestStore_clockSetBack(t *testing.T) { clocked(t, clockSetBack) }

func clockSetBack(t *testing.T, e *engine, clock *testclock.Clock) {
	if err := locksql.CreateTables(t.Context(), e.db, locksql.Config{}); err != nil {
		t.Fatal(err)
	}
	store := sqlstore.New(e.db, sqlstore.Config{})
	p := &processes{t: t, begins: make(chan begun, 10_000), count: make(map[string]int)}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 2)
	for i := range 2 {
		go func() { over <- p.nodeHere(ctx, e, fmt.Sprint("node-", i)) }()
	}
	for range 4 {
		p.nextTick()
	}
	clock.SetBack(t, 3*time.Second)
	p.put(store, "while it is back")
	for range 3 {
		p.nextTick()
	}
	clock.SetBack(t, 0)
	p.put(store, "when it is right")
	for range 4 {
		p.nextTick()
	}
	testsync.Eventually(t, "the one-off jobs have begun", func() bool {
		p.drain()
		return p.count["while it is back"] > 0 && p.count["when it is right"] > 0
	})
	stop()
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	p.drain()
	p.judge(store, map[string]bool{"while it is back": true, "when it is right": true}, 0)
}

// put enqueues a one-off job that is due.
func (p *processes) put(store *sqlstore.Store, id string) {
	p.t.Helper()
	if err := store.Put(p.t.Context(), jobs.OneOff{ID: id, Handler: mailer, At: time.Now()}); err != nil {
		p.t.Fatal(err)
	}
}

// nodeHere runs a node in this process until ctx ends.
func (p *processes) nodeHere(ctx context.Context, e *engine, name string) error {
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(locksql.New(e.db, locksql.Config{}), lockrt.Config{Node: name, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { _ = locks.Close(context.Background()) }()
	s, err := jobs.New(locks, jobs.Config{Logger: quiet, History: 1000})
	if err != nil {
		return err
	}
	begin := func(what string) error {
		p.begins <- begun{name, what}
		return nil
	}
	err = s.Add(jobs.Job{
		Name: everySecond, Spec: "@every 1s", Misfire: jobs.MisfireAll, Overlap: jobs.OverlapQueue,
		Run: func(ctx context.Context) error {
			_, tick, _ := jobs.TickFromContext(ctx)
			return begin(tick.UTC().Format(time.RFC3339Nano))
		},
	})
	if err == nil {
		err = s.AddHandler(jobs.Handler{Name: mailer, Run: func(_ context.Context, id string, _ []byte) error {
			return begin(id)
		}})
	}
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
