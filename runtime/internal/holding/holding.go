// Package holding is what the sessions of all stores ask of the Locker that they belong to.
package holding

import lockrt "github.com/lockgen/lockgen/runtime"

// IDs is the set of leases that the Locker of a session knows; nil: it does not say.
func IDs(cfg lockrt.SessionConfig) map[string]bool {
	if cfg.Held == nil {
		return nil
	}
	ids := make(map[string]bool)
	for _, lease := range cfg.Held() {
		ids[lease.ID] = true
	}
	return ids
}
