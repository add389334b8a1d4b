package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9/logging"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/cli"
)

func main() {
	// The clients' own logs: what fails is in the errors they return.
	logging.Disable()
	_ = mysql.SetLogger(&mysql.NopLogger{})
	child.Main(childRole, runChild)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. It blocks until the sale is over, or until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	fair := false
	if err == nil {
		fair, err = hold(ctx, o, stdout, stderr)
	}
	return cli.Status("flashsale", fair, err, stderr)
}
