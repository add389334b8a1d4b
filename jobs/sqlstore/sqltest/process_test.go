package sqltest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	locksql "github.com/lockgen/lockgen/runtime/sqlstore"
)

// childEnv has the name of the node that this process is to be, and urlEnv its database.
const (
	childEnv = "LOCKGEN_JOBS_CHILD"
	urlEnv   = "LOCKGEN_JOBS_URL"
)

const (
	everySecond = "every-second"
	mailer      = "mail"
	runTime     = 300 * time.Millisecond
)

// beNode runs a node until its standard input ends. It writes a line whenever its work begins.
func beNode(name, url string) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // what it says about connections is no news here
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.Open(ctx, url, lockrt.Config{Node: name, Logger: quiet})
	for end := time.Now().Add(time.Minute); err != nil; { // tests stop and kill servers, also when a node starts
		if ctx.Err() != nil {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
		locks, err = lockrt.Open(ctx, url, lockrt.Config{Node: name, Logger: quiet})
	}
	defer func() { err = errors.Join(err, locks.Close(context.Background())) }()
	s, err := jobs.New(locks, jobs.Config{Logger: quiet, History: 1000})
	if err != nil {
		return err
	}
	if many, ok := os.LookupEnv(manyEnv); ok {
		n, err := strconv.Atoi(many)
		for _, j := range burst(n) {
			err = errors.Join(err, s.Add(j))
		}
		return errors.Join(err, s.Run(ctx))
	}
	db := locks.Store().(*locksql.Store).DB()
	store := sqlstore.New(db, sqlstore.Config{})
	err = errors.Join(
		s.Add(jobs.Job{
			Name: everySecond, Spec: "@every 1s", Misfire: jobs.MisfireAll, Overlap: jobs.OverlapQueue,
			Lock: lockrt.Options{TTL: 5 * time.Second},
			Run: func(ctx context.Context) error {
				_, tick, _ := jobs.TickFromContext(ctx)
				return work(ctx, tick.UTC().Format(time.RFC3339Nano))
			},
		}),
		s.AddHandler(jobs.Handler{Name: mailer, Run: func(ctx context.Context, id string, _ []byte) error {
			return work(ctx, id)
		}}),
		s.AddHandler(jobs.Handler{Name: shop, Retries: 9, Run: func(ctx context.Context, id string, _ []byte) error {
			return order(ctx, db, store, id)
		}}))
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func work(ctx context.Context, what string) error {
	fmt.Println(what)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(runTime):
		return nil
	}
}

// node is a process of a cluster.
type node struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	heard chan struct{} // closed when it has said all
	why   bytes.Buffer  // its standard error
}

// begun is that a node has begun with something.
type begun struct{ node, what string }

// processes are the nodes of a test.
type processes struct {
	t       *testing.T
	url     string
	env     []string // of the nodes, beside what all have
	started int
	nodes   map[string]*node // that live
	begins  chan begun
	count   map[string]int // how often each thing was begun
}

func newProcesses(t *testing.T, e *engine) *processes {
	if err := locksql.CreateTables(t.Context(), e.db, locksql.Config{}); err != nil {
		t.Fatal(err)
	}
	return &processes{
		t: t, url: e.url, nodes: make(map[string]*node), begins: make(chan begun, 10_000), count: make(map[string]int),
	}
}

func (p *processes) start() {
	p.t.Helper()
	p.started++
	n := &node{name: fmt.Sprint("node-", p.started), cmd: exec.Command(os.Args[0]), heard: make(chan struct{})}
	n.cmd.Env = append(os.Environ(), append(p.env, childEnv+"="+n.name, urlEnv+"="+p.url)...)
	n.cmd.Stderr = &n.why
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	n.stdin = stdin
	go func() {
		defer close(n.heard)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.begins <- begun{n.name, lines.Text()}
		}
	}()
	p.t.Cleanup(func() {
		_ = n.cmd.Process.Kill() // ends a stopped process too
		<-n.heard
		_ = n.cmd.Wait()
		if p.t.Failed() && n.why.Len() > 0 {
			p.t.Logf("%s: %s", n.name, &n.why)
		}
	})
	p.nodes[n.name] = n
}

// next waits for the next begin.
func (p *processes) next() begun {
	p.t.Helper()
	select {
	case b := <-p.begins:
		p.count[b.what]++
		return b
	case <-time.After(testsync.Patience):
		p.t.Fatal("no work begins any more")
		panic("unreachable")
	}
}

// nextTick waits for the next begin of the scheduled job.
func (p *processes) nextTick() begun {
	for {
		if b := p.next(); strings.Contains(b.what, "T") {
			return b
		}
	}
}

func (p *processes) signal(node string, what syscall.Signal) {
	p.t.Helper()
	if err := p.nodes[node].cmd.Process.Signal(what); err != nil {
		p.t.Fatal(err)
	}
}

func (p *processes) kill(node string) {
	p.t.Helper()
	p.signal(node, syscall.SIGKILL)
	<-p.nodes[node].heard
	_ = p.nodes[node].cmd.Wait() // it was killed
	delete(p.nodes, node)
	p.drain()
}

// stop ends all that live, in good order, and counts what they had begun.
func (p *processes) stop() {
	p.t.Helper()
	for _, n := range p.nodes {
		_ = n.stdin.Close()
	}
	for name := range p.nodes {
		p.stopOne(name)
	}
}

// stopOne ends one of those that live, in good order.
func (p *processes) stopOne(name string) {
	p.t.Helper()
	n := p.nodes[name]
	_ = n.stdin.Close()
	<-n.heard
	if err := n.cmd.Wait(); err != nil {
		p.t.Errorf("%s: %v: %s", n.name, err, &n.why)
	}
	delete(p.nodes, name)
	p.drain()
}

// drain counts what was begun until here, so that what follows was begun later.
func (p *processes) drain() {
	for len(p.begins) > 0 {
		p.next()
	}
}

// TestStore_processes kills a process in mid-run and stops another for longer than its session and its lock last, while
// a third puts one-off jobs in transactions: nothing begins twice, every tick has a record or waits for a node, and of
// the one-off jobs those run that were committed.
func TestStore_processes(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		p := newProcesses(t, e)
		store := sqlstore.New(e.db, sqlstore.Config{})
		for range 3 {
			p.start()
		}
		wanted := p.putMany(e, store)
		p.nextTick()
		killed := p.nextTick().node
		p.kill(killed)
		p.start()
		stopped := p.nextTick().node
		p.signal(stopped, syscall.SIGSTOP)
		for range 3 {
			if b := p.nextTick(); b.node == killed {
				t.Errorf("%s begins although it is dead", b.node)
			}
		}
		p.signal(stopped, syscall.SIGCONT)
		for range 3 {
			p.nextTick()
		}
		testsync.Eventually(t, "all one-off jobs have had their time", func() bool {
			waiting, err := store.Waiting(context.Background(), 1000)
			if err != nil || len(waiting) > 0 {
				time.Sleep(100 * time.Millisecond)
				return false
			}
			return true
		})
		p.nextTick()
		p.stop()
		p.judge(store, wanted, 1)
	})
}

// TestStore_serverKilled kills the server in the middle, and starts it again with its data: nothing begins twice, and
// every tick has a record.
func TestStore_serverKilled(t *testing.T) {
	servers(t, func(t *testing.T, e *engine, server controlled) {
		p := newProcesses(t, e)
		for range 3 {
			p.start()
		}
		for range 3 {
			p.nextTick()
		}
		if err := errors.Join(server.Kill(), server.Restart()); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			p.nextTick()
		}
		p.stop()
		p.judge(sqlstore.New(e.db, sqlstore.Config{}), nil, 0)
	})
}

// putMany puts one-off jobs in transactions of which every other one is rolled back, and returns those that exist.
func (p *processes) putMany(e *engine, store *sqlstore.Store) map[string]bool {
	wanted := make(map[string]bool)
	for i := range 20 {
		id := fmt.Sprint("letter-", i)
		tx, err := e.db.BeginTx(context.Background(), nil)
		if err != nil {
			p.t.Fatal(err)
		}
		o := jobs.OneOff{ID: id, Handler: mailer, At: time.Now().Add(time.Duration(i) * 100 * time.Millisecond)}
		if err := store.PutTx(context.Background(), tx, o); err != nil {
			p.t.Fatal(err)
		}
		if wanted[id] = i%2 == 0; wanted[id] {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return wanted
}

// judge holds what happened against what was promised. least is how many runs were killed. More may have been
// interrupted: a node that the machine keeps from its heartbeats counts as dead.
func (p *processes) judge(store jobs.Store, letters map[string]bool, least int) {
	t := p.t
	for what, n := range p.count {
		if n > 1 {
			t.Errorf("%s began %d times", what, n)
		}
	}
	all, err := store.Runs(context.Background(), []string{everySecond, "one-off:" + mailer}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	left, err := store.InFlight(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	known, interrupted := make(map[time.Time]bool), 0
	var first, last time.Time
	for _, r := range all[0] {
		if r.Outcome != jobs.OutcomeOK && !r.Started.IsZero() {
			interrupted++
		}
		if known[r.Tick] = true; first.IsZero() || r.Tick.Before(first) {
			first = r.Tick
		}
		if r.Tick.After(last) {
			last = r.Tick
		}
	}
	for _, run := range left {
		known[run.Run.Tick] = true // passed on by the last node to leave
	}
	for tick := first; tick.Before(last); tick = tick.Add(time.Second) {
		if !known[tick] {
			t.Errorf("tick %s has no record", tick)
		}
	}
	if interrupted < least {
		t.Errorf("%d runs were interrupted, want those that were at work: %+v", interrupted, all[0])
	}
	recorded := make(map[string]bool)
	for _, r := range all[1] {
		recorded[r.OneOff] = true
	}
	for _, run := range left {
		recorded[run.Run.OneOff] = true
	}
	for id, wanted := range letters {
		if recorded[id] != wanted {
			t.Errorf("one-off job %s is recorded: %t, its transaction was committed: %t", id, recorded[id], wanted)
		}
		if p.count[id] > 0 && !wanted {
			t.Errorf("one-off job %s began although its transaction was rolled back", id)
		}
	}
	t.Logf("%d begins, %d records, %d interrupted, %d left", len(p.count), len(all[0])+len(all[1]), interrupted, len(left))
}
