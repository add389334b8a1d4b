package sqlstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

// feelEvery is how often a session that waits looks whether anybody has written to a SQLite file. That takes some
// hundredths of a millisecond, and reads no table.
const feelEvery = 2 * time.Millisecond

// feel has the locks asked about that this session waits for when somebody has written to the SQLite file, so that polls
// may be rare. Where it cannot, polls are all there is.
func (s *session) feel() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeFeeler:
		}
		err := s.feelWrites()
		if s.feels.Store(false); err != nil {
			if !pace.Sleep(s.ctx, time.Second) {
				return
			}
			pace.Wake(s.wakeFeeler)
		}
	}
}

// feelWrites looks for as long as anybody waits. It keeps a connection: the number that it reads is the connection's own.
func (s *session) feelWrites() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	t, err := s.store.ready(ctx)
	if err != nil || t.Dialect != sqldialect.SQLite || !pins.take(s.store.db) {
		return err
	}
	defer pins.give(s.store.db)
	conn, err := s.store.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	look, err := conn.PrepareContext(ctx, "PRAGMA data_version") // to parse it would take longer than to run it
	if err != nil {
		return err
	}
	defer look.Close()
	version := int64(-1) // what was written before is not known
	for s.waits() && pace.Sleep(s.ctx, feelEvery) {
		before := version
		if err := look.QueryRowContext(context.Background()).Scan(&version); err != nil {
			return err
		}
		if s.feels.Store(true); version != before {
			s.pollNow(nil)
		}
	}
	return nil
}

// waits reports whether anybody waits for a lock.
func (s *session) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches) > 0
}
