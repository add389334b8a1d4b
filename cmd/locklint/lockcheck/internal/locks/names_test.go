package locks

import (
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
)

func TestLockWord(t *testing.T) {
	for text, want := range map[string]bool{
		"lock:order": true, "orderLock": true, "LOCK_KEY": true, "shop.Mutex.key": true, "distlock.key": true,
		"order_mtx": true,
		"block:7":   false, "clock": false, "unblock": false, "stock": false, "order": false,
		"account:locked": false, "login:lockout": false,
	} {
		if got := speaksOfLock(keyexpr.Expr{Op: keyexpr.Lit, Text: text}); got != want {
			t.Errorf("%q speaks of a lock: %t, want %t", text, got, want)
		}
	}
}
