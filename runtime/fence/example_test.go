package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// A write that was on its way while the lock changed hands is refused by the service that owns the data.
func Example() {
	ctx := context.Background()
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		panic(err)
	}
	defer locks.Close(ctx)

	balances := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(fence.Middleware{}.Wrap(balances))
	defer server.Close()
	client := &http.Client{Transport: &fence.Transport{Base: server.Client().Transport}}

	var late *http.Request // what the first holder sends too late
	for _, holder := range []string{"first", "second"} {
		err := locks.Do(ctx, "account:42", lockrt.Options{TTL: time.Minute}, func(ctx context.Context, lease *lockrt.Lease) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/accounts/42", strings.NewReader("17"))
			if err != nil {
				return err
			}
			if late == nil {
				late = req.Clone(context.WithoutCancel(ctx))
				fence.SetHeader(late.Header, lease.Fence())
				fmt.Println(holder, "holder: paused before its write")
				return nil
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			fmt.Println(holder, "holder:", resp.Status)
			return fence.ResponseError(resp)
		})
		if err != nil {
			panic(err)
		}
	}
	resp, err := client.Do(late)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println("first holder:", resp.Status, errors.Is(fence.ResponseError(resp), fence.ErrStale))
	// Output:
	// first holder: paused before its write
	// second holder: 200 OK
	// first holder: 412 Precondition Failed true
}

// The guard comes first in the transaction, and every error of it rolls back.
func ExampleSQL_GuardLease() {
	guard := fence.SQL{Dialect: fence.Postgres}
	withdraw := func(ctx context.Context, db *sql.DB, account string, amount int64) error {
		tx, err := db.BeginTx(ctx, nil) // ctx is that of the lease
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := guard.GuardLease(ctx, tx, "account:"+account); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - $1 WHERE id = $2", amount, account); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = withdraw
}

// Checking again in the handler's transaction closes the gap between the middleware and the write.
func ExampleReceived() {
	var db *sql.DB
	save := func(w http.ResponseWriter, r *http.Request) {
		tx, err := db.BeginTx(r.Context(), nil)
		if err != nil {
			http.Error(w, "database is down", http.StatusServiceUnavailable)
			return
		}
		defer tx.Rollback()
		err = fence.Guard(r.Context(), tx, r.URL.Path, fence.Received(r.Context()))
		if errors.Is(err, fence.ErrStale) {
			http.Error(w, err.Error(), http.StatusPreconditionFailed)
			return
		}
		// the other errors, the writes and the commit
	}
	guard := fence.SQL{Dialect: fence.Postgres}
	http.Handle("/accounts/", fence.Middleware{State: guard.State(db)}.Wrap(http.HandlerFunc(save)))
}
