package logqueue

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a handler that waits, each time, until it may go on.
type stuck struct {
	slog.Handler
	let chan struct{}
}

func (h stuck) Handle(ctx context.Context, r slog.Record) error {
	<-h.let
	return h.Handler.Handle(ctx, r)
}

func newStuck() (stuck, *bytes.Buffer) {
	var text bytes.Buffer
	return stuck{slog.NewTextHandler(&text, nil), make(chan struct{})}, &text
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, text := newStuck()
		var q Queue
		q.Wait(time.Hour)
		log := q.Logger(slog.New(to))
		log.Debug("not enabled")
		log.Info("one")
		log.With("a", 1).WithGroup("g").Warn("two", "b", 2)
		began := time.Now()
		if q.Wait(time.Second); time.Since(began) != time.Second {
			t.Errorf("Wait took %s while the handler was stuck, want 1 s", time.Since(began))
		}
		close(to.let)
		q.Wait(time.Hour)
		if time.Since(began) != time.Second {
			t.Errorf("Wait took %s more when the handler went on", time.Since(began)-time.Second)
		}
		log.Info("three")
		q.Wait(time.Hour)
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		for i, want := range []string{"msg=one", "msg=two", "msg=three"} {
			if len(lines) != 3 || !strings.Contains(lines[i], want) {
				t.Fatalf("the log has %q", lines)
			}
		}
		if !strings.Contains(lines[1], "a=1 g.b=2") {
			t.Errorf("attributes and groups are not as they were given: %q", lines[1])
		}
	})
}

// A log that is stuck for ever costs no more memory than so many records, and says later how many were dropped.
func TestQueue_bound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, text := newStuck()
		var q Queue
		log := q.Logger(slog.New(to))
		log.Info("first")
		synctest.Wait() // the handler has it
		for range most + 7 {
			log.Info("more")
		}
		close(to.let)
		q.Wait(time.Hour)
		if n := strings.Count(text.String(), "msg=more"); n != most {
			t.Errorf("%d records were kept, want %d", n, most)
		}
		if !strings.Contains(text.String(), "records were dropped\" records=7") {
			t.Errorf("the log ends with %q", text.String()[text.Len()-200:])
		}
	})
}

// exiting ends the goroutine that it is called on.
type exiting struct{ slog.Handler }

func (h exiting) Handle(ctx context.Context, r slog.Record) error {
	_ = h.Handler.Handle(ctx, r)
	runtime.Goexit()
	return nil
}

func TestQueue_handlerExits(t *testing.T) {
	var text bytes.Buffer
	var q Queue
	log := q.Logger(slog.New(exiting{slog.NewTextHandler(&text, nil)}))
	for range 5 {
		log.Info("one")
	}
	q.Wait(time.Minute)
	if n := strings.Count(text.String(), "msg=one"); n != 5 {
		t.Errorf("%d records of 5 were handed on", n)
	}
}
