package lockrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// List returns the held locks of the namespace whose key begins with prefix, sorted by key; "" lists all. It blocks
// until the store has answered. A large Redis has to walk over all its keys for that.
func (l *Locker) List(ctx context.Context, prefix string) ([]LockInfo, error) {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if err := l.lookable(ctx); err != nil {
		return nil, fmt.Errorf("list locks %s: %w", quote(prefix), err)
	}
	infos, err := l.session.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list locks %s: %w", quote(prefix), err)
	}
	nameHolders(infos)
	return infos, nil
}

// nameHolders lets Holders have the one holder of an exclusive lock, where the store names only several.
func nameHolders(infos []LockInfo) {
	named := make([]Holder, 0, len(infos))
	for i := range infos {
		info := &infos[i]
		if len(info.Holders) > 0 {
			continue
		}
		named = append(named, Holder{
			Node: info.Node, ID: info.ID, Fence: info.Fence, Slot: -1, Since: info.Since, Remaining: info.Remaining,
		})
		info.Holders = named[len(named)-1 : len(named) : len(named)]
	}
}

// ErrCursor says that a cursor does not come from an earlier page of the same list.
var ErrCursor = errors.New("unknown cursor")

// ListPage returns a page of [Locker.List], about limit locks sorted by key, and the cursor of the next page, "" after
// the last. The first page has the cursor "". The store chooses the order of the pages. A page before the last may be
// short or empty, and a lock may appear twice while others are taken and released. The error wraps ErrCursor if cursor
// does not come from an earlier page. It blocks until the store has answered. On a store that implements [Pager], as
// all stores of this module do, that takes the work of one page; on others that of the whole list.
func (l *Locker) ListPage(
	ctx context.Context, prefix, cursor string, limit int,
) (page []LockInfo, next string, err error) {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if limit < 1 {
		return nil, "", fmt.Errorf("list locks %s: %w: the limit is %d, it must be at least 1", quote(prefix), ErrOptions, limit)
	}
	if err := l.lookable(ctx); err != nil {
		return nil, "", fmt.Errorf("list locks %s: %w", quote(prefix), err)
	}
	pager, ok := l.session.(Pager)
	if !ok {
		return l.cutPage(ctx, prefix, cursor, limit)
	}
	page, next, err = pager.ListPage(ctx, prefix, cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list locks %s: %w", quote(prefix), err)
	}
	nameHolders(page)
	return page, next, nil
}

// cutPrefix begins every cursor of cutPage; what follows is the last key of the page before.
const cutPrefix = "after "

// cutPage cuts a page out of the whole list.
func (l *Locker) cutPage(
	ctx context.Context, prefix, cursor string, limit int,
) (page []LockInfo, next string, err error) {
	after, ok := strings.CutPrefix(cursor, cutPrefix)
	if cursor != "" && (!ok || !strings.HasPrefix(after, prefix)) {
		return nil, "", fmt.Errorf("list locks %s: %w", quote(prefix), ErrCursor)
	}
	infos, err := l.List(ctx, prefix)
	if err != nil {
		return nil, "", err
	}
	first := sort.Search(len(infos), func(i int) bool { return infos[i].Key > after })
	page = infos[first:]
	if len(page) > limit {
		page = page[:limit]
		next = cutPrefix + page[limit-1].Key
	}
	return page, next, nil
}

// Holder returns who holds the lock on key, since when, and who waits for it. The error wraps ErrNotHeld if nobody
// holds it.
func (l *Locker) Holder(ctx context.Context, key string) (LockInfo, error) {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if err := errors.Join(checkKey(key), l.lookable(ctx)); err != nil {
		return LockInfo{}, fmt.Errorf("inspect lock %s: %w", quote(key), err)
	}
	if inspector, ok := l.session.(Inspector); ok {
		info, err := inspector.Inspect(ctx, key)
		if err != nil {
			return LockInfo{}, fmt.Errorf("inspect lock %s: %w", quote(key), err)
		}
		infos := []LockInfo{info}
		nameHolders(infos)
		return infos[0], nil
	}
	infos, err := l.List(ctx, key)
	if err != nil {
		return LockInfo{}, err
	}
	for _, info := range infos {
		if info.Key == key {
			return info, nil
		}
	}
	return LockInfo{}, fmt.Errorf("inspect lock %s: %w", quote(key), ErrNotHeld)
}

// Break takes the lock on key from its holder, or from all its holders, see [Locker.BreakLease] for one. It marks the
// lease, and the holder's process is told. That process cancels the context of the work with ErrLost, and then the
// first waiter gets the lock. If the process does not answer, the first waiter gets it at the end of the lease's TTL.
// So the two never work at the same time. The fence of a later holder is higher, so the resource can refuse late writes
// of the old one. reason is part of that error and of the logs.
//
// It blocks until the lease is marked, not until the lock is free. It ends only leases that held the lock at the
// time of the call. The error wraps ErrNotHeld if nobody holds the lock, and errors.ErrUnsupported if the store cannot
// break locks.
func (l *Locker) Break(ctx context.Context, key, reason string) error {
	return l.breakLock(ctx, key, "", reason, false)
}

// Force is Break for a holder whose process is known to be dead: the first waiter gets the lock at once. If the process
// is alive after all, it works at the same time as the next holder until it is told. Then only the fence distinguishes
// the two.
func (l *Locker) Force(ctx context.Context, key, reason string) error {
	return l.breakLock(ctx, key, "", reason, true)
}

// BreakLease is Break for one of several leases that hold the lock together: id is its Holder.ID, as [Locker.Holder]
// names it. Those who share the lock with it keep it. The error wraps ErrNotHeld if no such lease holds the lock, or
// if id is empty. A lock that only MinHold keeps has no such lease: end it with Break.
func (l *Locker) BreakLease(ctx context.Context, key, id, reason string) error {
	if id == "" {
		return fmt.Errorf("break one lease on %s: %w: the id is empty; Break ends all that hold the lock", quote(key), ErrNotHeld)
	}
	return l.breakLock(ctx, key, id, reason, false)
}

// BreakSeen is Break for those whom seen names as holders, as [Locker.Holder] or [Locker.List] returned it. Whoever has
// come since keeps the lock. The error wraps ErrNotHeld if none of them holds it any more.
func (l *Locker) BreakSeen(ctx context.Context, seen LockInfo, reason string) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	breaker, err := l.breaker(ctx, seen.Key)
	if err != nil {
		return err
	}
	infos := []LockInfo{seen}
	nameHolders(infos)
	return l.breakHolders(ctx, breaker, seen.Key, infos[0].Holders, reason, false)
}

// breaker is the session of a lock that is to be broken.
func (l *Locker) breaker(ctx context.Context, key string) (Breaker, error) {
	if err := errors.Join(checkKey(key), l.lookable(ctx)); err != nil {
		return nil, fmt.Errorf("break lock %s: %w", quote(key), err)
	}
	breaker, ok := l.session.(Breaker)
	if !ok {
		return nil, fmt.Errorf("break lock %s: the store %T: %w", quote(key), l.store, errors.ErrUnsupported)
	}
	return breaker, nil
}

// breakLock breaks the lease with an id, or all that hold the lock if id is empty.
func (l *Locker) breakLock(ctx context.Context, key, id, reason string, force bool) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	breaker, err := l.breaker(ctx, key)
	if err != nil {
		return err
	}
	seen, err := l.Holder(ctx, key)
	if err != nil {
		return fmt.Errorf("break the lock of whoever holds it: %w", err)
	}
	holders := slices.DeleteFunc(seen.Holders, func(h Holder) bool { return id != "" && h.ID != id })
	return l.breakHolders(ctx, breaker, key, holders, reason, force)
}

// breakHolders breaks those that hold a lock still of some that were seen to.
func (l *Locker) breakHolders(
	ctx context.Context, breaker Breaker, key string, holders []Holder, reason string, force bool,
) error {
	err := error(ErrNotHeld)
	for _, holder := range holders {
		b := Breaking{Key: key, ID: holder.ID, Fence: holder.Fence, Reason: oneLine(reason), Force: force}
		switch one := breaker.Break(ctx, b); {
		case one == nil:
			l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "lock broken", slog.String("key", key),
				slog.String("holder", holder.Node), slog.Bool("force", force), slog.String("reason", reason))
			if err == ErrNotHeld {
				err = nil
			}
		case !errors.Is(one, ErrNotHeld): // else it has ended meanwhile
			return fmt.Errorf("break lock %s: %w", quote(key), one)
		}
	}
	if err != nil {
		return fmt.Errorf("break lock %s: %w", quote(key), err)
	}
	return nil
}

// maxReason is how many bytes of a reason are told.
const maxReason = 1000

// oneLine makes a reason one that errors and logs can hold.
func oneLine(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(reason, "�"))
	if len(reason) <= maxReason {
		return reason
	}
	end := maxReason
	for !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end] + "…"
}

// lookable is the error of a call that looks at the store's locks and cannot.
func (l *Locker) lookable(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	return l.closedErr()
}
