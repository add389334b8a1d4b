package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/cli"
	_ "github.com/lockgen/lockgen/runtime/etcdstore" // locks at etcd://
)

func main() {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // what fails is in the errors it returns
	child.Main(childRole, runChild)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. It blocks until -for is over, or until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	ok := false
	if err == nil {
		ok, err = runCluster(ctx, o, stdout, stderr)
	}
	return cli.Status("cluster", ok, err, stderr)
}

// options are the flags of the command.
type options struct {
	store string
	jobs  string // where the jobs are, if not in store
	nodes int
	runs  time.Duration // 0: until interrupted
	kill  time.Duration // 0: nobody is killed
	addr  string
}

const maxNodes = 20

const usage = `usage: cluster -store URL [-jobs URL] [flags]

Runs scheduled jobs on several processes that share a database, with a dashboard.
At the end the ticks that were due are compared with what the jobs noted; the last
line is ticks=… runs=… duplicates=… missed=… lost=…
Exit status: 0 if each tick had its run, 1 if not, 2 for wrong flags.

flags:
`

const wantStore = "want sqlite:FILE, postgres://user:password@host:port/db or mysql://user:password@host:port/db, with " +
	"special characters of the password as %XX"

// parseFlags reads the command line. For -help it prints the flags to w and returns flag.ErrHelp.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	flags := cli.NewFlags("cluster")
	flags.StringVar(&o.store, "store", "", "`URL` of the database: sqlite:FILE, postgres://user:password@host:port/db\n"+
		"or mysql://user:password@host:port/db; or etcd://host:port,… for the locks alone")
	flags.StringVar(&o.jobs, "jobs", "", "`URL` of the database of the jobs, or redis://host:port, if the locks are in etcd")
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of processes")
	flags.DurationVar(&o.runs, "for", 0, "stop after this `duration` (default: at Ctrl-C)")
	flags.DurationVar(&o.kill, "kill", 0, "kill a process after this `duration`, in the middle of a run (default: nobody)")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` of the dashboard; with port 0 any free port")
	given, err := cli.Parse(flags, args, usage, w)
	if err != nil {
		return o, err
	}
	return o, o.check(given)
}

// inEtcd reports whether the locks are in etcd, and the jobs in another place.
func (o options) inEtcd() bool {
	scheme, _, _ := strings.Cut(o.store, ":")
	return scheme == "etcd" || scheme == "etcds"
}

// database is where the jobs are, and the locks unless they are in etcd.
func (o options) database() string {
	if o.inEtcd() {
		return o.jobs
	}
	return o.store
}

func (o options) databaseFlag() string {
	if o.inEtcd() {
		return "-jobs"
	}
	return "-store"
}

func isDatabase(url string) bool {
	scheme, rest, _ := strings.Cut(url, ":")
	return drivers[scheme] != "" && rest != ""
}

func (o options) check(given map[string]bool) error {
	switch {
	case !given["store"]:
		return cli.FlagError("%s", "-store is missing: "+wantStore)
	case o.inEtcd() && !given["jobs"]:
		return cli.FlagError("-jobs is missing: etcd keeps the locks alone. For the jobs %s", o.wantDatabase())
	case !o.inEtcd() && given["jobs"]:
		return cli.FlagError("%s", "-jobs is for locks in etcd: without it the jobs are in the database of -store")
	case !isDatabase(o.database()) && !(o.inEtcd() && isRedis(o.jobs)):
		return cli.FlagError("%s is of no known kind: %s", o.databaseFlag(), o.wantDatabase())
	}
	return o.checkNumbers(given)
}

func (o options) wantDatabase() string {
	if o.inEtcd() {
		return wantStore + "; or " + wantRedis
	}
	return wantStore
}

func (o options) checkNumbers(given map[string]bool) error {
	switch {
	case o.nodes < 1 || o.nodes > maxNodes:
		return cli.FlagError("-nodes %d: want 1 to %d", o.nodes, maxNodes)
	case given["for"] && o.runs <= 0:
		return cli.FlagError("-for %s: want a positive duration, such as 20s", o.runs)
	case given["kill"] && o.kill <= 0:
		return cli.FlagError("-kill %s: want a positive duration, such as 8s", o.kill)
	case given["kill"] && o.nodes < 2:
		return cli.FlagError("-kill with -nodes %d would leave no node: want at least 2", o.nodes)
	case given["kill"] && o.runs > 0 && o.kill >= o.runs:
		return cli.FlagError("-kill %s is not before the end at -for %s", o.kill, o.runs)
	}
	return nil
}
