package ll3011

import "github.com/hashicorp/consul/api"

func dropped(l *api.Lock, work func()) error {
	if _, err := l.Lock(nil); err != nil { // want `LL3011: the loss of the lock that l.Lock takes goes unnoticed: Consul closes the channel that it returns, and nobody receives from it`
		return err
	}
	defer l.Unlock()
	work()
	return nil
}

func onlyNil(l *api.Lock, work func()) error {
	lost, err := l.Lock(nil) // want `LL3011: the loss of the lock`
	if err != nil || lost == nil {
		return err
	}
	defer l.Unlock()
	work()
	return nil
}

// Below is what is fine.

func watched(l *api.Lock, work func(), stop func()) error {
	lost, err := l.Lock(nil)
	if err != nil {
		return err
	}
	defer l.Unlock()
	go func() {
		<-lost
		stop()
	}()
	work()
	return nil
}

func handedOn(l *api.Lock, work func(<-chan struct{})) error {
	lost, err := l.Lock(nil)
	if err != nil {
		return err
	}
	defer l.Unlock()
	work(lost)
	return nil
}
