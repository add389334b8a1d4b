package redisstore_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// fault is one way in which the store fails.
type fault struct {
	name string
	// says are words one of which stands in the error of a call that failed by it; none: any error will do.
	says []string
	// total faults let no call succeed that needs the store; others may be overcome by asking again.
	total bool

	// line makes the network of one cell fail when its call begins, and end lets it work again.
	line func(*proxy)
	end  func(*proxy)
	// server makes a whole server fail, for all cells, until the returned function is called.
	server func(*testing.T, *redis.Client) (end func())
	config testenv.RedisConfig
}

// silent is how it may be said that the store did not answer: by us, or by the client.
var silent = []string{"did not answer", "does not answer", "i/o timeout"}

// lineFaults are faults of the network: each cell has its own.
var lineFaults = []fault{
	{name: "silent before", says: silent, total: true, line: func(p *proxy) { p.hole = true }},
	{name: "silent during", says: silent, total: true, line: func(p *proxy) {
		p.delay = func(request []byte) {
			if isCall(request) {
				p.set(func() { p.mute = true })
			}
		}
	}},
	{name: "requests held back", says: silent, total: true, line: func(p *proxy) { p.deaf = true }},
	{name: "answers held back", says: silent, total: true, line: func(p *proxy) { p.mute = true }},
	{name: "first answer lost", line: first(drop)},
	{name: "all answers lost", says: silent, total: true, line: func(p *proxy) {
		p.reply = func(_, _ []byte) verdict { return drop }
	}},
	{name: "cut before the first answer", line: first(cut)},
	{name: "cut in the first answer", line: first(tear)},
	{name: "cut in every answer", total: true, line: func(p *proxy) {
		p.reply = func(_, _ []byte) verdict { return tear }
	}},
	{name: "half closed", line: first(fin)},
	{
		name: "refused", says: []string{"refused"}, total: true,
		line: (*proxy).refuseLocked, end: (*proxy).accept,
	},
}

// first gives the verdict on the first answer to a call.
func first(v verdict) func(*proxy) {
	return func(p *proxy) {
		var judged atomic.Bool
		p.reply = func(request, _ []byte) verdict {
			if isCall(request) && judged.CompareAndSwap(false, true) {
				return v
			}
			return pass
		}
	}
}

// isCall tells a call of the store from what clients send by themselves.
func isCall(request []byte) bool {
	request = bytes.ToLower(request[:min(len(request), 40)])
	for _, own := range []string{"ping", "subscribe", "hello", "client", "select"} {
		if bytes.Contains(request, []byte(own)) {
			return false
		}
	}
	return len(request) > 0
}

// heal ends whatever the line suffers from.
func (f fault) heal(p *proxy) {
	p.set(func() { p.hole, p.deaf, p.mute, p.reply, p.delay = false, false, false, nil, nil })
	if f.end != nil {
		f.end(p)
	}
}

// serverFaults are states of a real server: all cells suffer at the same time.
var serverFaults = []fault{
	{
		name: "READONLY", says: []string{"READONLY"}, total: true,
		server: func(t *testing.T, admin *redis.Client) func() {
			must(t, admin.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
			return func() { must(t, admin.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err()) }
		},
	},
	{
		name: "OOM", says: []string{"OOM"}, total: true,
		server: func(t *testing.T, admin *redis.Client) func() {
			must(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
			return func() { must(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err()) }
		},
	},
	{
		name: "NOPERM", says: []string{"NOPERM"}, total: true,
		server: func(t *testing.T, admin *redis.Client) func() {
			must(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "-@all").Err())
			return func() { must(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "+@all").Err()) }
		},
	},
	{
		name: "LOADING", says: []string{"LOADING"}, total: true, server: loading,
		config: testenv.RedisConfig{Args: []string{
			"--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024",
		}},
	},
	{
		name: "BUSY", says: append([]string{"BUSY "}, silent...), total: true, server: busyScript,
		config: testenv.RedisConfig{Args: []string{"--lua-time-limit", "50"}},
	},
}

// loading lets the server load its own data slowly.
func loading(t *testing.T, admin *redis.Client) (end func()) {
	fill := `for i = 1, 4000 do redis.call('SET', 'filler' .. i, string.rep('x', 200), 'EX', 600) end return 1`
	must(t, admin.Eval(t.Context(), fill, nil).Err())
	must(t, admin.ConfigSet(t.Context(), "key-load-delay", "10000").Err()) // µs for each key
	loaded := inBackground(t, admin, "DEBUG", "RELOAD")
	waitFor(t, admin, "LOADING")
	return func() {
		must(t, admin.ConfigSet(t.Context(), "key-load-delay", "0").Err())
		must(t, <-loaded)
	}
}

// busyScript keeps the server busy with a script of somebody else.
func busyScript(t *testing.T, admin *redis.Client) (end func()) {
	ended := inBackground(t, admin, "EVAL", "while true do end", 0)
	waitFor(t, admin, "BUSY")
	return func() {
		must(t, admin.ScriptKill(t.Context()).Err())
		<-ended // with the error of a script that was killed
	}
}

// inBackground runs a command that lasts as long as the fault, on a connection that waits for it.
func inBackground(t *testing.T, admin *redis.Client, command ...any) <-chan error {
	opts := *admin.Options()
	opts.ReadTimeout, opts.MaxRetries = -1, -1
	ended := make(chan error, 1)
	go func() {
		client := redis.NewClient(&opts)
		defer client.Close()
		ended <- client.Do(context.WithoutCancel(t.Context()), command...).Err()
	}()
	return ended
}

func waitFor(t *testing.T, admin *redis.Client, code string) {
	t.Helper()
	for !redis.HasErrorPrefix(admin.Get(t.Context(), "filler1").Err(), code) {
		if t.Context().Err() != nil {
			t.Fatalf("the server does not come to answer %s", code)
		}
		time.Sleep(time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
