package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// In this process, so that the leak check sees what it leaves behind.
func TestRun_memory(t *testing.T) {
	var stdout, stderr strings.Builder
	code := run([]string{"-addr", "127.0.0.1:0", "-for", "4s", "-nodes", "4"}, nil, &stdout, &stderr)
	s := parseSummary(t, stdout.String())
	if code != 0 || s.duplicates+s.missed+s.lost != 0 || s.runs != s.ticks {
		t.Errorf("exit status %d, %+v\n%s%s", code, s, &stdout, &stderr)
	}
	// In four seconds: four ticks of every second, two of every other, one of every third.
	if s.ticks < 7 {
		t.Errorf("only %d ticks were due in 4 s", s.ticks)
	}
	for _, job := range []string{"expireCarts", "rebuildIndex", "settle"} {
		if !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d +\S*` + job +
			` +node-\d +\S+s  fence [1-9]\d*  ok$`).MatchString(stdout.String()) {
			t.Errorf("no line for a run of %s in\n%s", job, &stdout)
		}
	}
}

func TestCommand_memory_interruptDrains(t *testing.T) {
	c := startCommand(t)
	url := c.await(`web page: +(\S+)`)[1]
	c.await(`rebuildIndex .* ok$`)
	page := get(t, url)
	for _, want := range []string{"node-1", "node-3", "rebuildIndex", "*/3 * * * * *", "ok"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q:\n%s", want, page)
		}
	}
	c.cmd.Process.Signal(os.Interrupt)
	exit, stderr := c.finish()
	if s := c.lastLine(); exit != 0 || s.duplicates+s.missed+s.lost != 0 || s.ticks == 0 {
		t.Errorf("exit status %d, %+v, %s", exit, s, stderr)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestCommand_redis_killedNode(t *testing.T) {
	server := testenv.Redis(t)
	c := startCommand(t, "-store", server.URL(), "-for", "8s", "-kill", "3s")
	c.await(`^node-\d killed`)
	exit, stderr := c.finish()
	s := c.lastLine()
	if exit != 0 || s.duplicates+s.missed != 0 {
		t.Errorf("exit status %d, %+v, %s", exit, s, stderr)
	}
	if s.ticks < 14 || s.runs < s.ticks || s.lost > s.runs-s.ticks {
		t.Errorf("%+v: in 8 s at least 14 ticks are due, and what is lost is run again", s)
	}
	if keys := allKeys(t, server); len(keys) > 0 {
		t.Errorf("left in Redis: %v", keys)
	}
}

func allKeys(t *testing.T, server *testenv.RedisServer) []string {
	t.Helper()
	opts, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestCommand_redis_nodesDieWithTheirParent(t *testing.T) {
	server := testenv.Redis(t)
	c := startCommand(t, "-store", server.URL())
	c.await(` ok$`)
	c.cmd.Process.Kill()
	c.allGone()
}

func TestCommand_redis_interruptDrains(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{Password: "s3cret"})
	c := startCommand(t, "-store", server.URL(), "-nodes", "2")
	c.await(`settle .* ok$`)
	c.cmd.Process.Signal(os.Interrupt)
	exit, stderr := c.finish()
	if s := c.lastLine(); exit != 0 || s.duplicates+s.missed+s.lost != 0 {
		t.Errorf("exit status %d, %+v, %s", exit, s, stderr)
	}
	if strings.Contains(c.log.String(), "s3cret") {
		t.Error("the password is printed")
	}
}

func TestCommand_redis_unreachable(t *testing.T) {
	paused := testenv.Redis(t)
	paused.Pause()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, test := range map[string]struct{ addr, cause string }{
		"nobody listens": {closed.Addr().String(), "connection refused"},
		"no answer":      {paused.Addr(), "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCommand(t, "-store", "redis://:s3cret@"+test.addr+"/0")
			exit, stderr := c.finish()
			if exit != 1 || !strings.Contains(stderr, "cannot reach Redis at "+test.addr) ||
				!strings.Contains(stderr, test.cause) {
				t.Errorf("exit status %d, %q does not name %s and %q", exit, stderr, test.addr, test.cause)
			}
			if out := c.log.String(); strings.Contains(out, "s3cret") || strings.Contains(out, "node-") {
				t.Errorf("printed:\n%s", out)
			}
		})
	}
}
