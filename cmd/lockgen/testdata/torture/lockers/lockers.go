// Package lockers keeps its locker in every place.
package lockers

import (
	"context"
	"sync"

	"example.com/app/probe"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type named = lockrt.Locker

type base struct{ *lockrt.Locker }

type middle struct {
	sync.Mutex
	*base
}

type Embedded struct {
	middle
	Name string
}

type Field struct{ lk *named }

type Two struct{ a, b *lockrt.Locker }

type group struct {
	main struct{ locks *lockrt.Locker }
}

//lock:key=lockers-1:{e.Name},ttl=30s
func (e *Embedded) embeddedLocked(ctx context.Context) error { probe.Run(ctx); return probe.Err() }

//lock:key=lockers-2,ttl=30s
func (base) directLocked() error { probe.Run(); return probe.Err() }

//lock:key=lockers-3,ttl=30s
func (f Field) aliasLocked() (int, error) { probe.Run(); return 1, probe.Err() }

//lock:key=lockers-4,ttl=30s,locker=t.b
func (t *Two) chosenLocked(a *lockrt.Locker) error { probe.Run(); return probe.Err() }

//lock:key=lockers-5:{name},ttl=30s
func parameterLocked(ctx context.Context, name string, l *lockrt.Locker) error {
	probe.Run(ctx, name)
	return probe.Err()
}

//lock:key=lockers-6,ttl=30s,locker=e.middle.base.Locker
func ofParameterLocked(e *Embedded) { probe.Run() }

//lock:key=lockers-7,ttl=30s,locker=g.main.locks
func (g *group) nestedLocked() (n int, err error) { probe.Run(); return 1, probe.Err() }

//lock:key=lockers-9,ttl=30s,locker=probe.Locks,func=ofPackage
func packageLocked() (n int, err error) { probe.Run(); return 1, probe.Err() }

//lock:key=lockers-8,ttl=30s,locker=t.a
func (t Two) reentrantLocked(ctx context.Context) error { probe.Run(ctx); return probe.Err() }
