package timelimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(2003 * time.Millisecond)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		limit := fmt.Errorf("no connection: %w: %w", timelimit.ErrNoAnswer, io.EOF)
		for name, tt := range map[string]struct {
			ctx      context.Context
			err      error
			want     string
			noAnswer bool
		}{
			"own limit":        {t.Context(), context.DeadlineExceeded, "the store did not answer within 2s", true},
			"limit with cause": {t.Context(), timelimit.ErrNoAnswer, "the store did not answer within 2s", true},
			"with a reason": {
				t.Context(), fmt.Errorf("refused: %w", context.Canceled), "the store did not answer within 2s: refused", true,
			},
			"several servers": {
				t.Context(), errors.Join(context.DeadlineExceeded, io.EOF), "the store did not answer within 2s: EOF", true,
			},
			"with a cause in between": {
				t.Context(), limit, "the store did not answer within 2s: " + limit.Error(), true,
			},
			"an answer":    {t.Context(), io.EOF, "EOF", false},
			"caller's end": {cancelled, fmt.Errorf("x: %w", context.Canceled), "x: context canceled", false},
			"caller's end and another reason": {
				cancelled, io.EOF, "context canceled\nEOF", false,
			},
		} {
			err := timelimit.Explain(tt.ctx, began, tt.err)
			if err == nil || err.Error() != tt.want || errors.Is(err, timelimit.ErrNoAnswer) != tt.noAnswer {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
			if over := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); over != (tt.ctx == cancelled) {
				t.Errorf("%s: %v is that of a context: %t", name, err, over)
			}
			if tt.noAnswer {
				time.Sleep(time.Second)
				if again := timelimit.Explain(t.Context(), began, err); again.Error() != tt.want {
					t.Errorf("%s: explained twice it is %v", name, again)
				}
				began = began.Add(time.Second)
			}
		}
		wrapped := timelimit.Explain(t.Context(), began, errors.Join(context.DeadlineExceeded, io.EOF))
		if !errors.Is(wrapped, io.EOF) {
			t.Errorf("%v does not wrap the reason", wrapped)
		}
	})
}
