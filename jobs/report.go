package jobs

import (
	"context"
	"log/slog"
)

// report tells the log and OnRun of a finished run.
func (s *Scheduler) report(r Run) {
	s.telemetry.finished(r)
	level := slog.LevelInfo
	switch {
	case r.Failed():
		level = slog.LevelWarn
	case r.Outcome == OutcomeOK:
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if s.cfg.Logger.Enabled(ctx, level) {
		s.cfg.Logger.LogAttrs(ctx, level, "job run finished", attrsOf(r)...)
	}
	// In a goroutine of its own, which is waited for: runtime.Goexit ends that one only.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "OnRun panicked",
					slog.String("job", r.Job), slog.String("panic", panicText(p)))
			}
		}()
		s.cfg.OnRun(r)
	}()
	<-done
}

func attrsOf(r Run) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("job", r.Job), slog.Time("tick", r.Tick), slog.String("outcome", string(r.Outcome)),
		slog.String("trigger", r.Trigger), slog.Int("attempt", r.Attempt), slog.String("run", r.ID),
		slog.String("node", r.Node), slog.Uint64("fence", uint64(r.Fence)),
	}
	for _, a := range []struct{ key, value string }{{"reason", r.Reason}, {"error", r.Error}, {"author", r.Author}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return attrs
}
