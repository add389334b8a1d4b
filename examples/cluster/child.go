package main

import (
	"context"
	"errors"
	"os"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/witness"
	_ "github.com/lockgen/lockgen/jobs/redisstore" // the redis: scheme of lockrt.Open
	lockrt "github.com/lockgen/lockgen/runtime"
)

// childRole, as the first argument of the command, makes it a node.
const childRole = "node"

// childSetup is what a node that is a process is told.
type childSetup struct {
	Store     string `json:"store"`
	Namespace string `json:"namespace"`
	Node      string `json:"node"`
	Notes     string `json:"notes"` // file of the witness
}

// runChild is the command as a node. It tells its parent its jobs, then each run that has ended.
func runChild(ctx context.Context, setup childSetup, parent *child.Parent) (err error) {
	notes, err := witness.OpenFile(setup.Notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.Close()) }()

	logger := newLogger(os.Stderr).With("node", setup.Node)
	locks, err := lockrt.Open(ctx, setup.Store,
		lockrt.Config{Namespace: setup.Namespace, Node: setup.Node, Logger: logger})
	if err != nil {
		return err
	}
	recorder := &witness.Recorder{Log: notes, Node: setup.Node}
	n, err := newNode(locks, nil, recorder, logger, func(r runLine) { parent.Note(r) })
	if err != nil {
		return err
	}
	parent.Ready(n.specs())
	if err := n.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
