package etcdtest

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testlocks"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

func TestMain(m *testing.M) {
	testetcd.BeServer()
	storetest.BeProcess()
	testlocks.BeProcess(openChaos)
	goleak.VerifyTestMain(m)
}

// coarse is how long etcd may take to notice a death: the shortest lease, and twice its look for leases that are over.
const coarse = 4 * time.Second

func TestStore_conformance(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	storetest.Run(t, func(*testing.T) lockrt.Store { return etcdstore.New(client, etcdstore.Config{}) },
		storetest.Processes(func(*testing.T) string { return c.URL() }), storetest.Coarse(coarse))
}
