package deep

import (
	"time"

	"example.com/app/probe"
)

type Level int

type Deep struct {
	Name  string
	Level Level
}

func (d *Deep) MarshalText() ([]byte, error) { return []byte(d.Name), nil }

const Long = 90 * time.Second

//lock:key=deep-1:{d.Name}:{d.Level},ttl=30s
func (d *Deep) insideLocked() (Level, error) { probe.Run(d); return d.Level, probe.Err() }
