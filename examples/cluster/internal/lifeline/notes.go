package lifeline

import (
	"context"
	"log/slog"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

// Notes is the witness's log at the end of the line. What is in it when Cut returns is
// all that the node will ever have written.
func (l *Line) Notes(log witness.Log) witness.Log { return notes{log, l} }

type notes struct {
	log  witness.Log
	line *Line
}

func (n notes) Append(e witness.Event) error {
	return n.line.Do(func() error { return n.log.Append(e) })
}

// Logger is a logger that falls silent with the node.
func (l *Line) Logger(logger *slog.Logger) *slog.Logger {
	return slog.New(handler{logger.Handler(), l})
}

type handler struct {
	slog.Handler
	line *Line
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.line.Alive() && h.Handler.Enabled(ctx, level)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.line}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.line}
}
