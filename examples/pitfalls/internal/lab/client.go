package lab

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ErrCut is what the commands of a client return while it is cut off.
var ErrCut = errors.New("this process does not reach Redis any more")

// Client is one process of a scenario, as far as Redis sees it.
type Client struct {
	*redis.Client
	faults faults
}

// Cut cuts the client off: no command of it reaches Redis any more. To everybody else
// that is a crash, or a long pause if it is mended later.
func (c *Client) Cut() { c.faults.setCut(true) }

// Mend ends a Cut.
func (c *Client) Mend() { c.faults.setCut(false) }

// CrashBefore cuts the client off when it is about to send a command.
func (c *Client) CrashBefore(command string) {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.crash = command
}

// Sent is how many commands the client has sent so far, or tried to.
func (c *Client) Sent() int {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	return c.faults.sent
}

// PauseBefore holds the client up when it is about to send a command the next
// time, as a garbage collection or a slow network does.
func (c *Client) PauseBefore(command string) *Pause {
	p := &Pause{command: command, reached: make(chan struct{}), resumed: make(chan struct{})}
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.pauses = append(c.faults.pauses, p)
	return p
}

// Pause is a place at which a client is held up.
type Pause struct {
	command          string
	reached, resumed chan struct{}
	once             sync.Once
}

// Reached blocks until the client is there.
func (p *Pause) Reached(ctx context.Context) error {
	select {
	case <-p.reached:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("no "+p.command+" was about to be sent"), ctx.Err())
	}
}

// Resume lets the client go on.
func (p *Pause) Resume() { p.once.Do(func() { close(p.resumed) }) }

// faults is the hook between a client and its connections, and the connections themselves: a Locker renews its leases
// through some of its own.
type faults struct {
	mu    sync.Mutex // guards what follows
	cut   bool
	crash string // the command before which cut becomes true; "" for none
	sent  int
	// pauses are those that have not begun yet.
	pauses []*Pause
}

func (f *faults) setCut(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = cut
}

// dial connects, unless the client is cut off.
func (f *faults) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if f.isCut() {
		return nil, ErrCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return line{conn, f}, nil
}

func (f *faults) isCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cut
}

// line is a connection of a client that can be cut off.
type line struct {
	net.Conn
	faults *faults
}

// Write implements net.Conn.
func (l line) Write(b []byte) (int, error) {
	if l.faults.isCut() {
		return 0, ErrCut
	}
	return l.Conn.Write(b)
}

// before blocks while the client is paused, and fails if it is cut off.
func (f *faults) before(ctx context.Context, cmds ...redis.Cmder) error {
	if p := f.pauseAt(cmds); p != nil {
		close(p.reached)
		select {
		case <-p.resumed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent += len(cmds)
	if f.crash != "" && names(cmds, f.crash) {
		f.cut = true
	}
	if f.cut {
		return ErrCut
	}
	return nil
}

// pauseAt returns the pause that begins with these commands, nil if none does.
func (f *faults) pauseAt(cmds []redis.Cmder) *Pause {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.pauses, func(p *Pause) bool { return names(cmds, p.command) })
	if i < 0 {
		return nil
	}
	p := f.pauses[i]
	f.pauses = slices.Delete(f.pauses, i, i+1)
	return p
}

func names(cmds []redis.Cmder, name string) bool {
	return slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Name() == name })
}

func (f *faults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.before(ctx, cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := f.before(ctx, cmds...); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}
