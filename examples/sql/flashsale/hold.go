package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// hold prepares the sale, starts the service, sends the load, and counts. It
// reports whether nothing was sold twice.
func hold(ctx context.Context, o options, stdout, stderr io.Writer) (fair bool, err error) {
	if o.db == "" {
		dir, err := os.MkdirTemp("", "flashsale-")
		if err != nil {
			return false, fmt.Errorf("make a directory for the database: %w", err)
		}
		defer os.RemoveAll(dir)
		o.db = sqliteFile + filepath.Join(dir, "shop.db")
	}
	d, err := parseDatabase(o.db)
	if err != nil {
		return false, err
	}
	db, err := d.open(ctx, o.instances)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &sale{strings.ToLower(rand.Text()[:8]), db, d}
	if err := s.prepare(ctx, o.stock, o.store); err != nil {
		return false, err
	}
	l, served := serve(ctx, o, s, stdout, stderr)
	if l == nil {
		return false, served
	}
	// The count takes place also after an interrupt, which has ended ctx.
	c, err := s.count(context.WithoutCancel(ctx), o.stock)
	if err != nil {
		return false, errors.Join(err, served)
	}
	return c.oversold == 0 && c.duplicates == 0, errors.Join(report(stdout, l, c), served)
}

// serve runs the instances for as long as the load lasts. There is something to count where it returns a load, whatever
// the error.
func serve(ctx context.Context, o options, s *sale, stdout, stderr io.Writer) (_ *load, err error) {
	svc, err := start(ctx, o, s, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, svc.close()) }()
	how := "with locks in " + o.store[:strings.IndexByte(o.store, ':')]
	if o.unsafe {
		how = "WITHOUT locks"
	}
	fmt.Fprintf(stdout, "sale %s: %d items, %d instances %s, orders in %s\n", s.name, o.stock, o.instances, how,
		s.at.where)

	k := &killer{at: o.kill, svc: svc}
	l := newLoad(o, svc.urls(), func(n int) { k.answered(ctx, n) })
	if o.requests == 0 {
		for _, url := range svc.urls() {
			fmt.Fprintf(stdout, "try: curl -X POST '%s?user=7'\n", url)
		}
		<-ctx.Done()
		return l, nil
	}
	l.run(ctx, o.requests, o.concurrency)
	if k.victim != "" {
		fmt.Fprintf(stdout, "%s was killed after %d answers\n", k.victim, o.kill)
	}
	return l, k.err
}

func start(ctx context.Context, o options, s *sale, stderr io.Writer) (service, error) {
	if o.inMemory() {
		logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return startMemory(o, s.at, s.name, logger)
	}
	return startProcesses(ctx, o, s.name, stderr)
}

// killer kills one instance when as many requests are answered as were asked for.
type killer struct {
	at   int // 0: never
	svc  service
	once sync.Once

	victim string // what follows is set within once, and read when the load has ended
	err    error
}

func (k *killer) answered(ctx context.Context, n int) {
	if k.at > 0 && n >= k.at {
		k.once.Do(func() { k.victim, k.err = k.svc.killHolder(ctx) })
	}
}

// report prints what was answered and, alone on the last line, what was counted.
// The error says that requests got no proper answer.
func report(w io.Writer, l *load, c count) error {
	fmt.Fprintf(w, "answers: %d ordered, %d had ordered already, %d sold out, %d asked to come back, %d failed\n",
		l.answers[http.StatusCreated], l.answers[http.StatusConflict], l.answers[http.StatusGone],
		l.answers[http.StatusServiceUnavailable], l.failed)
	fmt.Fprintf(w, "requests=%d sold=%d oversold=%d duplicate_orders=%d p50=%s p99=%s rps=%d\n",
		len(l.waits), c.sold, c.oversold, c.duplicates, l.percentile(50), l.percentile(99), l.rate())
	if l.failed > 0 {
		return fmt.Errorf("%d of %d requests failed, the first: %w", l.failed, len(l.waits), l.failure)
	}
	return nil
}
