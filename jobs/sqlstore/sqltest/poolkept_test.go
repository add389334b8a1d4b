package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
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

// The scheduler survives a driver that panics. So does the pool.
func TestStore_poolKept_panic(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	dsn := mysqlDSN(e.url) + "?interpolateParams=true"
	words := []string{"SET STATEMENT"}
	if testenv.OnMySQL() {
		words = []string{"SET @lockgen", "SET innodb_lock", "INSERT"}
	}
	for _, word := range words {
		t.Run(word, func(t *testing.T) {
			l := &lateEnd{base: e.db.Driver(), dsn: dsn, word: word}
			db := sql.OpenDB(l)
			defer db.Close()
			s := sqlstore.New(db, sqlstore.Config{Namespace: word})
			if err := use(t, s); err != nil {
				t.Fatal(err)
			}
			var die context.CancelFunc = func() { panic("the driver's") }
			l.end.Store(&die)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the driver did not panic")
					}
				}()
				_ = s.Put(t.Context(), letter("panic"))
			}()
			if n := db.Stats().InUse; n > 0 {
				t.Errorf("%d connections are in use for good", n)
			}
		})
	}
}
