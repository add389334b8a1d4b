package main

import (
	"io"
	"net"
	"time"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

const maxNodes = 50

// options are the flags of the command.
type options struct {
	store string
	nodes int
	runs  time.Duration // 0: until interrupted
	kill  time.Duration // 0: nobody is killed
	addr  string
}

func (o options) inMemory() bool { return o.store == cli.MemoryStore }

// storeName is the store without its address, which may hold a password.
func (o options) storeName() string {
	if o.inMemory() {
		return "the memory store"
	}
	return "Redis, a process each"
}

const usage = `usage: cluster [flags]

Runs scheduled jobs on several nodes, with a page on which nodes can be killed and
a dashboard. At the end the ticks that were due are compared with what the jobs
noted; the last line is ticks=… runs=… duplicates=… missed=… lost=…
Exit status: 0 if each tick had its run, 1 if not, 2 for wrong flags.

flags:
`

// parseFlags reads the command line. For -help it prints the flags to w and
// returns flag.ErrHelp.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	flags := cli.NewFlags("cluster")
	flags.StringVar(&o.store, "store", cli.MemoryStore, "`URL` of the store: memory: runs all nodes in this process,\n"+
		"redis://[:password@]host:port/db one process for each")
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of nodes")
	flags.DurationVar(&o.runs, "for", 0, "stop after this `duration` (default: at Ctrl-C)")
	flags.DurationVar(&o.kill, "kill", 0,
		"kill one node after this `duration`, in the middle of a run if it can (default: nobody)")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080",
		"`address` of the web page; with port 0 any free port is taken and printed")
	given, err := cli.Parse(flags, args, usage, w)
	if err != nil {
		return o, err
	}
	return o, o.check(given)
}

func (o options) check(given map[string]bool) error {
	if err := cli.CheckStore(o.store, "redis", "rediss"); err != nil {
		return err
	}
	if o.nodes < 1 || o.nodes > maxNodes {
		return cli.FlagError("-nodes %d: want 1 to %d", o.nodes, maxNodes)
	}
	if given["for"] && o.runs <= 0 {
		return cli.FlagError("-for %s: want a positive duration, such as 20s", o.runs)
	}
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		return cli.FlagError("-addr %q: want host:port, such as 127.0.0.1:8080", o.addr)
	}
	if given["kill"] {
		return o.checkKill()
	}
	return nil
}

func (o options) checkKill() error {
	switch {
	case o.kill <= 0:
		return cli.FlagError("-kill %s: want a positive duration, such as 5s", o.kill)
	case o.nodes < 2:
		return cli.FlagError("-kill with -nodes %d would leave no node: want at least 2", o.nodes)
	case o.runs > 0 && o.kill >= o.runs:
		return cli.FlagError("-kill %s is not before the end at -for %s", o.kill, o.runs)
	}
	return nil
}
