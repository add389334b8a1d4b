package etcdtest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/redisstore"
	jobstore "github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// There are no jobs in etcd. The error says why, and what to do.
func TestJobs_declined(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	_, err := jobs.New(newLocker(t, c, "a", lockrt.Config{}), jobs.Config{})
	says(t, err, "*etcdstore.Store", "quota", "set Config.Store", "jobs/redisstore", "jobs/sqlstore")
}

// jobsDatabase is a database with the tables of jobs.
func jobsDatabase(t *testing.T) *sql.DB {
	t.Helper()
	const settings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "jobs.db")+settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := jobstore.CreateTables(t.Context(), db, jobstore.Config{}); err != nil {
		t.Fatal(err)
	}
	return db
}

// Locks in etcd and jobs in a database: each tick runs on one of two nodes, under a lock in etcd with its fence.
func TestJobs_inADatabase(t *testing.T) {
	db := jobsDatabase(t)
	runJobs(t, func() jobs.Store { return jobstore.New(db, jobstore.Config{}) })
}

// The same with jobs in Redis.
func TestJobs_inRedis(t *testing.T) {
	server := testenv.Redis(t)
	runJobs(t, func() jobs.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		return redisstore.New(client, "")
	})
}

// runJobs lets two nodes with stores of their own run three ticks of a job. Their locks are in etcd.
func runJobs(t *testing.T, store func() jobs.Store) {
	t.Helper()
	c := start(t, 1, testetcd.Options{})
	type run struct {
		tick  time.Time
		fence lockrt.Fence
	}
	ran := make(chan run, 100)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		s, err := jobs.New(newLocker(t, c, name, lockrt.Config{}), jobs.Config{
			Store: store(), DrainTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Add(jobs.Job{Name: "report", Spec: "@every 1s", Run: func(ctx context.Context) error {
			lease := lockrt.FromContext(ctx)
			_, tick, _ := jobs.TickFromContext(ctx)
			ran <- run{tick, lease.Fence()}
			return lease.Check(ctx) // etcd has it
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { over <- s.Run(ctx) }()
	}
	var last run
	for range 3 {
		now := <-ran
		if now.fence <= last.fence || !now.tick.After(last.tick) {
			t.Errorf("%v after %v", now, last)
		}
		last = now
	}
	stop()
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}
