// Package child runs this program again, as processes that do a part of its work.
//
// A child is told what to do on its standard input: one line of JSON with its setup, later the word stop. The input
// stays open for as long as the parent lives, so its end is the parent's end, however it came: the child ends at once,
// since nobody is left to count what it does. The child answers on its standard output with a line of JSON for each
// message.
//
// The setup is no argument of the process because it may hold passwords, and other users can read arguments.
package child

// message is one line of a child's output; one of its fields is set. A parent reads the values as they came.
type message[T any] struct {
	Ready T      `json:"ready,omitempty"` // it does what it was started for
	Note  T      `json:"note,omitempty"`
	Err   string `json:"err,omitempty"` // why it gives up
}

// stopWord asks a child to finish.
const stopWord = "stop"
