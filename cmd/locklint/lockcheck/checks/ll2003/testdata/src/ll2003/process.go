package ll2003

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"crypto/rand"
	"github.com/redis/go-redis/v9"
)

// What names the process, by way of a function, a variable or a value for the case that there is none.

func processWork() error { return nil }

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

type processLocks struct {
	rdb *redis.Client
}

// Set by init.
var idA string

func init() { idA = rand.Text() }

func (s *processLocks) lockA(ctx context.Context, id string) error {
	key := "lock:A:" + id
	if !s.rdb.SetNX(ctx, key, idA, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, idA)
	return processWork()
}

// From the environment.
func (s *processLocks) lockB(ctx context.Context, id string) error {
	key := "lock:B:" + id
	token := os.Getenv("POD_NAME")
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// By a function of the program.
func who() string {
	h, err := os.Hostname()
	if err != nil {
		h = "unknown"
	}
	return fmt.Sprintf("%s-%d", h, os.Getpid())
}

func (s *processLocks) lockC(ctx context.Context, id string) error {
	key := "lock:C:" + id
	token := who()
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func whoDoes(what string) string { return what + ":" + who() }

func (s *processLocks) lockWhat(ctx context.Context, id string) error {
	key := "lock:what:" + id
	token := whoDoes("jobs")
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func (s *processLocks) lockWhatEver(ctx context.Context, id, what string) error {
	key := "lock:what:" + id
	token := whoDoes(what)
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// Set by a sync.Once.
var (
	onceD sync.Once
	idD   string
)

func tokenD() string {
	onceD.Do(func() { idD = rand.Text() })
	return idD
}

func (s *processLocks) lockD(ctx context.Context, id string) error {
	key := "lock:D:" + id
	token := tokenD()
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// The time as a text.
func (s *processLocks) lockF(ctx context.Context, id string) error {
	key := "lock:F:" + id
	token := time.Now().Format(time.RFC3339)
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the time in seconds`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// In a field.
type hostLocks struct {
	rdb  *redis.Client
	host string
}

func newH(rdb *redis.Client) *hostLocks {
	h, _ := os.Hostname()
	if h == "" {
		h = "none"
	}
	return &hostLocks{rdb, h}
}

func (s *hostLocks) lockG(ctx context.Context, id string) error {
	key := "lock:G:" + id
	if !s.rdb.SetNX(ctx, key, s.host, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, s.host)
	return processWork()
}

// With a value for the case that there is no name.
func (s *processLocks) lockH(ctx context.Context, id string) error {
	key := "lock:H:" + id
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	token := fmt.Sprintf("%s:%d", host, os.Getpid())
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines of the process`
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// Fine.

func orRandom() string {
	h, err := os.Hostname()
	if err != nil {
		h = rand.Text()
	}
	return h
}

func (s *processLocks) lockOrRandom(ctx context.Context, id string) error {
	key := "lock:I:" + id
	token := orRandom()
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func (s *processLocks) lockEnvAndRandom(ctx context.Context, id string) error {
	key := "lock:J:" + id
	token := os.Getenv("POD_NAME") + ":" + rand.Text()
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func perCall(n int) string { return fmt.Sprint(os.Getpid(), n) }

func (s *processLocks) lockPerCall(ctx context.Context, id string, n int) error {
	key := "lock:K:" + id
	token := perCall(n)
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

var changingID string

func init() { changingID = rand.Text() }

func (s *processLocks) lockChanging(ctx context.Context, id string) error {
	key := "lock:L:" + id
	changingID = rand.Text()
	if !s.rdb.SetNX(ctx, key, changingID, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, changingID)
	return processWork()
}

func (s *processLocks) lockNanos(ctx context.Context, id string) error {
	key := "lock:M:" + id
	token := time.Now().Format(time.RFC3339Nano)
	if !s.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// lockAlive is kept for as long as the process lives: it belongs to it on purpose.
func (s *processLocks) lockAlive(ctx context.Context, id string) error {
	key := "lock:N:" + id
	if !s.rdb.SetNX(ctx, key, idA, time.Minute).Val() {
		return nil
	}
	defer s.rdb.Eval(ctx, compareAndDelete, []string{key}, idA)
	for ctx.Err() == nil {
		s.rdb.Eval(ctx, `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`,
			[]string{key}, idA, 60000)
		time.Sleep(time.Second)
	}
	return nil
}
