package main

import (
	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
)

// A node that is a process is told what to do on its standard input: one line
// of JSON with its setup, later the word stop. The input stays open for as long
// as the parent lives, so its end is the parent's end. The node answers on its
// standard output with a line of JSON for each message.

// childArgument, as the first argument of the command, makes it a node.
const childArgument = "node"

// stopWord asks a node to drain.
const stopWord = "stop"

// childSetup is the first line on a node's input. It is not an argument because
// the URL may hold a password, and other users can read arguments.
type childSetup struct {
	Store     string `json:"store"`
	Namespace string `json:"namespace"`
	Node      string `json:"node"`
	Notes     string `json:"notes"` // file of the witness
}

// message is one line of a node's output; one of its fields is set.
type message struct {
	Ready []witness.Job `json:"ready,omitempty"` // its jobs: it runs now
	Run   *runLine      `json:"run,omitempty"`
	Err   string        `json:"err,omitempty"` // why it gives up
}
