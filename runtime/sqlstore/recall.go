package sqlstore

import (
	"context"
	"database/sql"
	"time"
)

// recall lets the Locker know behind which of its readers somebody waits, if it is time to ask.
func (s *session) recall(ctx context.Context, t *tables) error {
	s.mu.Lock()
	ids := make(map[string][]string) // by name
	var names [][]byte
	if s.Recall != nil && time.Since(s.recallAt) >= s.toldEvery() {
		for id, h := range s.leases {
			if h.reads && !h.recalled && len(names) < pollBatch {
				name := rowName(s.Namespace, h.key)
				names = append(names, name)
				ids[string(name)] = append(ids[string(name)], id)
			}
		}
		s.recallAt = time.Now()
	}
	s.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	var waited []string
	err := t.query(ctx, s.store.pool, recallSQL, args{"names": padded(names)}, func(rows *sql.Rows) error {
		var name []byte
		err := rows.Scan(&name)
		waited = append(waited, ids[string(name)]...)
		return err
	})
	for _, id := range waited {
		s.mu.Lock()
		if h := s.leases[id]; h != nil {
			h.recalled = true
		}
		s.mu.Unlock()
		s.Recall(plain(id))
	}
	return err
}
