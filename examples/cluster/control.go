package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

// control kills nodes and starts them again, for those who watch.
type control struct {
	cluster cluster
	board   *board

	mu     sync.Mutex // one change at a time; guards closed
	closed bool
}

// refusal is why a node is neither killed nor started.
type refusal struct {
	status int // of HTTP
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// kill ends a node and says what it was doing.
func (c *control) kill(node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killOne(node)
}

// killBusy kills a node that runs a job, if there is one.
func (c *control) killBusy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	events, err := c.cluster.events()
	if err != nil {
		return err
	}
	living := c.cluster.living()
	if len(living) == 0 {
		return refuse(http.StatusConflict, "no node is left to kill")
	}
	return c.killOne(busyNode(living, events))
}

// killOne needs mu.
func (c *control) killOne(node string) error {
	living := c.cluster.living()
	if err := c.check(node); err != nil {
		return err
	}
	switch {
	case !slices.Contains(living, node):
		return refuse(http.StatusConflict, "%s is dead already", node)
	case len(living) == 1:
		return refuse(http.StatusConflict, "%s is the last one that lives: start another one first", node)
	}
	if err := c.cluster.kill(node); err != nil {
		return fmt.Errorf("kill %s: %w", node, err)
	}
	events, err := c.cluster.events()
	if err != nil {
		return err
	}
	c.board.printf("%s", obituaryOf(node, c.cluster.deaths()[node], events))
	return nil
}

// obituaryOf says what a node was doing when it died for the last time.
func obituaryOf(node string, deaths []time.Time, events []witness.Event) string {
	var born time.Time
	if len(deaths) > 1 {
		born = deaths[len(deaths)-2]
	}
	doing := doingSince(node, born, events)
	if len(doing) == 0 {
		return node + " killed; it was running nothing"
	}
	return node + " killed in the middle of " + strings.Join(doing, ", ") + ": it released nothing; the others find out"
}

// doingSince are the runs that a node began after the moment at which it was born, and
// has not finished. One of its name may have died before.
func doingSince(node string, born time.Time, events []witness.Event) (doing []string) {
	for _, e := range unfinished(events) {
		if e.Node == node && e.At.After(born) {
			doing = append(doing, shortName(e.Job)+" of "+e.Tick.UTC().Format(time.TimeOnly))
		}
	}
	return doing
}

// start starts a node that was killed.
func (c *control) start(node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.check(node); err != nil {
		return err
	}
	if slices.Contains(c.cluster.living(), node) {
		return refuse(http.StatusConflict, "%s runs already", node)
	}
	if err := c.cluster.start(node); err != nil {
		return fmt.Errorf("start %s again: %w", node, err)
	}
	c.board.printf("%s started again", node)
	return nil
}

// check needs mu.
func (c *control) check(node string) error {
	if c.closed {
		return refuse(http.StatusConflict, "the cluster is being stopped")
	}
	if names := c.board.names(); !slices.Contains(names, node) {
		return refuse(http.StatusNotFound, "there is no node %q: the nodes are %s", node, strings.Join(names, ", "))
	}
	return nil
}

// close returns when no change is under way; there will be none after it.
func (c *control) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}
