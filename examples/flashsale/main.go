package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9/logging"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// The clients' own logs: what fails is in the errors they return.
	logging.Disable()
	_ = mysql.SetLogger(&mysql.NopLogger{})
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		os.Exit(childMain(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. It blocks until the sale is over, or until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	var fair bool
	if err == nil {
		fair, err = hold(ctx, o, stdout, stderr)
	}
	switch {
	case errors.Is(err, errFlags):
		fmt.Fprintln(stderr, "flashsale:", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "flashsale:", err)
		return exitFailed
	case !fair:
		return exitFailed
	}
	return exitOK
}
