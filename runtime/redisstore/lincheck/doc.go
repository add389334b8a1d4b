// Package lincheck records what clients of real locks saw, under faults, and asks porcupine whether any order of it
// makes sense for one lock. It is a module of its own so that users of the lock library do not download the checker.
package lincheck
