package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

const (
	memoryStore = "memory:"
	maxNodes    = 50
)

// options are the flags of the command.
type options struct {
	store string
	nodes int
	runs  time.Duration // 0: until interrupted
	kill  time.Duration // 0: nobody is killed
	addr  string
}

func (o options) inMemory() bool { return o.store == memoryStore }

// storeName is the store without its address, which may hold a password.
func (o options) storeName() string {
	if o.inMemory() {
		return "the memory store"
	}
	return "Redis, a process each"
}

// errFlags marks errors that end the command with exit status 2.
var errFlags = errors.New("wrong flags")

func flagError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errFlags}, args...)...)
}

const usage = `usage: cluster [flags]

Runs scheduled jobs on several nodes, with a page on which nodes can be killed and
a dashboard. At the end the ticks that were due are compared with what the jobs
noted; the last line is ticks=… runs=… duplicates=… missed=… lost=…
Exit status: 0 if each tick had its run, 1 if not, 2 for wrong flags.

flags:`

// parseFlags reads the command line. For -help it prints the flags to w and
// returns flag.ErrHelp.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a wrong value may be a URL with its password
	flags.StringVar(&o.store, "store", memoryStore, "`URL` of the store: memory: runs all nodes in this process,\n"+
		"redis://[:password@]host:port/db one process for each")
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of nodes")
	flags.DurationVar(&o.runs, "for", 0, "stop after this `duration` (default: at Ctrl-C)")
	flags.DurationVar(&o.kill, "kill", 0, "kill one node after this `duration`, in the middle of a run if it can (default: nobody)")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` of the web page; with port 0 any free port is taken and printed")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, flagError("%v (see -help)", err)
	case flags.NArg() > 0:
		return o, flagError("unexpected argument %q (see -help)", flags.Arg(0))
	}
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return o, o.check(set)
}

func (o options) check(set map[string]bool) error {
	if err := checkStore(o.store); err != nil {
		return err
	}
	if o.nodes < 1 || o.nodes > maxNodes {
		return flagError("-nodes %d: want 1 to %d", o.nodes, maxNodes)
	}
	if set["for"] && o.runs <= 0 {
		return flagError("-for %s: want a positive duration, such as 20s", o.runs)
	}
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		return flagError("-addr %q: want host:port, such as 127.0.0.1:8080", o.addr)
	}
	if set["kill"] {
		return o.checkKill()
	}
	return nil
}

func (o options) checkKill() error {
	switch {
	case o.kill <= 0:
		return flagError("-kill %s: want a positive duration, such as 5s", o.kill)
	case o.nodes < 2:
		return flagError("-kill with -nodes %d would leave no node: want at least 2", o.nodes)
	case o.runs > 0 && o.kill >= o.runs:
		return flagError("-kill %s is not before the end at -for %s", o.kill, o.runs)
	}
	return nil
}

// checkStore never repeats the URL, nor what url.Parse says about it: both may
// show the password.
func checkStore(store string) error {
	if store == memoryStore {
		return nil
	}
	const want = "want memory: or redis://[:password@]host:port/db, with special characters of the password as %XX"
	u, err := url.Parse(store)
	if err != nil {
		return flagError("-store is not a URL: " + strings.ReplaceAll(want, "%", "%%"))
	}
	if (u.Scheme != "redis" && u.Scheme != "rediss") || u.Host == "" {
		return flagError("-store is of no known kind: " + strings.ReplaceAll(want, "%", "%%"))
	}
	return nil
}
