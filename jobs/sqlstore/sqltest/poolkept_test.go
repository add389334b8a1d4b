package sqltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// How long statements of MySQL wait for locks is set on connections of the caller's pool. They come back as they were, or not
// at all, also where contexts end at any moment.
func TestStore_poolKept(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	const conns = 3
	db := openDB(t, "mysql", mysqlDSN(e.url)+"?interpolateParams=true&innodb_lock_wait_timeout=77&lock_wait_timeout=88")
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	s := sqlstore.New(db, sqlstore.Config{Namespace: "own"})
	if err := use(t, s); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	var done atomic.Int64
	for c := range 2 * conns {
		callers.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(15*time.Millisecond))
				err := s.Put(ctx, letter(fmt.Sprint(c, "-", i)))
				if i%2 == 0 {
					_, err = s.Heartbeat(ctx, jobs.Heartbeat{Session: fmt.Sprint(c), Lease: time.Minute})
				}
				cancel()
				var network net.Error
				if err == nil {
					done.Add(1)
				} else if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &network) && network.Timeout()) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if done.Load() == 0 {
		t.Skip("all calls came to their ends before the database had answered")
	}
	for range conns {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // when all have been looked at
		var row, table int
		const query = "SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout"
		if err := conn.QueryRowContext(t.Context(), query).Scan(&row, &table); err != nil || row != 77 || table != 88 {
			t.Errorf("a connection waits %d s for a row and %d s for a table; %v", row, table, err)
		}
	}
}
