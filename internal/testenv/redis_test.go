package testenv

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func mustCommand(t *testing.T, s *RedisServer, args ...string) string {
	t.Helper()
	reply, err := s.askOnce(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

func TestRedis_answersOnLoopbackOnly(t *testing.T) {
	s := Redis(t)
	if got := mustCommand(t, s, "PING"); got != "PONG" {
		t.Errorf("PING = %q, want PONG", got)
	}
	if host, _, _ := net.SplitHostPort(s.Addr()); host != "127.0.0.1" {
		t.Errorf("listens on %s", host)
	}
	if want := "redis://" + s.Addr() + "/0"; s.URL() != want {
		t.Errorf("URL = %s, want %s", s.URL(), want)
	}
}

func TestRedis_password(t *testing.T) {
	s := Redis(t, RedisConfig{Password: "s3cret"})
	stranger := &RedisServer{port: s.port}
	if _, err := stranger.askOnce(t.Context(), "PING"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("PING without a password: %v, want NOAUTH", err)
	}
	if want := "redis://:s3cret@" + s.Addr() + "/0"; s.URL() != want {
		t.Errorf("URL = %s, want %s", s.URL(), want)
	}
}

func TestRedisServer_Restart_keepsDataOnlyWithAOF(t *testing.T) {
	for _, aof := range []bool{false, true} {
		t.Run("aof="+strconv.FormatBool(aof), func(t *testing.T) {
			s := Redis(t, RedisConfig{AOF: aof})
			addr := s.Addr()
			mustCommand(t, s, "SET", "k", "v")
			s.Kill()
			if _, err := s.askOnce(t.Context(), "PING"); err == nil {
				t.Fatal("a killed server answers")
			}
			s.Restart()
			if s.Addr() != addr {
				t.Errorf("moved from %s to %s", addr, s.Addr())
			}
			if survived := reply(s.askOnce(t.Context(), "GET", "k")) == "v"; survived != aof {
				t.Errorf("data survived: %v, want %v", survived, aof)
			}
		})
	}
}

// reply drops the error: a nil bulk reply is one for ask.
func reply(text string, _ error) string { return text }

func TestRedisServer_Restart_whileRunning(t *testing.T) {
	s := Redis(t)
	before := s.proc.pid()
	s.Restart()
	if s.proc.pid() == before {
		t.Error("the same process still runs")
	}
	mustCommand(t, s, "PING")
}

func TestRedisServer_Pause_holdsAnswersUntilResume(t *testing.T) {
	s := Redis(t)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	s.Pause()

	conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if got, err := ask(conn, r, "PING"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a paused server answered %q, %v", got, err)
	}
	s.Resume()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if line, err := r.ReadString('\n'); err != nil || line != "+PONG\r\n" {
		t.Errorf("after Resume: %q, %v", line, err)
	}
}

func TestRedisServer_Stop_endsPausedServerAndRemovesDirectory(t *testing.T) {
	s := Redis(t)
	proc, dir := s.proc, s.dir
	s.Pause()
	wantStopped(t, s.Stop, proc, dir)
}

// wantStopped stops a server, which leaves nothing.
func wantStopped(t *testing.T, stop func() error, proc *process, dir string) {
	t.Helper()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if !proc.exited() {
		t.Error("process still runs")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory is still there: %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestRedisServer_methodsSayThatItIsDown(t *testing.T) {
	installed(t)
	s, err := StartRedis(context.Background(), RedisConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	s.Kill()
	if err := s.Pause(); !errors.Is(err, errDown) {
		t.Errorf("Pause after Kill: %v", err)
	}
	s.Stop()
	if err := s.Restart(); !errors.Is(err, errStopped) {
		t.Errorf("Restart after Stop: %v", err)
	}
}

func installed(t *testing.T) {
	t.Helper()
	if _, err := redisProgram(); err != nil {
		missing(t, "redis", err)
	}
}
