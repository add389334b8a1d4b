package etcdtest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/jobs"
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
	c := start(t, 1, testetcd.Options{})
	db := jobsDatabase(t)
	ran := make(chan lockrt.Fence, 100)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		s, err := jobs.New(newLocker(t, c, name, lockrt.Config{}), jobs.Config{
			Store: jobstore.New(db, jobstore.Config{}), DrainTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Add(jobs.Job{Name: "report", Spec: "@every 1s", Run: func(ctx context.Context) error {
			ran <- lockrt.FromContext(ctx).Fence()
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { over <- s.Run(ctx) }()
	}
	last := lockrt.Fence(0)
	for range 3 {
		fence := <-ran
		if fence <= last {
			t.Errorf("fence %d after %d", fence, last)
		}
		last = fence
	}
	stop()
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}
