// Package imports uses packages of one name, aliases and dots.
package imports

import (
	"context"
	. "strings"
	"time"

	atime "example.com/app/imports/a/time"
	btime "example.com/app/imports/b/time"
	. "example.com/app/internal/deep"
	"example.com/app/probe"
)

//lock:key=imports-1:{z},ttl=30s
func aliasesLocked(z atime.Zone, y btime.Zone, d time.Duration) (atime.Zone, btime.Zone, error) {
	probe.Run(z, y, d)
	return z, y, probe.Err()
}

//lock:key=imports-2:{z|text}:{y.Name},ttl=30s
func textLocked(z *atime.Zone, y *btime.Zone) { probe.Run(z, y) }

//lock:key=imports-3:{d.Name}:{d},ttl=30s
func dotLocked(ctx context.Context, d *Deep, b *Builder, m map[Level]Reader) (Level, error) {
	probe.Run(ctx, d, len(m))
	return 3, probe.Err()
}

//lock:key=@btime.Key,ttl=@Long
func constantsLocked(d Deep) { probe.Run(d) }

//lock:key=imports-5:{p.Region},ttl=30s
func hiddenLocked(p *btime.Place) { probe.Run(p) }

//lock:key=imports-6,ttl=30s
func aliasOfLeaseLocked(l *btime.Lock) error { probe.Run(l); return probe.Err() }

//lock:key=imports-7,ttl=30s,locker=probe.Locks
func dotLockerLocked() error { probe.Run(); return probe.Err() }

//lock:key=imports-8:{deep.Name},ttl=30s
func dotNamesLocked(deep *Deep) (Level, error) {
	probe.Run(deep)
	return 3, probe.Err()
}

//lock:key=imports-9:{len(rs)},ttl=30s
func dotVariadicLocked(rs ...*Replacer) { probe.Run(len(rs)) }
