//go:build !neverset

package ll1004

import "context"

//lock:key=order:{id},ttl=20s
func (s *shop) taggedLocked(ctx context.Context, id int64) error { return nil }
