package zkstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// openTime is for how long it is tried to open a link.
const openTime = 2 * callTime

// link returns the present link, a new one if there is none.
func (s *session) link(ctx context.Context) (*link, error) {
	s.mu.Lock()
	l := s.present
	if l == nil || l.isOver() {
		var err error
		if s.done {
			err = lockrt.ErrClosed
		} else if l, err = newLink(s); err == nil {
			s.present = l
			s.links.Go(func() { s.open(l) })
		}
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
	}
	s.mu.Unlock()
	select {
	case <-l.ready:
		return l, l.opened
	case <-ctx.Done():
		if err := l.await(ctx); err != nil { // it says why
			return nil, err
		}
		return nil, context.Cause(ctx)
	}
}

// open makes a link ready, and serves it until it is over.
func (s *session) open(l *link) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.life, openTime)
	err := l.open(ctx)
	cancel()
	if err != nil {
		l.opened = explain(context.Background(), began, err)
		s.forget(l)
		close(l.ready)
		l.close(s.life)
		return
	}
	close(l.ready)
	s.links.Go(func() { s.hear(l) })
	s.links.Go(func() { s.sweep(l) })
	l.beat(s.life)
}

// forget makes the next call open another link.
func (s *session) forget(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == l {
		s.present = nil
	}
}

// open connects, and makes the nodes that every session needs.
func (l *link) open(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	for made := false; ; made = true {
		ok, err := l.settle(ctx)
		if ok || err != nil {
			return err
		}
		if made {
			return fmt.Errorf("%w (%q)", errMoved, l.s.space.root)
		}
		if err := l.makeTree(ctx); err != nil {
			return err
		}
	}
}

// settle makes the session's node and reads the base. It reports false if what they need is not there.
func (l *link) settle(ctx context.Context) (ok bool, err error) {
	err = l.makeNode(ctx, l.path, l.create(l.path, zk.FlagEphemeral))
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("make %q: %w", l.path, err)
	}
	stat, err := l.stat(ctx, l.s.space.base())
	if err != nil || stat == nil {
		return false, err
	}
	l.base = time.UnixMilli(stat.Ctime).UnixMicro()
	return true, nil
}

// connect waits for the first connection, and names the user.
func (l *link) connect(ctx context.Context) error {
	if err := l.await(ctx); err != nil {
		return err
	}
	if agreed := l.agreed(); agreed < 2*l.cfg.Tick { // no lease would last
		return fmt.Errorf("%w: the servers give a session of %s, and zkstore.Config.Tick is %s; a session has two ticks "+
			"at the least: set Tick to the tickTime of the servers, or raise their maxSessionTimeout", lockrt.ErrOptions, agreed,
			l.cfg.Tick)
	}
	if l.cfg.User == "" {
		return nil
	}
	_, _, err := repeat(ctx, l, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.AddAuth("digest", []byte(l.cfg.User+":"+l.cfg.Password))
	})
	return err
}

// makeTree makes what all sessions of the namespace share. The base comes last but for what can be made again.
func (l *link) makeTree(ctx context.Context) error {
	sp := l.s.space
	var paths []string
	for i := 1; i < len(sp.root); i++ {
		if sp.root[i] == '/' {
			paths = append(paths, sp.root[:i])
		}
	}
	paths = append(paths, sp.root, sp.base(), sp.keeps(), sp.locks(), sp.sessions())
	for _, path := range paths {
		if err := l.makeNode(ctx, path, l.create(path, zk.FlagPersistent)); err != nil {
			return fmt.Errorf("make %q: %w", path, err)
		}
	}
	return nil
}

// creation is a call that makes a node.
type creation = func(*zk.Conn) (string, error)

func (l *link) create(path string, flag int32) creation {
	return func(c *zk.Conn) (string, error) { return c.Create(path, nil, flag, l.acl()) }
}

// makeIn makes a node in the tree, and the tree if somebody has deleted it.
func (l *link) makeIn(ctx context.Context, path string, create creation) error {
	err := l.makeNode(ctx, path, create)
	if errors.Is(err, zk.ErrNoNode) {
		if err = l.makeTree(ctx); err == nil {
			err = l.makeNode(ctx, path, create)
		}
	}
	return err
}

// makeNode makes a node, or finds it.
func (l *link) makeNode(ctx context.Context, path string, create creation) error {
	_, _, err := repeat(ctx, l, create)
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoAuth): // the servers ask for the rights first, and whether it is there after that
		if there, looked := l.stat(ctx, path); looked == nil && there != nil {
			return nil
		}
	case err != nil && strings.Contains(err.Error(), "unknown error: -6"):
		return fmt.Errorf("%w: the servers know no container nodes (%w); ZooKeeper 3.5.1 or newer is needed",
			lockrt.ErrOptions, err)
	}
	return err
}

// acl gives all rights to the user, or to everybody if there is none.
func (l *link) acl() []zk.ACL {
	if l.cfg.User != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}
