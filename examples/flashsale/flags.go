package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strings"
)

const (
	memoryStore  = "memory:"
	sqliteFile   = "sqlite:"
	maxInstances = 50
)

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

func (o options) inMemory() bool { return o.store == memoryStore }

// errFlags marks errors that end the command with exit status 2.
var errFlags = errors.New("wrong flags")

func flagError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errFlags}, args...)...)
}

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
	flags := flag.NewFlagSet("flashsale", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a wrong value may be a URL with its password
	flags.StringVar(&o.store, "store", memoryStore, "`URL` of the locks: memory: runs all instances in this process,\n"+
		"redis://[:password@]host:port/db one process for each")
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
		"the stock, with SIGKILL (redis only)")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, usage)
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
			return flagError("-%s %d: want %d to %d", f.name, f.value, f.low, f.max)
		}
	}
	if err := checkStore(o.store); err != nil {
		return err
	}
	if set["kill"] {
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
		return flagError("-kill %d: want a number of answers from 1 to less than -requests %d", o.kill, o.requests)
	case o.inMemory():
		return flagError("-kill needs instances that are processes: add -store redis://127.0.0.1:6379/0")
	case o.instances < 2:
		return flagError("-kill with -instances %d would leave nobody to sell: want at least 2", o.instances)
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
	scheme, _, _ := strings.Cut(u.Scheme, "+") // redis+cluster: and redis+sentinel: too
	if (scheme != "redis" && scheme != "rediss") || u.Host == "" {
		return flagError("-store is of no known kind: " + strings.ReplaceAll(want, "%", "%%"))
	}
	return nil
}
