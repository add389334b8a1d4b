// Package far has keys behind a prefix.
//
//lock:default ttl=30s,prefix=order:
package far

import "context"

//lock:key=7
func sevenLocked(ctx context.Context) error { return nil }

func Use() {}
