package ll2003

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// currentGoroutineID reads the number of the goroutine from its stack.
func currentGoroutineID() string {
	buf := make([]byte, 64)
	stack := strings.TrimPrefix(string(buf[:runtime.Stack(buf, false)]), "goroutine ")
	return stack[:strings.IndexByte(stack, ' ')]
}

func processID() string { return strconv.Itoa(os.Getpid()) }

// A token of the goroutine is that of the next lock in the same goroutine, and of the first one on every host.
func inGoroutine(ctx context.Context, rdb *redis.Client, seat string, work func()) {
	token := processID() + "-" + currentGoroutineID()
	if rdb.SetNX(ctx, "lock:seat:"+seat, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the number of a goroutine`
		defer rdb.Eval(ctx, compareAndDel, []string{"lock:seat:" + seat}, token)
		work()
	}
}

type rowLock struct {
	rdb        *redis.Client
	row, owner string
}

func newRowLock(rdb *redis.Client, row string) *rowLock {
	return &rowLock{rdb: rdb, row: row, owner: processID()}
}

func (l *rowLock) Lock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, "lock:row:"+l.row, l.owner, time.Minute).Val() // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
}

func (l *rowLock) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:row:" + l.row}, l.owner).Err()
}

// Fine: the number of the process and something else.
func withTime(ctx context.Context, rdb *redis.Client, seat string, made func() string, work func()) {
	token := processID() + made()
	if rdb.SetNX(ctx, "lock:chair:"+seat, token, time.Minute).Val() {
		defer rdb.Eval(ctx, compareAndDel, []string{"lock:chair:" + seat}, token)
		work()
	}
}
