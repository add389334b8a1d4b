// Command cluster runs a few scheduled jobs on three nodes and proves that each
// tick runs on exactly one of them.
//
//	go run ./examples/cluster
//	go run ./examples/cluster -for 20s
//	go run ./examples/cluster -store redis://127.0.0.1:6379/0 -for 30s -kill 10s
//
// With "-store memory:" the nodes are three schedulers in this process. With a
// redis:// URL each node is a process of its own.
//
// It prints the address of a web page, on which nodes can be killed and started
// again, and that of the dashboard of jobs, where you may run, pause and cancel jobs
// and break their locks. Both let only those act who sit at this machine. From a
// terminal:
//
//	curl -X POST 'http://127.0.0.1:8080/kill?node=node-2'
//	curl -X POST 'http://127.0.0.1:8080/start?node=node-2'
//
// The flag -kill kills one as well, in the middle of a run if it can. A process is killed
// with SIGKILL. A node of this process is cut off from its stores for good (package
// lifeline): as after SIGKILL it releases no lock, finishes no run and says nothing
// any more, and the others have to find out by its leases.
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
