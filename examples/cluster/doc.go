// Command cluster runs a few scheduled jobs on three nodes and proves that each
// tick runs on exactly one of them.
//
//	go run ./examples/cluster
//	go run ./examples/cluster -for 20s
//	go run ./examples/cluster -store redis://127.0.0.1:6379/0 -for 30s -kill 10s
//
// With "-store memory:" the nodes are three schedulers in this process. With a
// redis:// URL each node is a process of its own, and -kill ends one of them
// with SIGKILL, in the middle of a run if it can.
//
// It prints the address of a web page, with the dashboard of jobs at /jobs/. From
// this machine you may run, pause and cancel jobs there and break their locks.
//
// The jobs are in carts.go and region.go: functions with a //lock: directive,
// from which lockgen wrote lock_gen.go. Each notes its starts and ends with a
// witness that knows nothing of the scheduler. The last line compares these
// notes with the ticks that the specs ask for:
//
//	ticks=44 runs=45 duplicates=0 missed=0 lost=1
//
// The exit status is 0 if the scheduler kept its word, 1 if it did not or the
// example could not run, and 2 for wrong flags.
package main
