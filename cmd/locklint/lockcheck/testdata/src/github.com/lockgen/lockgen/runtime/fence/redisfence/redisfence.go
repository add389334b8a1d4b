// Package redisfence has just as much of the package as the tests call. It is loaded, never run.
package redisfence

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type Redis struct{}

func (Redis) Do(ctx context.Context, resource string, f lockrt.Fence, args ...any) error { return nil }
