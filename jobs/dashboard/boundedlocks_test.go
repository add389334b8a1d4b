package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// deaf is a cluster whose store of locks does not look at contexts.
type deaf struct{ *fake }

func (deaf) ListPage(context.Context, string, string, int) ([]lockrt.LockInfo, string, error) {
	time.Sleep(13 * time.Second)
	return nil, "", errors.New("i/o timeout")
}

// A page of locks takes about as long as any other, also with a client that ignores the end of a context.
func TestHandler_deafStoreOfLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busyFake()
		d := newDashboard(f, deaf{f}, Config{Logger: slog.New(slog.DiscardHandler)})
		var tabs sync.WaitGroup
		for range 3 {
			tabs.Go(func() {
				began := time.Now()
				w := get(d, "locks")
				if took := time.Since(began); took > storeTimeout+2*answerGrace || w.Code != 503 {
					t.Errorf("status %d after %s", w.Code, took)
				}
			})
		}
		tabs.Wait()
		time.Sleep(time.Minute) // until the client has ended what was given up
	})
}

// With a client whose calls never end, only some of them are begun. When they have ended all is well.
func TestBoundedLocks_callsThatNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		end := make(chan struct{})
		b := boundedLocks{out: new(atomic.Int64)}
		call := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := within(ctx, b, func() (struct{}, error) { begun.Add(1); <-end; return struct{}{}, nil })
			return err
		}
		for range 3 * mostOut {
			if err := call(); err == nil {
				t.Error("a call has ended")
			}
		}
		if n := begun.Load(); n != mostOut {
			t.Errorf("%d calls were begun, want %d", n, mostOut)
		}
		close(end)
		synctest.Wait()
		if err := call(); err != nil || b.out.Load() != 0 {
			t.Errorf("afterwards: %v, and %d are said to go on", err, b.out.Load())
		}
	})
}

// broken is a cluster whose code panics where it is asked to act, or for the holder of a lock.
type broken struct{ *fake }

func (b broken) RunNow(context.Context, string, string) (string, error) {
	_ = b.note("ran")
	panic("broken code")
}

func (broken) Holder(context.Context, string) (lockrt.LockInfo, error) { panic("broken code") }

// noSession is an error whose methods panic where there is none.
type noSession struct{ cause error }

func (e *noSession) Error() string { return e.cause.Error() }
func (e *noSession) Unwrap() error { return e.cause }

// Whatever panics, there is a page that says so, and a line in the log.
func TestHandler_panics(t *testing.T) {
	var log testsync.Log
	b := broken{busyFake()}
	cfg := operator
	cfg.Logger = log.Logger()
	d := newDashboard(b, b, cfg)
	if w := get(d, "break?key=job:index"); w.Code != 500 || !strings.Contains(w.Body.String(), "broken code") {
		t.Errorf("the question whether to break a lock: status %d\n%s", w.Code, w.Body)
	}
	if w := post(d, "break", "key", "job:index"); w.Code != 500 || !strings.Contains(w.Body.String(), "broken code") {
		t.Errorf("a form without a reason: status %d\n%s", w.Code, w.Body)
	}
	if n := strings.Count(log.String(), `msg="dashboard page failed"`); n != 2 {
		t.Errorf("%d lines in the log:\n%s", n, log.String())
	}
	for range 2 {
		if w := post(d, "run-now", "name", "index", onceField, "token"); w.Code != 503 || !strings.Contains(w.Body.String(), "may have happened or not") {
			t.Errorf("an action: status %d\n%s", w.Code, w.Body)
		}
	}
	if n := strings.Count(log.String(), `msg="dashboard action"`); len(b.done) != 1 || n != 1 {
		t.Errorf("done %q, %d lines in the log:\n%s", b.done, n, log.String())
	}
	d.cfg.Redact = func(string, string) string { panic("no rules") }
	if w := get(d, "job?name=report"); w.Code != 200 || strings.Contains(w.Body.String(), "refused") ||
		!strings.Contains(w.Body.String(), "(hidden)") {
		t.Errorf("Redact panics: status %d\n%s", w.Code, w.Body)
	}
	if n := strings.Count(log.String(), `msg="dashboard texts hidden: Redact failed"`); n != 1 {
		t.Errorf("%d lines in the log of one page on which texts are hidden:\n%s", n, log.String())
	}
	for name, authorize := range map[string]func(*http.Request) (User, error){
		"Authorize":                   func(*http.Request) (User, error) { panic("no session") },
		"what Authorize says why not": func(*http.Request) (User, error) { var none *noSession; return User{}, none },
	} {
		d.cfg.Authorize = authorize
		if w := get(d, "jobs"); w.Code != 403 || strings.Contains(w.Body.String(), "report") || strings.Contains(w.Body.String(), "panic") {
			t.Errorf("%s panics: status %d\n%s", name, w.Code, w.Body)
		}
	}
	d.cfg.Authorize = func(*http.Request) (User, error) { panic(http.ErrAbortHandler) }
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("a request that is to be aborted is not")
		}
	}()
	get(d, "jobs")
}
