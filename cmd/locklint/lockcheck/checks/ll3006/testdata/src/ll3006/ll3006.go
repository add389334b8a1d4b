package ll3006

import "github.com/go-redsync/redsync/v4"

var global *redsync.Mutex

func useGlobal() error {
	if err := global.Lock(); err != nil { // want `LL3006: global.Lock locks a Mutex that is a package variable`
		return err
	}
	defer global.Unlock()
	return nil
}

func loop(rs *redsync.Redsync, items []string) {
	mutex := rs.NewMutex("a")
	for range items {
		go func() {
			if mutex.Lock() != nil { // want `LL3006: mutex.Lock locks a Mutex that every goroutine of the loop shares`
				return
			}
			defer mutex.Unlock()
		}()
	}
}

// Fine.

func each(rs *redsync.Redsync, items []string) {
	for _, item := range items {
		mutex := rs.NewMutex(item)
		go func() {
			if mutex.Lock() != nil {
				return
			}
			defer mutex.Unlock()
		}()
	}
}

func one(rs *redsync.Redsync) {
	mutex := rs.NewMutex("a")
	go func() {
		if mutex.Lock() != nil {
			return
		}
		defer mutex.Unlock()
	}()
}
