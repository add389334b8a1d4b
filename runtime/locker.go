package lockrt

import (
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
	"github.com/lockgen/lockgen/runtime/internal/logqueue"
)

// Locker acquires leases in one store. One per process and store is enough; all methods may be called concurrently.
type Locker struct {
	cfg     Config
	store   Store
	owned   io.Closer // the store, if this Locker opened it
	session Session
	renewer *renewer
	expirer *expirer
	bounds  bounds
	queues  *localQueues
	looks   looks
	logs    logqueue.Queue // of cfg.Logger
	tells   tellings

	telemetry *telemetry // nil: none

	idPrefix string // random: makes lease ids unique over all processes
	idCount  atomic.Uint64

	closing   context.Context // ends when Close begins: waiting acquires give up
	stop      context.CancelFunc
	renewCtx  context.Context // ends when Close has released everything; stops what runs by itself
	stopRenew context.CancelFunc
	running   sync.WaitGroup            // the renewer
	heard     atomic.Pointer[time.Time] // when the store has answered a release last, or Close began; nil before
	closeErr  error                     // set before ended is closed
	ended     chan struct{}             // closed when Close is done

	mu        sync.Mutex // guards what follows
	closed    bool
	acquiring sync.WaitGroup // Add only under mu while not closed
	returned  bool           // no grant is given back any more
	returning sync.WaitGroup // Add only under mu while not returned
	grants    map[string]*grant
	byKey     map[string]*grant   // the last exclusive grant of each key
	shared    map[string][]*grant // the grants of each key that others may hold beside them
	early     earlyLosses
}

// New returns a Locker on store. It does not contact the store. The store stays the caller's: Close ends the Locker's
// session in it and nothing else.
func New(store Store, cfg Config) (*Locker, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: New needs a store, such as memstore.New() or redisstore.New(client, redisstore.Config{})",
			ErrOptions)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	telemetry, err := newTelemetry(cfg)
	if err != nil {
		return nil, err
	}
	l := &Locker{
		telemetry: telemetry, store: store, idPrefix: rand.Text()[:16] + ".",
		queues: newLocalQueues(), expirer: newExpirer(), grants: make(map[string]*grant), byKey: make(map[string]*grant),
		shared: make(map[string][]*grant),
		ended:  make(chan struct{}),
	}
	cfg.Logger = l.logs.Logger(cfg.Logger)
	l.cfg = cfg
	l.session, err = store.Open(SessionConfig{
		Namespace: cfg.Namespace, Node: cfg.Node, Logger: cfg.Logger, Lost: l.lost, Held: l.held, Recall: l.recalled,
	})
	if err != nil {
		return nil, fmt.Errorf("open lock store: %w", err)
	}
	l.closing, l.stop = context.WithCancel(context.Background())
	l.renewCtx, l.stopRenew = context.WithCancel(context.Background())
	l.bounds.begin(l.renewCtx)
	l.renewer = newRenewer(l.session, cfg.Logger, telemetry)
	l.running.Go(func() { l.renewer.run(l.renewCtx) })
	return l, nil
}

// usable tells callers who have no Locker or no context.
func (l *Locker) usable(ctx context.Context) error {
	switch {
	case l == nil || l.session == nil:
		return fmt.Errorf("%w: the *lockrt.Locker is nil, or was not made by lockrt.New or lockrt.Open; was the field of a "+
			"struct left empty?", ErrOptions)
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil; pass context.Background() where there is none", ErrOptions)
	}
	return nil
}

// Node returns Config.Node, or what it defaulted to; "" for a nil Locker.
func (l *Locker) Node() string {
	if l == nil {
		return ""
	}
	return l.cfg.Node
}

// Namespace returns Config.Namespace, or what it defaulted to; "" for a nil Locker.
func (l *Locker) Namespace() string {
	if l == nil {
		return ""
	}
	return l.cfg.Namespace
}

// Telemetry returns Config.TracerProvider and Config.MeterProvider, nil where there is none.
func (l *Locker) Telemetry() (trace.TracerProvider, metric.MeterProvider) {
	if l == nil {
		return nil, nil
	}
	return l.cfg.TracerProvider, l.cfg.MeterProvider
}

// Store returns the store, nil for a nil Locker.
func (l *Locker) Store() Store {
	if l == nil {
		return nil
	}
	return l.store
}

func (l *Locker) newID() string { return l.idPrefix + strconv.FormatUint(l.idCount.Add(1), 36) }

// enter lets Close wait for the acquire that calls it; leave ends that.
func (l *Locker) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.acquiring.Add(1)
	return nil
}

func (l *Locker) leave() { l.acquiring.Done() }

// remember makes a grant known to Close and to the session's loss signals, and lets it end at its deadline. The error
// is that of a lease whose loss was told before its grant. Earlier grants of the key end that cannot be held beside it:
// the store has given the lock again, so it no longer knows those.
func (l *Locker) remember(g *grant) error {
	l.mu.Lock()
	if reason := l.early.take(g.id); reason != nil {
		l.mu.Unlock()
		g.gone.Store(errors.Is(reason, errNotMine))
		return &lostError{key: g.key, reason: reason}
	}
	ended, late := l.beside(g)
	if late {
		l.mu.Unlock()
		return &lostError{key: g.key, reason: errNotMine}
	}
	l.grants[g.id] = g
	l.mu.Unlock()
	loseEach(ended)
	_, deadline := g.given()
	l.expirer.add(g, deadline)
	return nil
}

// disarm is called by a grant that has ended.
func (l *Locker) disarm(g *grant) {
	l.renewer.remove(g)
	l.expirer.remove(g)
}

// settle is called when a grant has been given back to the store, be it in vain. If it may be there still, Close tries
// again: it goes through all that is in l.grants.
func (l *Locker) settle(g *grant, gone bool) {
	if gone {
		g.gone.Store(true)
	}
	if g.gone.Load() {
		l.forget(g)
		return
	}
	l.keepLost(g)
	l.drop(g)
}

// forget is called for a grant of which nothing is at the store any more.
func (l *Locker) forget(g *grant) {
	l.mu.Lock()
	recalled := g.recalled
	g.recalled = false
	l.dropLocked(g)
	l.mu.Unlock()
	if recalled {
		l.expirer.remove(g)
	}
}

// drop is called for a grant that has been lost. Its release may have begun already: then Close has to find it.
func (l *Locker) drop(g *grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(g)
}

func (l *Locker) dropLocked(g *grant) {
	if !g.recalled {
		delete(l.grants, g.id)
	}
	if l.byKey[g.key] == g {
		delete(l.byKey, g.key)
	} else if len(l.shared) > 0 {
		l.unshare(g)
	}
}

// recall lets Close find a grant that was lost until what is left of it has been given back. It reports false if nothing is.
func (l *Locker) recall(g *grant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.gone.Load() {
		return false
	}
	g.recalled = true
	l.grants[g.id] = g
	return true
}

// keepLost lets Close find a grant that was lost and that the store still has, for as long as it does. Its holder may be
// late to release it, or never do it.
func (l *Locker) keepLost(g *grant) {
	if l.recall(g) {
		l.expirer.watch(g, g.storeEnd())
	}
}

// lost is the session's SessionConfig.Lost. Where the reason is that the store did not answer, the lease may be there still.
func (l *Locker) lost(id string, reason error) {
	gone := !errors.Is(reason, timelimit.ErrNoAnswer)
	if gone {
		reason = errors.Join(errNotMine, reason)
	}
	l.mu.Lock()
	g := l.grants[id]
	if g == nil {
		l.early.add(id, reason)
	}
	l.mu.Unlock()
	if g == nil {
		return
	}
	g.lose(reason)
	if gone {
		l.settle(g, true)
	}
}

// held is the session's SessionConfig.Held.
func (l *Locker) held() []HeldLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	leases := make([]HeldLease, 0, len(l.grants))
	for _, g := range l.grants {
		if !g.recalled {
			leases = append(leases, g.heldLease())
		}
	}
	return leases
}

// leaseLost is called once for a grant that was lost. The next caller in the queue has to ask the store.
func (l *Locker) leaseLost(g *grant, reason error) {
	l.noteLost(g, reason)
	l.reportLost(g, g.leases(), reason)
}

// noteLost is what the Locker has to know of a lost grant.
func (l *Locker) noteLost(g *grant, reason error) {
	if !errors.Is(reason, errNotMine) {
		l.keepLost(g)
	}
	l.drop(g)
	l.queues.vacate(g)
}

// reportLost tells that leases of a grant were lost.
func (l *Locker) reportLost(g *grant, leases int, reason error) {
	l.telemetry.leasesLost(leases)
	fence := FenceOf(g.heldLease().Epoch)
	l.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "lock lease lost",
		slog.String("key", g.key), slog.Uint64("fence", uint64(fence)), slog.Any("reason", reason))
}
