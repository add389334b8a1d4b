package ll3002

import (
	"log"

	"github.com/go-redsync/redsync/v4"
)

// An if statement without a body decides nothing.

func locked(rs *redsync.Redsync, key string) *redsync.Mutex {
	mutex := rs.NewMutex(key)
	if err := mutex.Lock(); err != nil { // want `LL3002: the error of mutex.Lock is ignored`
		// what could be done here?
	}
	return mutex
}

func orStops(rs *redsync.Redsync, key string) *redsync.Mutex {
	mutex := rs.NewMutex(key)
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	return mutex
}
