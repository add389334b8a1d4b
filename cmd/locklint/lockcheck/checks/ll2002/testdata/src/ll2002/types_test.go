package ll2002

import (
	"context"
	"testing"
)

func TestLock(t *testing.T) {
	ctx := context.Background()
	m := &Mutex{}
	m.Lock(ctx)
	m.rdb.Del(ctx, m.key) // a test may start afresh
}
