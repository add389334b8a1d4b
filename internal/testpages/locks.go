// Package testpages tests the dashboard's pages of locks on whatever keeps the locks.
package testpages

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testlocks"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Store is what keeps the locks.
type Store struct {
	Open  func(node string) *lockrt.Locker // on the store, as a process of its own; it is closed with the test
	Jobs  jobs.Store                       // of the cluster whose pages are looked at
	Alone bool                             // locks have one holder
}

// Locks tests that the pages list the locks of a store, ask about one, and break it, alone or for one of several who
// hold it.
func Locks(t *testing.T, s Store) {
	t.Helper()
	p := open(t, s)
	a, b := s.Open("alice"), s.Open("bob")
	alone := testlocks.Acquire(t, a, "order/1", lockrt.Options{TTL: time.Minute})
	waiter := testlocks.Waits(t, b, "order/1")
	kept := testlocks.Acquire(t, b, "other", lockrt.Options{TTL: time.Minute})
	defer testlocks.Release(t, kept)

	p.shows("locks", "order/1", "alice", "other", "bob")
	if text := p.shows("locks?q=order", "order/1"); strings.Contains(text, ">other<") {
		t.Errorf("the page of a prefix has what does not begin so:\n%s", text)
	}
	ask := p.shows("break?key=order%2F1", "It is held by alice")
	p.send("break", url.Values{"key": {"order/1"}, "holder": {p.hidden(ask, "holder")}, "reason": {"it hangs"}})
	<-alone.Done()
	if err := alone.Err(); !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), "it hangs (by ada)") {
		t.Errorf("the broken lease: %v", err)
	}
	testlocks.Release(t, <-waiter)
	if err := kept.Check(t.Context()); err != nil {
		t.Errorf("the lock that nobody broke: %v", err)
	}
	if !s.Alone {
		p.readers(a, b)
	}
}

// readers breaks the lease of one of two readers.
func (p *pages) readers(a, b *lockrt.Locker) {
	t := p.t
	one := testlocks.Acquire(t, a, "catalog", lockrt.Options{TTL: time.Minute, Mode: lockrt.Read})
	defer testlocks.Release(t, one)
	other := testlocks.Acquire(t, b, "catalog", lockrt.Options{TTL: time.Minute, Mode: lockrt.Read})
	p.shows("locks?q=cat", "catalog", "2 readers", "alice", "bob")
	info, err := b.Holder(t.Context(), "catalog")
	if err != nil || len(info.Holders) != 2 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, h := range info.Holders {
		if h.Node == "bob" {
			p.send("break", url.Values{"key": {"catalog"}, "lease": {h.ID}, "reason": {"it reads for ever"}})
		}
	}
	<-other.Done()
	if err := one.Check(t.Context()); err != nil {
		t.Errorf("the reader beside the broken one: %v", err)
	}
}

// open serves the pages to an operator.
func open(t *testing.T, s Store) *pages {
	t.Helper()
	cluster, err := jobs.New(s.Open("dashboard"), jobs.Config{Store: s.Jobs})
	if err != nil {
		t.Fatal(err)
	}
	operator := func(*http.Request) (dashboard.User, error) {
		return dashboard.User{Name: "ada", Role: dashboard.RoleOperator}, nil
	}
	server := httptest.NewServer(dashboard.Handler(cluster, dashboard.Config{Authorize: operator}))
	t.Cleanup(server.Close)
	return &pages{t: t, server: server}
}
