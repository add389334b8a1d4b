// Package witness watches a cluster from outside the scheduler. Every body of a
// job writes down that it starts and that it ends; afterwards Judge compares
// these notes with the ticks that the job's spec asks for.
//
// It uses nothing of package jobs: neither its records nor its parser of specs.
// A scheduler that loses a tick, or runs one twice and hides it, is found out.
//
// # What counts
//
// A tick is due if it lies in the window: after Open and not after Close. Ticks
// outside are not counted, because nodes that start one after the other run the
// first ones early, and those that stop may leave the last ones undone; but a
// tick that runs twice is a duplicate wherever it lies.
//
// A second start of one tick is legitimate in two cases: every earlier run of it
// ended with an error, which is what retries are for; or it was on a node that
// has died by then. All else is a duplicate.
package witness
