package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/listing"
)

const (
	maxWaitersListed = 100
	maxHoldersListed = 100
	// listPage is how many locks one statement of List reads.
	listPage = 500
	// cursorMark begins every cursor; what follows is the name of the last row of the page before, in hex.
	cursorMark = "after "
)

// List implements lockrt.Session, in statements of a bounded size.
func (s *session) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	return listing.All(ctx, s, prefix, listPage)
}

// ListPage implements lockrt.Pager.
func (s *session) ListPage(ctx context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	from, below := nameRange(s.Namespace, prefix)
	if cursor != "" {
		text, ok := strings.CutPrefix(cursor, cursorMark)
		last, err := hex.DecodeString(text)
		if !ok || err != nil || bytes.Compare(last, from) < 0 || bytes.Compare(last, below) >= 0 {
			return nil, "", fmt.Errorf("%w %q", lockrt.ErrCursor, cursor)
		}
		from = append(last, 0) // the next name that there may be
	}
	type result struct {
		page []lockrt.LockInfo
		next string
	}
	got, err := reading(s, ctx, func(ctx context.Context, t *tables) (got result, err error) {
		n := 0
		bounds := args{"from": from, "below": below, "limit": limit}
		err = t.query(ctx, s.store.pool, listSQL, bounds, func(rows *sql.Rows) error {
			r, now, err := scanRow(rows)
			if err != nil {
				return err
			}
			if n++; n == limit {
				got.next = cursorMark + hex.EncodeToString(r.name)
			}
			if r.taken(now) && strings.HasPrefix(string(r.key), prefix) { // the names of long ones do not tell
				got.page = append(got.page, r.info(now, maxHoldersListed))
			}
			return nil
		})
		return got, err
	})
	listing.Sort(got.page)
	return got.page, got.next, err
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	name := rowName(s.Namespace, key)
	return reading(s, ctx, func(ctx context.Context, t *tables) (lockrt.LockInfo, error) {
		rows, clock, err := t.read(ctx, s.store.pool, name)
		if err != nil {
			return lockrt.LockInfo{}, err
		}
		r, there := rows[string(name)]
		switch {
		case there && s.isKept(ctx, t, r, clock.Micros):
			return lockrt.LockInfo{}, s.keptBy(t, r)
		case !there || !r.taken(clock.Micros):
			return lockrt.LockInfo{}, lockrt.ErrNotHeld
		}
		return r.info(clock.Micros, maxHolders), nil
	})
}

// reading returns what f reads.
func reading[T any](s *session, ctx context.Context, f func(context.Context, *tables) (T, error)) (T, error) {
	done := make(chan T, 1)
	_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
		t, over, err := s.connected(limit)
		if err != nil {
			return err
		}
		defer over()
		got, err := f(limit, t)
		done <- got
		return err
	})
	if err != nil {
		var none T
		return none, s.explain(ctx, err)
	}
	return <-done, nil
}

// info describes a lock that is held, with at most so many of those who hold it together.
func (r *row) info(now int64, most int) lockrt.LockInfo {
	info := lockrt.LockInfo{
		Key: string(r.key), Node: r.node, ID: plain(r.owner), Fence: lockrt.FenceOf(uint64(r.epoch)),
		Since: time.UnixMicro(r.since), Remaining: fromMicros(r.roomAt(now) - now),
	}
	if r.shared() {
		r.describe(&info, now, most)
	}
	for i, p := range r.queue {
		if i == maxWaitersListed {
			break
		}
		info.Waiters = append(info.Waiters, lockrt.Waiter{
			Node: p.node, ID: plain(p.id), Mode: p.kind.mode(), Permits: p.kind.permits,
		})
	}
	return info
}

// describe tells who holds a lock together.
func (r *row) describe(info *lockrt.LockInfo, now int64, most int) {
	for _, h := range r.holders {
		if !h.live(now) || len(info.Holders) == most {
			continue
		}
		held := lockrt.Holder{
			Node: h.node, ID: plain(h.id), Fence: lockrt.FenceOf(uint64(h.epoch)), Slot: -1, Since: time.UnixMicro(h.since),
			Remaining: fromMicros(h.until - now),
		}
		if h.kind.permits > 0 {
			held.Slot = h.slot
		}
		if len(info.Holders) == 0 {
			info.Node, info.ID, info.Fence, info.Since = held.Node, held.ID, held.Fence, held.Since
			info.Mode, info.Limit = h.kind.mode(), h.kind.permits
		}
		info.Holders = append(info.Holders, held)
	}
}

// sweepPage deletes the rows of a page that nobody has wanted for long, and returns where the next page begins.
func (s *session) sweepPage(ctx context.Context, after []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	t, err := s.store.ready(ctx)
	if err != nil {
		return after
	}
	var names [][]byte
	if err := t.query(ctx, s.store.pool, sweepSQL, args{"after": after, "limit": listPage}, func(rows *sql.Rows) error {
		var name []byte
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	}); err != nil {
		return after
	}
	if len(names) > 0 {
		_, err = t.exec(ctx, s.store.pool, dropSQL, args{
			"names": padded(names), "age": micros(s.cfg.Retention), "schema": schemaRow,
		})
	}
	if err == nil {
		_, err = t.exec(ctx, s.store.pool, dropSessionsSQL, args{"age": micros(oldSession)})
	}
	if err != nil || len(names) < listPage {
		return []byte{}
	}
	return names[len(names)-1]
}
