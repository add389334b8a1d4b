package bad

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type shop struct{ locks *lockrt.Locker }

//lock:key=order:{id},ttl=30s
func (s *shop) fine(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id},ttl=30s,wiat=2s
func (s *shop) typo(ctx context.Context, id int64) error { return nil }

//lock:key=order:{idd},ttl=30s
func (s *shop) parameter(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id}
func (s *shop) noTTL(ctx context.Context, id int64) error { return nil }

// lock:key=order:{id},ttl=30s
func (s *shop) lookAlike(ctx context.Context, id int64) error { return nil }

//locklint:ignore LL1005 the old tool reads it
//lock:key=order:{id},tll=30s
func (s *shop) silenced(ctx context.Context, id int64) error { return nil }

//lock:key=detached,ttl=30s

// The lock: of the door needs a key. No directive.
func (s *shop) prose(ctx context.Context) error { return nil }
