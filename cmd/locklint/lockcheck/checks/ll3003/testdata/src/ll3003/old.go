package ll3003

import (
	redsync1 "github.com/go-redsync/redsync"
	redsync2 "github.com/go-redsync/redsync/v2"
	redsync3 "github.com/go-redsync/redsync/v3"
)

func v1(rs *redsync1.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3003`
		return err
	}
	return work()
}

func v2(rs *redsync2.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3003`
		return err
	}
	return work()
}

func v3(rs *redsync3.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3003`
		return err
	}
	return work()
}

func v3Fine(rs *redsync3.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	return work()
}
