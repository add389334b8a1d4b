// Package lockcheck holds the checks of locklint as importable analyzers.
//
// [Analyzers] is all that a driver needs; [Checks] adds what the analysis framework has no place for, such as the
// severity. What each check finds, how the code fails and how to fix it stands in docs, one page for each check.
//
// # Precision
//
// Silent on doubt: a finding is something that a maintainer would fix. SETNX by itself is mostly not a lock but
// de-duplication, throttling or a cache, so the LL2 checks report only what plays the role of a lock (see isLock): an
// acquire and a release of the same key, described by a [keyExpr] because the two mostly stand in different functions.
// LL1001 follows a lease path by path (see follower) and lets it go as soon as somebody unknown has it.
//
// # Structure
//
//	clients, method, command, goredis, redigo, script   which calls are Redis commands
//	key, keyof, cell                                    what a command's key is made of
//	summary, facts                                      what functions do for their callers, also across packages
//	locks, names                                        the gate: which commands make up a lock
//	leases, flow…                                       the data flow of LL1001
//	guarded                                             functions with a //lock: directive
//	fenced, guardedresources                            what //lock:fenced marks and package fence guards
//	outputs, stale…                                     what lockgen has written for them
//	index                                               runs all of the above once for each package
//	ignore, check                                       suppression, the catalogue, reporting
//	llNNNN…                                             one check each
//
// A new check is a file llNNNN.go with a newCheck and a run function that reads the index, its page in docs, an entry
// in [Checks], and a package of the same name in testdata/src.
//
// # Cost
//
// The index needs SSA form, which is dear, and builds it only for packages that import a client or call a function
// that has a fact. Everything that crosses packages is a fact, because function bodies do not; facts belong to the
// index alone, so that a check can be switched off without any other noticing.
package lockcheck
