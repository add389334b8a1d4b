// Command bench measures this library and its peers at the same work, side by side in one run, and compares the ratios
// with those of the design. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
)

func main() {
	testetcd.BeServer()
	if name := os.Getenv(workerEnv); name != "" {
		os.Exit(workerMain(name))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// limit bounds each scenario, whatever hangs.
const limit = 6 * time.Minute

// run is the command; it returns the exit code: 1 if a scenario failed, 2 if the command line is wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var plans []plan
	if err == nil {
		plans, err = s.plans()
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 2
	}
	b := &bench{progress: stderr}
	if s.only != "" {
		b.only = strings.Split(s.only, ",")
	}
	err = profiled(s.profile, func() error { return runAll(ctx, b, plans) })
	write := b.report.writeTable
	if s.json {
		write = b.report.writeJSON
	}
	if err := errors.Join(err, write(stdout)); err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

// runAll runs one scenario after the other, also after one that failed: its neighbours' figures are still worth having.
func runAll(ctx context.Context, b *bench, plans []plan) error {
	var errs []error
	for _, p := range plans {
		if ctx.Err() != nil {
			break
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		err := p.run(limited, b)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("scenario %s: %w", p.name, err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// profiled runs work, with a CPU profile if path is not empty.
func profiled(path string, work func() error) error {
	if path == "" {
		return work()
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}
