// Package redsync has just as much of this old version as the tests call. It is loaded, never run.
package redsync

import "time"

type (
	Pool    interface{}
	Redsync struct{}
	Mutex   struct{}
	Option  interface{ Apply(*Mutex) }
)

func New(pools []Pool) *Redsync { return nil }

func (*Redsync) NewMutex(name string, options ...Option) *Mutex { return nil }

func SetExpiry(expiry time.Duration) Option { return nil }

func (*Mutex) Lock() error           { return nil }
func (*Mutex) Unlock() (bool, error) { return false, nil }
func (*Mutex) Extend() (bool, error) { return false, nil }
