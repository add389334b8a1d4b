package ll3011

import "github.com/hashicorp/consul/api"

// A wrapper that hands the channel on leaves it to its callers; one that keeps it may look itself.

type lock struct{ l *api.Lock }

func (l *lock) Lock() (<-chan struct{}, error) { return l.l.Lock(nil) }
func (l *lock) Unlock() error                  { return l.l.Unlock() }

func droppedOfWrapper(l *lock, work func()) error {
	if _, err := l.Lock(); err != nil { // want `LL3011: the loss of the lock that l.Lock takes goes unnoticed: it returns a channel that is closed then, and nobody receives from it`
		return err
	}
	defer l.Unlock()
	work()
	return nil
}

func handedOnOfWrapper(l *lock, work func(<-chan struct{})) error {
	lost, err := l.Lock()
	if err != nil {
		return err
	}
	defer l.Unlock()
	work(lost)
	return nil
}

type keeper struct {
	l    *api.Lock
	lost <-chan struct{}
}

func (k *keeper) Lock() (err error) {
	k.lost, err = k.l.Lock(nil)
	return err
}
func (k *keeper) Unlock() error { return k.l.Unlock() }

func kept(k *keeper, work func()) error {
	if err := k.Lock(); err != nil {
		return err
	}
	defer k.Unlock()
	work()
	return nil
}
