// Package jobs has just as much of the scheduler as the tests call. It is loaded, never run.
package jobs

import "context"

type Job struct {
	Name, Spec, TZ string
	Keys           []string
	Run            func(context.Context) error
}

type Scheduler struct{}

func (*Scheduler) Add(Job) error { return nil }
