package zkstore

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// TestTick is the tick of servers in tests.
	TestTick = 500 * time.Millisecond
	// TestSession is the time of sessions that are not to be lost on a busy machine.
	TestSession = time.Hour
)

// oneServer is the server of most tests.
var oneServer struct {
	once     sync.Once
	ensemble *testenv.ZooKeeperEnsemble
	err      error
}

// OneServer returns the server that tests share, also those of the package's other half. They use different namespaces.
func OneServer(t testing.TB) *testenv.ZooKeeperEnsemble {
	t.Helper()
	oneServer.once.Do(func() {
		cfg := testenv.ZooKeeperConfig{Tick: TestTick, MaxSession: TestSession}
		oneServer.ensemble, oneServer.err = testenv.StartZooKeeper(context.Background(), cfg)
	})
	testenv.NeedZooKeeper(t, oneServer.err)
	return oneServer.ensemble
}

// StopOneServer stops it, for TestMain.
func StopOneServer() {
	if oneServer.ensemble != nil {
		_ = oneServer.ensemble.Stop()
	}
}

// openAt returns a session of the test's namespace at a server, behind a line of its own.
func openAt(t *testing.T, addr string) (*session, *testenv.Proxy) {
	t.Helper()
	line := testenv.NewProxy(t, addr)
	opened, err := New([]string{line.Addr()}, Config{SessionTimeout: TestSession, Tick: TestTick}).Open(lockrt.SessionConfig{
		Namespace: t.Name(), Node: "node", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	t.Cleanup(func() {
		line.Resume()
		ctx, cancel := context.WithTimeout(context.Background(), 4*callTime)
		defer cancel()
		_ = s.Close(ctx)
		_ = s.Close(ctx)
	})
	return s, line
}

// mustTake has a session take a lock.
func mustTake(t *testing.T, s *session, key, id string) lockrt.Grant {
	t.Helper()
	grant, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: id, TTL: time.Minute, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// mustRelease has it release one.
func mustRelease(t *testing.T, s *session, key, id string) {
	t.Helper()
	if err := s.Release(t.Context(), lockrt.Release{Key: key, ID: id}); err != nil {
		t.Fatal(err)
	}
}

// look looks at ZooKeeper past the store.
func look(t *testing.T) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect(OneServer(t).Addrs(), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}
