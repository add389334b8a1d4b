package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared are servers that the tests of one program have in common.
var shared struct {
	mu       sync.Mutex // guards what follows
	postgres *PostgresServer
	mariadb  *MariaDBServer
}

// Sharing is a testing.M whose tests may use SharedPostgres and SharedMariaDB:
//
//	goleak.VerifyTestMain(testenv.Sharing{M: m})
type Sharing struct{ M interface{ Run() int } }

// Run runs the tests, and then stops the servers that they shared.
func (s Sharing) Run() int {
	code := s.M.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	var errs []error
	if shared.postgres != nil {
		errs = append(errs, shared.postgres.Stop())
	}
	if shared.mariadb != nil {
		errs = append(errs, shared.mariadb.Stop())
	}
	shared.postgres, shared.mariadb = nil, nil
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// SharedPostgres returns the one server of this program's tests, which the first of them starts and Sharing stops. A
// test makes a database of its own there, and neither kills nor pauses the server: see Postgres for that.
func SharedPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	return share(t, "postgres", &shared.postgres, func(ctx context.Context) (*PostgresServer, error) { return StartPostgres(ctx) })
}

// SharedMariaDB is SharedPostgres for MariaDB.
func SharedMariaDB(t testing.TB) *MariaDBServer {
	t.Helper()
	return share(t, "mariadb", &shared.mariadb, func(ctx context.Context) (*MariaDBServer, error) { return StartMariaDB(ctx) })
}

func share[S any](t testing.TB, name string, server **S, start func(context.Context) (*S, error)) *S {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if *server != nil {
		return *server
	}
	s, err := start(context.Background())
	switch {
	case errors.Is(err, ErrNotInstalled):
		missing(t, name, err)
	case err != nil:
		t.Fatal(err)
	}
	*server = s
	return s
}
