package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A call ends when its time is over, and says after what time that was. A driver that notices in time is heard.
func TestCalls_do_limit(t *testing.T) {
	for name, wait := range map[string]func(context.Context){
		"a driver that notices": func(ctx context.Context) { <-ctx.Done() },
		"a driver that does not": func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := calls{store: New(nil, Config{})}
				began := time.Now()
				_, err := c.do(t.Context(), 300*time.Millisecond, func(ctx context.Context) error {
					wait(ctx)
					return ctx.Err()
				})
				if took := time.Since(began); took > 300*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				if !errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "300ms") {
					t.Errorf("%v, want that there was no answer within 300ms", err)
				}
				time.Sleep(2 * time.Minute)
				c.Close(time.Now())
			})
		})
	}
}
