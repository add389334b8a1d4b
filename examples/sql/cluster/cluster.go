package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
)

const (
	readyTimeout  = 2 * time.Minute
	settleTimeout = time.Minute
	stopTimeout   = 30 * time.Second
	lookEvery     = 50 * time.Millisecond
)

// cluster is a set of processes that share a database, or Redis beside etcd.
type cluster struct {
	options
	*place
	namespace string // new for every invocation, so that nothing an earlier one left behind matters
	dir       string // the witness's files, one for each process
	out       io.Writer
	children  []*child.Process
	notes     []string
	specs     []witness.Job
	failed    chan error

	mu       sync.Mutex // guards what follows, and what is written to out
	deaths   witness.Deaths
	stopping bool
}

// runCluster starts the nodes, observes, and stops them. It reports whether the witness found nothing wrong.
func runCluster(ctx context.Context, o options, stdout, stderr io.Writer) (ok bool, err error) {
	namespace := "cluster" + strings.ToLower(rand.Text()[:12])
	at, err := openPlace(ctx, o, namespace)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return false, fmt.Errorf("dashboard: cannot listen on -addr %s: %w", o.addr, err)
	}
	dir, err := os.MkdirTemp("", "lockgen-cluster-")
	if err != nil {
		return false, errors.Join(fmt.Errorf("make a directory for the witness: %w", err), ln.Close())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := &cluster{
		options: o, place: at, namespace: namespace, dir: dir, out: stdout,
		failed: make(chan error, o.nodes), deaths: witness.Deaths{},
	}
	closePage, err := c.servePage(ctx, ln)
	if err != nil {
		return false, err
	}
	defer closePage()
	var w witness.Window
	if err = c.start(ctx, stderr); err == nil {
		w, err = c.observe(ctx)
	}
	if err = errors.Join(err, c.stop()); err != nil {
		return false, err
	}
	return c.judge(w)
}

// servePage shows the dashboard, through a scheduler that runs none of the jobs.
func (c *cluster) servePage(ctx context.Context, ln net.Listener) (stop func(), err error) {
	recorder := &witness.Recorder{Log: &witness.Memory{}, Node: "dashboard"}
	setup := childSetup{Store: c.options.store, Jobs: c.jobs, Namespace: c.namespace, Node: "dashboard"}
	m, err := newMember(ctx, setup, recorder, func(jobs.Run) {})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	handler := dashboard.Handler(m.scheduler, dashboard.Config{Title: "lockgen cluster"})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln) // it ends when the server is closed
	}()
	c.printf("dashboard: http://%s/ (read only)", ln.Addr())
	return func() {
		_ = server.Close()
		<-done
		_ = m.close() // it holds no locks
	}, nil
}

func (c *cluster) printf(format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, format+"\n", a...)
}

// start starts all nodes and waits until each has said that it runs.
func (c *cluster) start(ctx context.Context, stderr io.Writer) error {
	for i := range c.nodes {
		name := fmt.Sprintf("node-%d", i+1)
		notes := filepath.Join(c.dir, name)
		p, err := child.Start(child.Config{
			Role: childRole, Name: name, Stderr: stderr, Hear: c.hear, Ended: c.ended,
			Setup: childSetup{Store: c.options.store, Jobs: c.jobs, Namespace: c.namespace, Node: name, Notes: notes},
		})
		if err != nil {
			return err
		}
		c.children, c.notes = append(c.children, p), append(c.notes, notes)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, p := range c.children {
		if err := p.AwaitReady(ctx, &c.specs); err != nil {
			return err
		}
		c.printf("%s runs as process %d", p.Name(), p.ID())
	}
	return nil
}

// hear shows a run that a node tells of.
func (c *cluster) hear(note json.RawMessage) {
	var r jobs.Run
	if json.Unmarshal(note, &r) == nil && r.OneOff == "" {
		c.printf("%s %-14s %s %s", r.Tick.UTC().Format(time.TimeOnly), r.Job, r.Node,
			strings.TrimSpace(string(r.Outcome)+" "+r.Reason))
	}
}

// ended is called when a process has ended.
func (c *cluster) ended(p *child.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Killed() || p.Err() != nil {
		c.deaths[p.Name()] = append(c.deaths[p.Name()], time.Now())
	}
	if !p.Killed() && !c.stopping {
		c.failed <- fmt.Errorf("%s ended by itself: %w", p.Name(), p.Reason())
	}
}

// now is the time on the store's clock, which decides when a tick is due.
func (c *cluster) now() (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	view, err := c.place.store.Look(ctx, nil)
	return view.Now, err
}

func (c *cluster) events() (all []witness.Event, err error) {
	for _, file := range c.notes {
		events, err := witness.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	return all, nil
}

// stop drains all nodes.
func (c *cluster) stop() error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, p := range c.children {
		p.Stop()
	}
	var errs []error
	for _, p := range c.children {
		errs = append(errs, p.AwaitEnd(ctx))
	}
	return errors.Join(errs...)
}

// busyNode is one that is at work, for the kill.
func (c *cluster) busyNode() (*child.Process, error) {
	events, err := c.events()
	if err != nil {
		return nil, err
	}
	ended := make(map[string]bool)
	for _, e := range events {
		ended[e.Run] = ended[e.Run] || e.Kind == witness.End
	}
	at := slices.IndexFunc(events, func(e witness.Event) bool { return !ended[e.Run] })
	if at < 0 {
		return c.children[0], nil
	}
	return c.children[slices.IndexFunc(c.children, func(p *child.Process) bool { return p.Name() == events[at].Node })], nil
}
