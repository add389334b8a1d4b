package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// go-redis has one logger for all clients of a process, which no one can read back, so it cannot be changed for a while
// or put in a chain. It is replaced here, before main begins: an application that sets one of its own in main, or in a
// package that imports this one, replaces it again, for all clients. Until then lines of the application's clients
// appear as they would without this package.
func init() {
	redis.SetLogger(clientLogs{others: log.New(os.Stderr, "redis: ", log.LstdFlags|log.Lshortfile)})
}

// clientLogs is the logger of go-redis. It tells the lines of clients that were made by URL from all others.
type clientLogs struct{ others *log.Logger }

// Printf implements go-redis's logger.
func (c clientLogs) Printf(ctx context.Context, format string, v ...any) {
	if owner := ownerOf(ctx, v); owner != nil {
		owner.print(ctx, format, v)
		return
	}
	const caller = 3 // skips this function and that of go-redis
	_ = c.others.Output(caller, fmt.Sprintf(format, v...))
}

// ownerOf finds the client that a line is about, by its context, or by the error of a dial, which is made in the
// background with no context of ours.
func ownerOf(ctx context.Context, v []any) *clientLog {
	if ctx != nil {
		if owner, ok := ctx.Value(clientLogKey{}).(*clientLog); ok {
			return owner
		}
	}
	for _, value := range v {
		var dial *dialError
		if err, ok := value.(error); ok && errors.As(err, &dial) {
			return dial.owner
		}
	}
	return nil
}

// clientLog takes the lines of one client to the logger of its Locker. Before there is one they are dropped: what goes
// wrong then is the error of Open. It also ends the client's dials, which go-redis makes with no context of ours, and
// which its Close waits for.
type clientLog struct {
	logger  atomic.Pointer[slog.Logger]
	closing context.Context // ends before the client is closed
	close   context.CancelFunc
}

func newClientLog() *clientLog {
	l := new(clientLog)
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// untilClosed returns ctx with its end moved forward to that of the client.
func (l *clientLog) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.closing, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

type clientLogKey struct{}

func (l *clientLog) print(ctx context.Context, format string, v []any) {
	logger := l.logger.Load()
	if logger == nil {
		return
	}
	level := slog.LevelInfo
	for _, value := range v {
		if _, failed := value.(error); failed {
			level = slog.LevelWarn
		}
	}
	logger.LogAttrs(ctx, level, "redis client", slog.String("says", fmt.Sprintf(format, v...)))
}

// dialError is the error of a dial, marked with whose it is.
type dialError struct {
	error
	owner *clientLog
}

func (e *dialError) Unwrap() error { return e.error }

// dialer is what go-redis would take, with marked errors, and a handshake that ends with its context.
func (l *clientLog) dialer(timeout time.Duration, config *tls.Config) redis.DialHook {
	if timeout == 0 {
		timeout = 5 * time.Second // the default of go-redis
	}
	dial := redis.NewDialer(&redis.Options{DialTimeout: timeout})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, done := l.untilClosed(ctx)
		defer done()
		conn, err := dial(ctx, network, addr)
		if err == nil && config != nil {
			conn, err = handshake(ctx, conn, addr, config)
		}
		if err != nil {
			return nil, &dialError{err, l}
		}
		return conn, nil
	}
}

// handshake makes a connection one of TLS, or closes it.
func handshake(ctx context.Context, conn net.Conn, addr string, config *tls.Config) (net.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
	}
	return secure, nil
}

// DialHook implements redis.Hook: it marks the context of a dial, which go-redis hands to its questions to the
// sentinels.
func (l *clientLog) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, done := l.untilClosed(ctx)
		defer done()
		return next(context.WithValue(ctx, clientLogKey{}, l), network, addr)
	}
}

// ProcessHook implements redis.Hook.
func (l *clientLog) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (l *clientLog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
