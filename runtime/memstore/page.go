package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var _ lockrt.Pager = (*session)(nil)

// cursorPrefix begins every cursor; what follows is the last key of the page before.
const cursorPrefix = "after "

// ListPage implements lockrt.Pager.
func (s *session) ListPage(_ context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	after, ok := strings.CutPrefix(cursor, cursorPrefix)
	if cursor != "" && (!ok || !strings.HasPrefix(after, prefix)) {
		return nil, "", lockrt.ErrCursor
	}
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	var keys []string
	for n, l := range s.store.locks {
		if n.namespace == s.cfg.Namespace && n.key > after && strings.HasPrefix(n.key, prefix) && l.held(now) {
			keys = append(keys, n.key)
		}
	}
	slices.Sort(keys)
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = cursorPrefix + keys[limit-1]
	}
	page := make([]lockrt.LockInfo, len(keys))
	for i, key := range keys {
		page[i] = s.current(key, now).info(now, maxListed)
	}
	return page, next, nil
}
