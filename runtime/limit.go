package lockrt

import (
	"sync/atomic"
	"time"
)

// limit is when a lease ends at the latest. The zero value is never.
type limit struct{ end atomic.Pointer[time.Time] }

func (l *limit) set(end time.Time) {
	if !end.IsZero() {
		l.end.Store(&end)
	}
}

func (l *limit) at() time.Time {
	if end := l.end.Load(); end != nil {
		return *end
	}
	return time.Time{}
}

func (l *limit) passed() bool {
	end := l.end.Load()
	return end != nil && !time.Now().Before(*end)
}
