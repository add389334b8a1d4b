package ll1004

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type shop struct{ locks *lockrt.Locker }

// Fresh: nothing to say.
//
//lock:key=order:{id},ttl=30s
func (s *shop) placeLocked(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id},ttl=30s,wait=5s
func (s *shop) staleLocked(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id},ttl=30s
func (s *shop) missingLocked(ctx context.Context, id int64) error { return nil }

// Its directive is gone.
func (s *shop) orphanLocked(ctx context.Context, id int64) error { return nil }

// lock:key=order:{id},ttl=30s
func (s *shop) alikeLocked(ctx context.Context, id int64) error { return nil }

//lock:key=order:{unknown},ttl=10s
func (s *shop) brokenLocked(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id},ttl=30s
func (s *shop) editedLocked(ctx context.Context, id int64) error { return nil }

// Its wrapper has no fingerprint.
//
//lock:key=order:{id},ttl=30s
func (s *shop) olderLocked(ctx context.Context, id int64) error { return nil }

//lock:key=order:{id},ttl=30s
func (s *shop) byHandLocked(ctx context.Context, id int64) error { return nil }

func (s *shop) byHand(ctx context.Context, id int64) error { return s.byHandLocked(ctx, id) }
