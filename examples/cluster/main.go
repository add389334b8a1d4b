package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/cli"
)

func main() {
	logging.Disable() // the Redis client's own: what fails is in the errors it returns
	child.Main(childRole, runChild)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], signals, os.Stdout, os.Stderr))
}

// run is the command; the first signal drains, the second ends the waiting.
func run(args []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	ok := false
	if err == nil {
		ok, err = runCluster(o, signals, stdout, stderr)
	}
	return cli.Status("cluster", ok, err, stderr)
}

// runCluster starts the nodes and the web page, observes, and stops them. It
// reports whether the witness found nothing wrong.
func runCluster(o options, signals <-chan os.Signal, stdout, stderr io.Writer) (ok bool, err error) {
	b := &board{out: stdout}
	ln, err := listenPage(o.addr)
	if err != nil {
		return false, err
	}
	c, err := start(o, b, stderr)
	if err != nil {
		return false, errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, c.close()) }()
	b.setJobs(c.specs())
	control := &control{cluster: c, board: b}
	page := servePage(ln, (&site{b, c, control}).handler(), b)
	defer page.close()
	b.printf("%s", greeting(o, len(c.specs()), page.url()))

	stop := newStopper(signals)
	defer stop.close()
	return (&observer{options: o, cluster: c, control: control, board: b, stop: stop}).observe()
}

// greeting is what is printed first: what runs, and what to do with it.
func greeting(o options, jobs int, url string) string {
	victim := nodeName(min(1, o.nodes-1))
	return fmt.Sprintf(`%d nodes run %d jobs on %s
web page:  %s   (kill nodes there, and start them again)
dashboard: %sjobs/
terminal:  curl -X POST '%skill?node=%s', and start?node=%[7]s
Ctrl-C:    runs are finished, then the ticks that were due are compared with what the jobs noted
`, o.nodes, jobs, o.storeName(), url, url, url, victim)
}

func start(o options, b *board, stderr io.Writer) (cluster, error) {
	if o.inMemory() {
		return startMemory(o, b, newLogger(stderr))
	}
	return startRedis(context.Background(), o, b, stderr)
}
