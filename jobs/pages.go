package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// JobQuery asks for a page of the jobs of the cluster. The zero value, with a limit, asks for the first ones.
type JobQuery struct {
	State JobState // StateAny asks for all
	// words that must all be in the [SearchText] of a job. Up to 10 words of 200 bytes in all: the store compares them
	// with every name.
	Search string
	From   string // jobs after this one; "": from the first one on
	Back   bool   // return the last jobs before From instead; with From "": the last jobs of all
	Limit  int    // up to 100,000 count
}

const (
	maxSearch      = 200 // bytes
	maxSearchWords = 10
	maxPage        = 100_000
)

// ErrSearch says that a search is too long; see [JobQuery].
var ErrSearch = errors.New("the search is too long")

// searchWords are the words of a search, each once.
func searchWords(search string) ([]string, error) {
	if len(search) > maxSearch {
		return nil, fmt.Errorf("%w: it has %d bytes: use %d at most", ErrSearch, len(search), maxSearch)
	}
	words := strings.Fields(strings.ToLower(search))
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > maxSearchWords {
		return nil, fmt.Errorf("%w: it has %d words: use %d at most", ErrSearch, len(words), maxSearchWords)
	}
	return words, nil
}

// JobPage is a page of the jobs of the cluster, by name.
type JobPage struct {
	Jobs   []Status
	More   bool // there are others after them, or before them if the query went back
	Before int  // how many jobs of the state come before the page; -1 if they were not counted
}

// JobPage returns a page of the jobs of the cluster, as [Scheduler.ClusterStatus] tells of them. The store reads the
// jobs of the page, however many there are; for a search, the names up to those. An orphaned job may be told apart from
// the others late, by [Scheduler.CountJobs] as well: when the oldest node was started after it was registered last, and
// after three hours. If only a part of the store does not answer, the jobs in the others come with an error that wraps
// a [*PartsError]. It blocks until the store has answered or ctx ends.
func (s *Scheduler) JobPage(ctx context.Context, q JobQuery) (JobPage, error) {
	page, err := s.jobPage(ctx, q)
	if err != nil {
		err = fmt.Errorf("list a page of the jobs of the cluster: %w", err)
	}
	return page, err
}

func (s *Scheduler) jobPage(ctx context.Context, q JobQuery) (JobPage, error) {
	words, err := searchWords(q.Search)
	if err != nil {
		return JobPage{}, err
	}
	names := ListQuery{State: q.State, Search: words, From: q.From, Back: q.Back, Limit: min(q.Limit, maxPage)}
	list, err := s.listNames(ctx, names)
	if err != nil && !isPartial(err) {
		return JobPage{}, err
	}
	infos, missing := s.clusterStatuses(ctx, list.Jobs)
	if missing != nil && !isPartial(missing) {
		return JobPage{}, missing
	}
	page := JobPage{More: list.More, Before: list.Before}
	page.Jobs = slices.DeleteFunc(infos, func(st Status) bool { return q.State == StateOrphaned && !st.Orphaned })
	return page, errors.Join(err, missing)
}

// listNames lists the names of jobs in any state.
func (s *Scheduler) listNames(ctx context.Context, q ListQuery) (list ListPage, err error) {
	ctx, cancel := s.reads.briefly(ctx)
	defer cancel()
	switch q.State {
	case StateRunning:
		return s.listRunning(ctx, q)
	case StateOrphaned:
		q.State = StateAny
		if q.UnseenSince, err = s.unseenSince(ctx); err != nil {
			return list, err
		}
	}
	return s.cfg.Store.List(ctx, q)
}

// listRunning lists the jobs of which runs are in flight.
func (s *Scheduler) listRunning(ctx context.Context, q ListQuery) (ListPage, error) {
	flights, missing := s.cfg.Store.InFlight(ctx)
	if missing != nil && !isPartial(missing) {
		return ListPage{}, missing
	}
	running := make(map[string]bool)
	for _, p := range flights {
		if !strings.HasPrefix(p.Run.Job, HandlerPrefix) {
			running[p.Run.Job] = true
		}
	}
	names := slices.Sorted(maps.Keys(running))
	var views map[string]JobView
	if q.Searches() {
		var err error
		if views, err = s.reads.look(ctx, names); err != nil && !isPartial(err) {
			return ListPage{}, err
		}
		missing = errors.Join(missing, err)
	}
	before := len(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return q.From != "" && (q.Back && name >= q.From || !q.Back && name <= q.From)
	})
	if before -= len(names); q.Back {
		before = 0
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		spec := views[name].Spec
		return q.Searches() && !q.Finds(spec.text(name), time.Time{})
	})
	return q.Page(names, before), missing
}

// text is what a search for a job looks into.
func (s *JobSpec) text(job string) string {
	if d := s.newest(func(string) bool { return true }); d != nil {
		return SearchText(&d.Definition)
	}
	return SearchText(&Definition{Job: job})
}

// unseenTime is how long a node goes without registering its jobs, at most: it does every registerTime, unless the
// store is away.
const unseenTime = 3 * registerTime

// unseenSince is the latest time since when all living nodes have registered all of their jobs.
func (s *Scheduler) unseenSince(ctx context.Context) (time.Time, error) {
	nodes, err := s.cfg.Store.Nodes(ctx)
	now, living := s.oneOffPart().clock.now(), s.reads.living(nodes)
	since := now.Add(unseenTime) // of nobody's jobs
	for _, n := range nodes {
		if living[n.Session] != "" && n.Started.Before(since) {
			since = n.Started
		}
	}
	if earliest := now.Add(-unseenTime); len(living) > 0 && since.Before(earliest) {
		since = earliest
	}
	return since, err
}

// CountJobs counts the jobs of the cluster without reading them; JobCount.Unseen are those that no node has. If only a
// part of the store does not answer, the number of the jobs in the others comes with an error that wraps a
// [*PartsError]; if that is the part with the list of nodes, Unseen is 0. It blocks until the store has answered or ctx
// ends.
func (s *Scheduler) CountJobs(ctx context.Context) (JobCount, error) {
	briefly, cancel := s.reads.briefly(ctx)
	defer cancel()
	since, missing := s.unseenSince(briefly)
	if missing != nil {
		since, missing = time.Time{}, s.reads.ofOneOffPart(missing)
	}
	if missing != nil && !isPartial(missing) {
		return JobCount{}, fmt.Errorf("count the jobs of the cluster: %w", missing)
	}
	n, err := s.cfg.Store.Count(ctx, since)
	if err = joinPartial(missing, err); err != nil {
		err = fmt.Errorf("count the jobs of the cluster: %w", err)
	}
	return n, err
}

// LatestJobs returns the jobs and handlers of which a record was kept last, the latest first, limit at most. If only a
// part of the store does not answer, those in the others come with an error that wraps a [*PartsError]. It blocks until
// the store has answered or ctx ends.
func (s *Scheduler) LatestJobs(ctx context.Context, limit int) ([]LatestRecord, error) {
	latest, err := s.cfg.Store.Latest(ctx, limit)
	if err != nil {
		err = fmt.Errorf("list the %d jobs that ran last: %w", limit, err)
	}
	return latest, err
}

// MostMissed returns the jobs that have missed the most ticks, limit at most. If only a part of the store does not
// answer, those in the others come with an error that wraps a [*PartsError]. It blocks until the store has answered or
// ctx ends.
func (s *Scheduler) MostMissed(ctx context.Context, limit int) ([]Status, error) {
	briefly, cancel := s.reads.briefly(ctx)
	names, missing := s.cfg.Store.MostMissed(briefly, limit)
	cancel()
	if missing != nil {
		missing = fmt.Errorf("list the %d jobs that missed the most ticks: %w", limit, missing)
	}
	if missing != nil && !isPartial(missing) {
		return nil, missing
	}
	all, err := s.clusterStatuses(ctx, names)
	return all, joinPartial(missing, err)
}
