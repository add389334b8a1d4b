package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// contract is what holds without concurrency, on every database.
func (e engine) contract(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"values":           e.values,
		"names":            e.names,
		"detection":        e.detection,
		"tables":           e.tables,
		"missing table":    e.missingTable,
		"made when missed": e.madeWhenMissed,
		"created at once":  e.createdAtOnce,
		"no transaction":   e.noTransaction,
		"connection":       e.connection,
		"lease":            e.lease,
		"check":            e.check,
		"slots":            e.slots,
		"prune":            e.prune,
		"several leases":   e.severalLeases,
		"state":            e.state,
		"state of zero":    e.stateOfZero,
		"reset":            e.reset,
		"libraries":        e.libraries,
		"files":            e.files,
		"context that end": e.endedContext,
	} {
		t.Run(name, test)
	}
}

// unique lets the settings of one server use the same tables.
func unique(name string) string { return fmt.Sprintf("%s_%d", name, rand.Uint64()) }

func (e engine) values(t *testing.T) {
	run := unique("run")
	fencetest.Values(t, func(ctx context.Context, resource string, f lockrt.Fence) error {
		if resource == "" || len(resource) > 100 {
			return e.guarded(ctx, fence.SQL{Dialect: e.dialect}, resource, f)
		}
		err := e.guarded(ctx, fence.SQL{Dialect: e.dialect}, run+resource, f)
		var stale *fence.StaleError
		if errors.As(err, &stale) {
			stale.Resource = strings.TrimPrefix(stale.Resource, run)
		}
		return err
	})
}

// names: each is a resource of its own, whatever it means in SQL or in a collation.
func (e engine) names(t *testing.T) {
	names := []string{
		`'; DROP TABLE data; --`, `x', 1, 1); DROP TABLE data; --`, `" OR 1=1 --`, "`", `\`, `\'; DROP TABLE data; --`, `\\'`,
		"$1", "?", "?1", ":a", "@a", "%s", "{table}", "/* ", "--", "0x41", "NULL", "\n", " ",
		"a", "A", "a ", " a", "ä", "a\u0308", "e", "é", "ß", "ss", "\u00df ", "日本", "🔒", strings.Repeat("🔒", 128), strings.Repeat("x", 512), strings.Repeat("x", 511),
	}
	guard := fence.SQL{Dialect: e.dialect, Table: unique("names")}
	if err := guard.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if err := e.guarded(t.Context(), guard, name, lockrt.Fence(1000-i)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for i, name := range names {
		var stale *fence.StaleError
		err := e.guarded(t.Context(), guard, name, lockrt.Fence(999-i))
		if !errors.As(err, &stale) || stale.Resource != name || stale.Highest != lockrt.Fence(1000-i) {
			t.Errorf("%q, stale: %v", name, err)
		}
	}
	if n := e.number(t, "SELECT count(*) FROM "+guard.Table); n != int64(len(names)) {
		t.Errorf("%d marks for %d resources", n, len(names))
	}
	e.number(t, "SELECT count(*) FROM data") // still there
}

func (e engine) detection(t *testing.T) {
	if got, err := fence.Detect(t.Context(), e.db); err != nil || got != e.dialect {
		t.Errorf("Detect = %q, %v, want %q", got, err, e.dialect)
	}
	resource := unique("detection")
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := fence.Guard(t.Context(), tx, resource, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO other (n) VALUES (1)"); err != nil {
		t.Errorf("the transaction cannot go on: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := e.guarded(t.Context(), fence.SQL{}, resource, 6); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale: %v", err)
	}
}

func (e engine) noTransaction(t *testing.T) {
	err := fence.SQL{Dialect: e.dialect}.Guard(t.Context(), e.db, "r", 1)
	if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), "*sql.Tx") {
		t.Errorf("Guard on a *sql.DB: %v", err)
	}
	for _, none := range []fence.Tx{nil, (*sql.Tx)(nil), (*sql.Conn)(nil), (*sql.DB)(nil)} {
		for _, s := range []fence.SQL{{}, {Dialect: e.dialect}} {
			check, guard := s.Check(t.Context(), none, "r", 1), s.Guard(t.Context(), none, "r", 1)
			if !errors.Is(check, fence.ErrInvalid) || !errors.Is(guard, fence.ErrInvalid) {
				t.Errorf("on a nil %T: %v, %v", none, check, guard)
			}
		}
	}
}

func (e engine) connection(t *testing.T) {
	conn, err := e.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resource := unique("conn")
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		if _, err := conn.ExecContext(t.Context(), "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if err := (fence.SQL{Dialect: e.dialect}).Guard(t.Context(), conn, resource, 7); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		err := e.guarded(t.Context(), fence.SQL{Dialect: e.dialect}, resource, 6)
		if stale := errors.Is(err, fence.ErrStale); stale != (end == "COMMIT") {
			t.Errorf("after %s: %v", end, err)
		}
	}
}

func (e engine) lease(t *testing.T) {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	resource := unique("lease")
	guard := func(ctx context.Context) error {
		tx, err := e.db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		if err := (fence.SQL{Dialect: e.dialect}).GuardLease(ctx, tx, resource); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	if err := guard(t.Context()); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("without a lease: %v", err)
	}
	var late lockrt.Fence
	for range 2 {
		if err := locks.Do(t.Context(), "key", lockrt.Options{TTL: time.Minute}, func(ctx context.Context, lease *lockrt.Lease) error {
			if late == 0 {
				late = lease.Fence()
			}
			return guard(ctx)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.guarded(t.Context(), fence.SQL{Dialect: e.dialect}, resource, late); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the first holder, late: %v", err)
	}
	lease, err := locks.Acquire(t.Context(), "key", lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Break(t.Context(), "key", "test"); err != nil {
		t.Fatal(err)
	}
	<-lease.Done()
	if err := guard(lease.Context()); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("after the loss: %v", err)
	}
}

// severalLeases: each resource is guarded with the fence of its own lock, whichever was taken last.
func (e engine) severalLeases(t *testing.T) {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	s := fence.SQL{Dialect: e.dialect}
	keys := []string{unique("a"), unique("b"), unique("c")}
	guard := func(ctx context.Context, resource string) error {
		tx, err := e.db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		if err := s.GuardLease(ctx, tx, resource); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	options := lockrt.Options{TTL: time.Minute}
	if err := locks.DoAll(t.Context(), keys, options, func(ctx context.Context, leases lockrt.Leases) error {
		for _, key := range keys {
			if err := guard(ctx, key); err != nil {
				t.Errorf("under all locks: %v", err)
			}
			mark := e.number(t, "SELECT fence FROM lockgen_fence WHERE resource = ?", key)
			if want := leases.Lease(key).Fence(); lockrt.Fence(mark) != want {
				t.Errorf("the mark of %s is %d, its fence %s", key, mark, want)
			}
		}
		if err := guard(ctx, "another"); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("under all locks, a resource of none: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func (e engine) state(t *testing.T) {
	s := fence.SQL{Dialect: e.dialect, Table: unique("state")}
	if err := s.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	fencetest.State(t, s.State(e.db))
}

func (e engine) endedContext(t *testing.T) {
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []fence.SQL{{}, {Dialect: e.dialect}} {
		if err := s.Guard(ctx, tx, "r", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
