// Package sinks writes for others.
package sinks

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Save writes.
//
//lock:fenced
func Save(ctx context.Context, item string, f lockrt.Fence) {}

// A Store is fenced as a whole: its methods that write are.
//
//lock:fenced
type Store struct{}

// SaveItem writes, and cannot be given a fence but by its caller's guard.
//
//lock:fenced
func (*Store) SaveItem(item string) {}

// Item reads.
func (*Store) Item() string { return "" }

// Plain hides its token.
type Plain struct{ token string }

// Bearer shows it.
type Bearer struct{ Token string }

// Put writes.
//
//lock:fenced
func Put(where any, item string) {}
