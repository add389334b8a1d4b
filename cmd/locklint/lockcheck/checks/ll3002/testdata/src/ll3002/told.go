package ll3002

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Who reports what has become of it is told, and does no work without the lock.

func respond(code int, what any) {}

func status(m *redsync.Mutex) {
	code := 200
	var err error
	if err = m.TryLock(); err != nil {
		code = 409
	} else {
		defer m.Unlock()
		if err = work(); err != nil {
			code = 500
		}
	}
	respond(code, map[string]any{"err": fmt.Sprint(err)})
}

func message(ctx context.Context, c *redislock.Client, notify func(...any)) {
	msg := "done"
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		msg = "busy"
	} else {
		defer lock.Release(ctx)
		if err := work(); err != nil {
			msg = err.Error()
		}
	}
	notify(msg)
}

func sameVariable(ctx context.Context, c *redislock.Client, finish func(error) error) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err == nil {
		defer lock.Release(ctx)
		err = work()
	}
	return finish(err)
}

func leads(m *redsync.Mutex, run func(leader bool) error) error {
	leader := m.TryLock() == nil
	if leader {
		defer m.Unlock()
	}
	return run(leader)
}

type outcome struct {
	readOnly bool
	note     string
}

func inStruct(m *redsync.Mutex, run func(outcome) error) error {
	readOnly := false
	if err := m.TryLock(); err != nil {
		readOnly = true
	} else {
		defer m.Unlock()
	}
	return run(outcome{readOnly: readOnly, note: "x"})
}

func captured(m *redsync.Mutex, run func(string) error) (result string, err error) {
	defer func() { log.Println(result) }()
	result = "done"
	if err := m.TryLock(); err != nil {
		result = "busy"
	} else {
		defer m.Unlock()
	}
	return result, run(result)
}

// What is the same either way tells nobody, nor what only the lock makes anew, nor the lock itself.

func code(m *redsync.Mutex) {
	code := 200
	if err := m.TryLock(); err != nil { // want `LL3002: when m.TryLock fails, the code goes on without the lock: respond`
		log.Println("busy", err)
	} else {
		defer m.Unlock()
	}
	respond(code, nil)
}

func sameCode(m *redsync.Mutex, n int) {
	code := 200
	if n > 3 {
		code = 201
	}
	if err := m.TryLock(); err != nil { // want `LL3002`
		log.Println("busy", err)
	} else {
		defer m.Unlock()
	}
	respond(code, nil)
}

func readAgain(m *redsync.Mutex, load func() int, save func(int)) {
	stock := load()
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: save`
		log.Println("busy", err)
	} else {
		defer m.Unlock()
		stock = load()
	}
	save(stock)
}

func alsoWork(m *redsync.Mutex) {
	code := 200
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: work`
		code = 409
	} else {
		defer m.Unlock()
	}
	if work() != nil {
		code = 500
	}
	respond(code, nil)
}
