package main

import "time"

// sqlPlans are the scenarios with SQL databases, at their full or their small size.
func sqlPlans(quick bool, rounds int) []plan {
	size := uncontended{rounds: 9, goroutines: 64, slice: time.Second}
	burst := clusterContended{crew: crew{processes: 8, waiters: 1, hold: time.Millisecond}, rounds: 3, window: 10 * time.Second}
	load := seeds{goroutines: 1000, each: 2, rounds: 3, atLeast: 300 * time.Millisecond, limit: 25 * time.Second}
	due, held := pgJobsDueFull, pgRenewFull
	idle := pgIdle{crew: crew{processes: 10, waiters: 100}, rounds: 3, hold: 10 * time.Second, settle: 40 * time.Second}
	passed := pgHandoffs{rounds: 3, keys: 32, processes: 4, window: 8 * time.Second}
	if quick {
		passed = pgHandoffs{rounds: 1, keys: 4, processes: 2, window: 500 * time.Millisecond}
		due, held = pgJobsDueQuick, pgRenewQuick
		size = uncontended{rounds: 1, goroutines: 16, slice: 100 * time.Millisecond}
		burst.crew.processes, burst.rounds, burst.window = 2, 1, time.Second
		load = seeds{goroutines: 50, each: 2, rounds: 1, atLeast: 50 * time.Millisecond, limit: 1500 * time.Millisecond}
		idle = pgIdle{crew: crew{processes: 2, waiters: 10}, rounds: 1, hold: time.Second, settle: 100 * time.Millisecond}
	}
	for _, n := range []*int{&size.rounds, &burst.rounds, &load.rounds, &idle.rounds, &passed.rounds} {
		override(n, rounds)
	}
	files := burst
	files.crew.processes = min(burst.crew.processes, 4)
	all := []interface {
		scenario
		name() string
	}{
		sqlPairs{uncontended: size, on: onPostgres, peers: []contender{pglockPeer, pglockStill, pgAdvisory}, alone: 1.2, burst: 2},
		sqlContended{burst, onPostgres, []contender{pglockPeer, pglockStill, pgAdvisory, sqlStrict, sqlPolling, sqlLockgen}},
		sqlSeeds{load, onPostgres, []contender{pglockPeer, sqlStrict, sqlLockgen}},
		passed,
		idle,
		held,
		due,
		sqlPairs{uncontended: size, on: onMySQL, peers: []contender{mysqlGetter}, alone: 0.9, burst: 1.2},
		sqlContended{burst, onMySQL, []contender{mysqlGetter, sqlStrict, sqlLockgen}},
		sqlPairs{uncontended: size, on: onSQLite, alone: 0.8, burst: 0.8},
		sqlContended{files, onSQLite, []contender{sqlStrict, sqlLockgen}},
	}
	var plans []plan
	for _, s := range all {
		plans = append(plans, plan{s.name(), s})
	}
	return plans
}
