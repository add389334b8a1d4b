package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// A holder that was paused beyond its lease finds its write refused.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fence")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	guard := fence.SQL{Dialect: fence.SQLite}
	if err := guard.CreateTable(ctx, db); err != nil {
		panic(err)
	}
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		panic(err)
	}
	defer locks.Close(ctx)

	write := func(f lockrt.Fence) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := guard.Guard(ctx, tx, "stock:7", f); err != nil {
			return err
		}
		// writes to the stock, with tx
		return tx.Commit()
	}
	var fences []lockrt.Fence
	for range 2 {
		if err := locks.Do(ctx, "stock:7", lockrt.Options{TTL: time.Minute}, func(_ context.Context, lease *lockrt.Lease) error {
			fences = append(fences, lease.Fence())
			return nil
		}); err != nil {
			panic(err)
		}
	}
	fmt.Println("second holder:", write(fences[1]))
	fmt.Println("first holder, late, is refused:", errors.Is(write(fences[0]), fence.ErrStale))
	// Output:
	// second holder: <nil>
	// first holder, late, is refused: true
}
