package lockrt

import "slices"

// This file is which grants of one key a Locker may hold at the same time.

// beside puts g among the grants of its key. It returns those that are over because of it: the store knows them no
// more. late says that it is g itself which is over: a later grant has come first. The Locker's mutex is held.
func (l *Locker) beside(g *grant) (ended []*grant, late bool) {
	alone := l.byKey[g.key]
	if g.kind.exclusive() {
		later := func(other *grant) bool { return other.isAfter(g) }
		if alone != nil && later(alone) || slices.ContainsFunc(l.shared[g.key], later) {
			return nil, true
		}
		l.byKey[g.key] = g
		if len(l.shared) > 0 {
			ended = l.shared[g.key]
			delete(l.shared, g.key)
		}
		if alone != nil {
			ended = append(ended, alone)
		}
	} else {
		others := l.shared[g.key]
		if alone != nil {
			others = append(slices.Clip(others), alone)
		}
		var stay []*grant
		for _, other := range others {
			switch goesWith, later := other.goesWith(g); {
			case goesWith:
				stay = append(stay, other)
			case later:
				return nil, true
			default:
				ended = append(ended, other)
			}
		}
		delete(l.byKey, g.key)
		l.shared[g.key] = append(stay, g)
	}
	return ended, false
}

// goesWith reports whether the store may have given another grant beside this one, and if not, whether this one is the
// later. Readers who hold a lock together have one epoch, so one with another was there before or after. That of a
// downgraded lease may be about to change, though.
func (g *grant) goesWith(other *grant) (goesWith, later bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.kind.permits > 0 && other.kind.permits > 0, g.downgrading && other.kind.mode == Read:
		return true, false
	case g.kind.mode == Read && other.kind.mode == Read && g.fence.Epoch() == other.fence.Epoch():
		return true, false
	}
	return false, g.isAfterLocked(other)
}

// isAfter reports whether the store gave this grant later than another one, whose answer came later still: that has the lower
// fence. So it has behind a store that has lost its data and counts anew; but then it may only have been given after this
// process knew of this grant.
func (g *grant) isAfter(other *grant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isAfterLocked(other)
}

func (g *grant) isAfterLocked(other *grant) bool {
	return g.over == nil && g.fence > other.fence && g.heard.After(other.began) && g.heard.After(other.sent)
}

// share puts a grant among those that others may hold beside them.
func (l *Locker) share(g *grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[g.key] == g {
		delete(l.byKey, g.key)
		l.shared[g.key] = append(l.shared[g.key], g)
	}
}

// unshare takes it out again. The mutex is held.
func (l *Locker) unshare(g *grant) {
	left := l.shared[g.key]
	i := slices.Index(left, g)
	if i < 0 {
		return
	}
	left[i] = left[len(left)-1]
	left[len(left)-1] = nil
	if left = left[:len(left)-1]; len(left) == 0 {
		delete(l.shared, g.key)
	} else {
		l.shared[g.key] = left
	}
}

// recalled is the session's SessionConfig.Recall.
func (l *Locker) recalled(id string) {
	l.mu.Lock()
	g := l.grants[id]
	l.mu.Unlock()
	if g == nil {
		return
	}
	if b := g.readers(); b != nil {
		b.closed.Store(true)
	}
}
