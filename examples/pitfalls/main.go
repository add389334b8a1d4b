package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
	"github.com/lockgen/lockgen/examples/pitfalls/recipes"
)

// patience bounds a scenario, and a measurement. It is no measure of speed.
const patience = 2 * time.Minute

// databaseLocks says where the other locks of the articles are. They need drivers, which this module does not have.
const databaseLocks = `
The database locks of the articles (FOR UPDATE, GET_LOCK) fail in examples/sql/rowlocks:
  go test -C examples/sql -v ./rowlocks
`

func main() {
	logging.Disable() // the Redis client warns of what the recipes do on purpose
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	ok := false
	if err == nil {
		ok, err = show(ctx, o, stdout)
	}
	return cli.Status("pitfalls", ok, err, stderr)
}

// show runs everything and prints it. It reports whether all was as it should be.
func show(ctx context.Context, o options, w io.Writer) (ok bool, err error) {
	srv, err := o.openServer(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	fmt.Fprintf(w, "on %s\n\n", srv.name)

	rows := runAll(ctx, srv, o.pitfalls())
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("interrupted: %w", err)
	}
	ok = printTable(w, rows)
	defer fmt.Fprint(w, databaseLocks)
	if o.storm == 0 {
		return ok, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	storms, err := recipes.Measure(ctx, func() *lab.Lab { return srv.lab(ctx) }, o.storm)
	if err != nil {
		return false, err
	}
	printStorms(w, storms)
	return ok, nil
}
