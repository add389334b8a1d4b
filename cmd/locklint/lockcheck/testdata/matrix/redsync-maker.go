//matrix:setup l := s.locks.Build("lock:" + id)
//matrix:take err := l.Lock()
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock()

package lk

import "github.com/go-redsync/redsync/v4"

type Locker interface {
	Lock() error
	Unlock() (bool, error)
}

type Builder interface{ Build(name string) Locker }

type redisLocker struct{ mutex *redsync.Mutex }

func (l *redisLocker) Lock() error           { return l.mutex.Lock() }
func (l *redisLocker) Unlock() (bool, error) { return l.mutex.Unlock() }

type redisBuilder struct{ rs *redsync.Redsync }

func New(rs *redsync.Redsync) Builder { return &redisBuilder{rs} }

func (b *redisBuilder) Build(name string) Locker { return &redisLocker{b.rs.NewMutex(name)} }

type Locks struct{ Builder }
