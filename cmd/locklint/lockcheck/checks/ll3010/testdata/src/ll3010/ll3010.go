package ll3010

import (
	"context"
	"log"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func dropped(ctx context.Context, s *concurrency.Session, work func() error) {
	mu := concurrency.NewMutex(s, "/stock")
	mu.Lock(ctx) // want `LL3010: the error of mu.Lock is ignored: when somebody else holds the lock, the code goes on without it`
	defer mu.Unlock(ctx)
	work()
}

func logged(conn *zk.Conn, work func() error) {
	l := zk.NewLock(conn, "/stock", zk.WorldACL(31))
	if err := l.Lock(); err != nil { // want `LL3010: when l.Lock fails, the code goes on without the lock: work at line [0-9]+ runs either way`
		log.Print(err)
	}
	work()
	l.Unlock()
}

func noChannel(c *api.Client, work func() error) error {
	l, err := c.LockOpts(&api.LockOptions{Key: "stock", LockTryOnce: true})
	if err != nil {
		return err
	}
	lost, err := l.Lock(nil) // want `LL3010: when l.Lock fails, the code goes on without the lock`
	if err != nil {
		return err
	}
	if lost == nil {
		log.Print("somebody else has it")
	}
	work()
	return l.Unlock()
}

// Below is what is fine.

func returned(ctx context.Context, s *concurrency.Session, work func() error) error {
	mu := concurrency.NewMutex(s, "/stock")
	if err := mu.TryLock(ctx); err != nil {
		return err
	}
	defer mu.Unlock(ctx)
	work()
	return nil
}
