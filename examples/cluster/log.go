package main

import (
	"context"
	"io"
	"log/slog"
)

// newLogger writes warnings to w, but not those about runs that ended badly: the
// example prints every run, and would say it twice.
func newLogger(w io.Writer) *slog.Logger {
	return slog.New(withoutRuns{slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})})
}

type withoutRuns struct{ slog.Handler }

func (h withoutRuns) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "job run finished" {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h withoutRuns) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withoutRuns{h.Handler.WithAttrs(attrs)}
}

func (h withoutRuns) WithGroup(name string) slog.Handler {
	return withoutRuns{h.Handler.WithGroup(name)}
}
