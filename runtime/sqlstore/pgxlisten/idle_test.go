package pgxlisten_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// transactions counts those of all backends, which tell within about a second.
func transactions(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	time.Sleep(1100 * time.Millisecond)
	err := db.QueryRowContext(t.Context(), "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Who listens asks every 1.8 s, and shows with the same statement that it lives. A slow machine only makes it less.
func TestListener_asksSeldom(t *testing.T) {
	server, db := postgres(t)
	quiet := slog.New(slog.DiscardHandler)
	b := locker(t, sqlstore.New(db, sqlstore.Config{Listener: listener(t, server.URL())}), quiet)
	holder := locker(t, sqlstore.New(db, sqlstore.Config{PollMin: long, PollMax: long}), quiet)
	if _, err := holder.Acquire(t.Context(), "k", lockrt.Options{TTL: long, NoRenew: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		done <- err
	}()
	awaitListeners(t, db, 1)
	// Twice the rate that is meant, and what the server does for itself: polls without LISTEN are four times as many, and signs of life come on top.
	testsync.Eventually(t, "it asks seldom", func() bool {
		before, began := transactions(t, db), time.Now()
		time.Sleep(4 * time.Second)
		rate := float64(transactions(t, db)-before-1) / time.Since(began).Seconds()
		t.Logf("%.1f statements/s", rate)
		return rate < 2.5
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
