package main

import (
	"context"
	"fmt"
)

// jobLibrary is a scheduler with the distributed set-up that its documentation describes.
type jobLibrary struct {
	name string
	open func(ctx context.Context, at address, o jobsOrders, notes *jobNotes) (jobNode, error)
}

// jobLibraries are those that keep their locks in Redis, in the order of the tables.
var jobLibraries = []jobLibrary{
	{"gocron", openGocronNode},
	{"libtnb-cron", openLibtnbNode},
	{"lockgen", openLockgenNode},
}

var sqlJobs = jobLibrary{"lockgen-sql", openSQLLockgenNode}

func jobContender(name string) (jobLibrary, error) {
	for _, l := range append([]jobLibrary{sqlJobs}, jobLibraries...) {
		if l.name == name {
			return l, nil
		}
	}
	return jobLibrary{}, fmt.Errorf("there is no contender %q for jobs", name)
}

// fleet starts one process for each order, calls during while they run, and returns what each found.
func fleet(ctx context.Context, orders []jobsOrders, during func(ctx context.Context) error) ([]jobsFound, error) {
	members := make([]*worker, 0, len(orders))
	defer func() {
		for _, w := range members {
			w.close()
		}
	}()
	for _, o := range orders {
		w, err := startWorker(ctx, jobsWorker, o)
		if err != nil {
			return nil, err
		}
		members = append(members, w)
	}
	if err := each(members, (*worker).awaitReady); err != nil {
		return nil, err
	}
	if err := each(members, func(w *worker) error { return w.say("go") }); err != nil {
		return nil, err
	}
	if err := during(ctx); err != nil {
		return nil, err
	}
	if err := each(members, func(w *worker) error { return w.say("stop") }); err != nil {
		return nil, err
	}
	found := make([]jobsFound, len(members))
	for i, w := range members {
		if err := w.result(&found[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}
