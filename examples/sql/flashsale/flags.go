package main

import (
	"io"
	"strings"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

const (
	sqliteFile   = "sqlite:"
	maxInstances = 50
)

// storeSchemes are those of packages sqlstore, for PostgreSQL, and redisstore. Of a cluster or of sentinels the URL names several hosts.
var storeSchemes = []string{"postgres", "postgresql", "redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel",
	"unix"}

// options are the flags of the command.
type options struct {
	store       string
	db          string
	instances   int
	requests    int // 0: serve until interrupted
	concurrency int
	users       int
	stock       int
	unsafe      bool
	kill        int // 0: nobody is killed
}

func (o options) inMemory() bool { return o.store == cli.MemoryStore }

const usage = `usage: flashsale [flags]

Sells -stock items to -users users who send -requests requests to several
instances of a service, and counts in the database what was sold: the last line
is requests=… sold=… oversold=… duplicate_orders=… p50=… p99=… rps=…
Exit status: 0 if nothing was sold twice, 1 if something was, 2 for wrong flags.

flags:
`

// parseFlags reads the command line. For -help it prints the flags to w and
// returns flag.ErrHelp.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	flags := cli.NewFlags("flashsale")
	flags.StringVar(&o.store, "store", cli.MemoryStore,
		"`URL` of the locks: memory: runs all instances in this process,\n"+
			"redis://[:password@]host:port/db and postgres://… one process for each\n"+
			"(default with -db postgres://…: that database)")
	flags.StringVar(&o.db, "db", "", "`URL` of the database, in which the orders stay: sqlite:FILE,\n"+
		"postgres://user:password@host:port/db or mysql://user:password@host:port/db\n"+
		"(default: a SQLite file that is removed at the end)")
	flags.IntVar(&o.instances, "instances", 3, "`number` of instances of the service")
	flags.IntVar(&o.requests, "requests", 2000, "`number` of requests to send; 0 sends none and serves until interrupted")
	flags.IntVar(&o.concurrency, "concurrency", 1000, "`number` of requests under way at the same time")
	flags.IntVar(&o.users, "users", 500, "`number` of users who send them, each several")
	flags.IntVar(&o.stock, "stock", 100, "`number` of items for sale")
	flags.BoolVar(&o.unsafe, "unsafe", false, "without locks and fences, to see what happens then")
	flags.IntVar(&o.kill, "kill", 0, "after this `number` of answers kill the instance that holds the lock on\n"+
		"the stock, with SIGKILL (not with memory:)")
	given, err := cli.Parse(flags, args, usage, w)
	if err != nil {
		return o, err
	}
	if !given["store"] && strings.HasPrefix(o.db, "postgres") {
		o.store = o.db
	}
	return o, o.check(given)
}

func (o options) check(given map[string]bool) error {
	for _, f := range []struct {
		name            string
		value, low, max int
	}{
		{"instances", o.instances, 1, maxInstances},
		{"requests", o.requests, 0, 10_000_000},
		{"concurrency", o.concurrency, 1, 20_000},
		{"users", o.users, 1, 10_000_000},
		{"stock", o.stock, 1, 10_000_000},
	} {
		if f.value < f.low || f.value > f.max {
			return cli.FlagError("-%s %d: want %d to %d", f.name, f.value, f.low, f.max)
		}
	}
	if err := cli.CheckStore(o.store, storeSchemes...); err != nil {
		return err
	}
	if given["kill"] {
		if err := o.checkKill(); err != nil {
			return err
		}
	}
	_, err := parseDatabase(o.db)
	return err
}

func (o options) checkKill() error {
	switch {
	case o.kill < 1 || o.kill >= o.requests:
		return cli.FlagError("-kill %d: want a number of answers from 1 to less than -requests %d", o.kill, o.requests)
	case o.inMemory():
		return cli.FlagError("-kill needs instances that are processes: add -store redis://127.0.0.1:6379/0")
	case o.instances < 2:
		return cli.FlagError("-kill with -instances %d would leave nobody to sell: want at least 2", o.instances)
	}
	return nil
}
