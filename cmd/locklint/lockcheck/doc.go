// Package lockcheck holds the checks of locklint as importable analyzers.
//
// [Analyzers] is all that a driver needs; [Checks] adds what the analysis framework has no place for, such as the
// severity. What each check finds, how the code fails and how to fix it stands in the page of its folder.
//
// # Precision
//
// Silent on doubt: a finding is something that a maintainer would fix. SETNX by itself is mostly not a lock but
// de-duplication, throttling or a cache, so the LL2 checks report only what plays the role of a lock (package locks):
// an acquire and a release of the same key, described by an expression because the two mostly stand in different
// functions. LL1001 and LL3 follow a lease path by path (package leases) and let it go as soon as somebody unknown has
// it.
//
// # Structure
//
// A check is a folder below checks: llNNNN.go, its page doc.md, and testdata/src with what it finds and what it is
// silent on. The list of the checks, CHECKS.md and the tests are made from the folders;
//
//	go run ./cmd/locklint/internal/newcheck LL4005 "what it finds"
//
// starts one. What checks share are the packages below internal. Arrows go one way, from the later to the earlier:
//
//	ssax, clients, ops, lua, docs   SSA form made handy; the libraries by their import paths; what commands do; scripts
//	keyexpr                         what a key, a value or a time is made of
//	rediscmd                        which calls are Redis commands
//	answers                         what a program does with the answer of an acquire
//	program                         one package: its SSA form, which functions never return, its interfaces
//	summaries                       what functions do for their callers, also across packages
//	locks                           the gate: which commands make up a lock
//	handles, leases                 the data flow of leases and of the locks of other libraries
//	guards, generated, suppress     directives, lockgen's files, the comments that silence findings
//	sections                        what runs under a lock of this project
//	index                           runs all of the above once for each package
//	check                           the entry of the catalogue and the reporter
//	sqlcalls                        statements for databases, from syntax alone
//	fixes, leaks, refusals,
//	transactions                    what several checks report in the same way
//
// # Cost
//
// The index needs SSA form, which takes most of the time. It builds it only for packages that import a client or call
// a function that has a fact. Everything that crosses packages is a fact, because the bodies of functions do not. Facts
// belong to the index alone, so switching off one check changes no other.
package lockcheck
