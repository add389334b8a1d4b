package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// service is a set of instances, in this process or a process each.
type service interface {
	// urls are where the instances take orders.
	urls() []string
	// killHolder ends the instance that holds the lock on the stock, or the first if
	// nobody does, with SIGKILL. It returns its name when it is gone.
	killHolder(context.Context) (string, error)
	// close lets requests under way finish and ends all instances.
	close() error
}

func instanceName(i int) string { return fmt.Sprintf("instance-%d", i+1) }

// memoryService is all instances in this process. They share the store of the locks
// and nothing else.
type memoryService struct{ instances []*instance }

func startMemory(o options, d database, saleName string, logger *slog.Logger) (_ *memoryService, err error) {
	m := &memoryService{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	store := memstore.New()
	for i := range o.instances {
		locks, err := lockrt.New(store, lockrt.Config{Node: instanceName(i), Logger: logger})
		if err != nil {
			return nil, err
		}
		if err := m.add(o, d, saleName, locks); err != nil {
			return nil, errors.Join(err, locks.Close(context.Background()))
		}
	}
	return m, nil
}

// add starts an instance with connections of its own.
func (m *memoryService) add(o options, d database, saleName string, locks *lockrt.Locker) error {
	db, err := d.open(context.Background(), o.instances)
	if err != nil {
		return err
	}
	inst, err := startInstance(&shop{locks.Node(), &sale{saleName, db, d}, locks}, o.unsafe)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	m.instances = append(m.instances, inst)
	return nil
}

func (m *memoryService) urls() (urls []string) {
	for _, inst := range m.instances {
		urls = append(urls, inst.url())
	}
	return urls
}

func (m *memoryService) killHolder(context.Context) (string, error) {
	return "", errors.New("instances in one process cannot be killed")
}

func (m *memoryService) close() (err error) {
	for _, inst := range m.instances {
		err = errors.Join(err, inst.close(), inst.shop.sale.db.Close())
	}
	return err
}
