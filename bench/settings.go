package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// settings are what the command line says.
type settings struct {
	scenario string
	json     bool
	quick    bool
	only     string
	rounds   int
	leases   int
	ttl      time.Duration
	keys     int
	profile  string
}

// plan is a scenario with the size to run it at.
type plan struct {
	name string
	scenario
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.scenario, "scenario", "", "what to measure: "+strings.Join(scenarioNames(), ", "))
	flags.BoolVar(&s.json, "json", false, "print JSON instead of tables")
	flags.BoolVar(&s.quick, "quick", false, "small sizes: shows that everything works, says nothing about speed")
	flags.StringVar(&s.only, "contenders", "", "measure only these, separated by commas; default all")
	flags.IntVar(&s.rounds, "rounds", 0, "rounds per contender; default depends on the scenario")
	flags.IntVar(&s.leases, "leases", 0, "leases of scenario renew; default 100000")
	flags.DurationVar(&s.ttl, "ttl", 0, "ttl of the leases of scenario renew; default 30s")
	flags.IntVar(&s.keys, "keys", 0, "keys of scenario memory; default 1000000")
	flags.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this process to this file")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not understood; everything is a flag, see -help", flags.Arg(0))
	}
	if s.rounds < 0 || s.leases < 0 || s.ttl < 0 || s.keys < 0 {
		return s, errors.New("-rounds, -leases, -ttl and -keys may not be negative")
	}
	if s.only != "" {
		if _, err := named(strings.Split(s.only, ",")...); err != nil {
			return s, err
		}
	}
	return s, nil
}

func scenarioNames() []string {
	names := []string{}
	for _, p := range (settings{}).all() {
		names = append(names, p.name)
	}
	return append(names, "all")
}

// plans returns the scenarios that the command line asks for.
func (s settings) plans() ([]plan, error) {
	all := s.all()
	if s.scenario == "all" {
		return all, nil
	}
	for _, p := range all {
		if p.name == s.scenario {
			return []plan{p}, nil
		}
	}
	return nil, fmt.Errorf("-scenario %q is unknown; there are %s", s.scenario, strings.Join(scenarioNames(), ", "))
}

// all returns every scenario at the size that the command line asks for.
func (s settings) all() []plan {
	seeds, cluster, idle := seedsFull, clusterFull, idleFull
	uncontended, renew, memory := uncontendedFull, renewFull, memoryFull
	readers, permits := readersFull, permitsFull
	due, idleJobs, skew := jobsDueFull, jobsIdleFull, jobsSkewFull
	if s.quick {
		seeds, cluster, idle = seedsQuick, clusterQuick, idleQuick
		uncontended, renew, memory = uncontendedQuick, renewQuick, memoryQuick
		readers, permits = readersQuick, permitsQuick
		due, idleJobs, skew = jobsDueQuick, jobsIdleQuick, jobsSkewQuick
	}
	for _, rounds := range []*int{&seeds.rounds, &cluster.rounds, &idle.rounds, &uncontended.rounds, &readers.rounds,
		&permits.rounds} {
		override(rounds, s.rounds)
	}
	override(&renew.leases, s.leases)
	override(&renew.ttl, s.ttl)
	override(&memory.keys, s.keys)
	plans := []plan{{"seeds", seeds}, {"cluster-contended", cluster}, {"idle-wait", idle},
		{"uncontended", uncontended}, {"readers", readers}, {"permits", permits}, {"renew", renew}, {"memory", memory}, {"jobs-due", due},
		{"jobs-idle", idleJobs}, {"jobs-skew", skew}}
	plans = append(plans, sqlPlans(s.quick, s.rounds)...)
	plans = append(plans, etcdPlans(s.quick, s.rounds)...)
	return append(plans, zkPlans(s.quick, s.rounds)...)
}

// override sets what the command line names.
func override[T comparable](field *T, flag T) {
	var unset T
	if flag != unset {
		*field = flag
	}
}
