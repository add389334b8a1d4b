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
	// words that must be part of a job's name, program, timing or what that says in words; see [SearchText]. Up to 10
	// words of 200 bytes in all: the store compares them with every name.
	Search string
	From   string // jobs after this one; "": from the first one on
	Back   bool   // the last ones before From in its place; From "": those at the end
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
	Before int  // how many jobs of the state come before the page; -1 if nobody has counted them
}

// JobPage returns a page of the jobs of the cluster, as [Scheduler.ClusterStatus] tells of them. The store reads the
// jobs of the page, however many there are; for a search, the names up to those. An orphaned job may be told apart from
// the others late, by [Scheduler.CountJobs] as well: when the oldest node was started after it was registered last, and
// after three hours. It blocks until the store has answered or ctx ends.
func (s *Scheduler) JobPage(ctx context.Context, q JobQuery) (JobPage, error) {
	page, err := s.jobPage(ctx, q)
	if err != nil {
		return JobPage{}, fmt.Errorf("list a page of the jobs of the cluster: %w", err)
	}
	return page, nil
}

func (s *Scheduler) jobPage(ctx context.Context, q JobQuery) (JobPage, error) {
	words, err := searchWords(q.Search)
	if err != nil {
		return JobPage{}, err
	}
	names := ListQuery{State: q.State, Search: words, From: q.From, Back: q.Back, Limit: min(q.Limit, maxPage)}
	var list ListPage
	switch q.State {
	case StateRunning:
		list, err = s.listRunning(ctx, names)
	case StateOrphaned:
		names.State = StateAny
		if names.UnseenSince, err = s.unseenSince(ctx); err == nil {
			list, err = s.cfg.Store.List(ctx, names)
		}
	default:
		list, err = s.cfg.Store.List(ctx, names)
	}
	if err != nil {
		return JobPage{}, err
	}
	page := JobPage{More: list.More, Before: list.Before}
	infos, err := s.clusterStatuses(ctx, list.Jobs)
	page.Jobs = slices.DeleteFunc(infos, func(st Status) bool { return q.State == StateOrphaned && !st.Orphaned })
	return page, err
}

// listRunning lists the jobs of which runs are in flight.
func (s *Scheduler) listRunning(ctx context.Context, q ListQuery) (ListPage, error) {
	flights, err := s.cfg.Store.InFlight(ctx)
	if err != nil {
		return ListPage{}, err
	}
	running := make(map[string]bool)
	for _, p := range flights {
		if !strings.HasPrefix(p.Run.Job, HandlerPrefix) {
			running[p.Run.Job] = true
		}
	}
	names := slices.Sorted(maps.Keys(running))
	texts := make(map[string]string)
	for batch := range slices.Chunk(names, listBatch) {
		if !q.Searches() {
			break
		}
		view, err := s.cfg.Store.Look(ctx, batch)
		if err != nil {
			return ListPage{}, err
		}
		for i := range view.Jobs {
			texts[batch[i]] = view.Jobs[i].Spec.text(batch[i])
		}
	}
	before := len(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return q.From != "" && (q.Back && name >= q.From || !q.Back && name <= q.From)
	})
	if before -= len(names); q.Back {
		before = 0
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return q.Searches() &&
			!q.Finds(texts[name], time.Time{})
	})
	return q.Page(names, before), nil
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
	now, living := s.oneOffPart().clock.now(), s.living(nodes)
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

// CountJobs counts the jobs of the cluster without reading them; JobCount.Unseen are those that no node has. It blocks
// until the store has answered or ctx ends.
func (s *Scheduler) CountJobs(ctx context.Context) (JobCount, error) {
	since, err := s.unseenSince(ctx)
	if err != nil {
		return JobCount{}, fmt.Errorf("count the jobs of the cluster: %w", err)
	}
	n, err := s.cfg.Store.Count(ctx, since)
	if err != nil {
		return JobCount{}, fmt.Errorf("count the jobs of the cluster: %w", err)
	}
	return n, nil
}

// LatestJobs returns the jobs and handlers of which a record was kept last, the latest first, limit at most. It blocks
// until the store has answered or ctx ends.
func (s *Scheduler) LatestJobs(ctx context.Context, limit int) ([]LatestRecord, error) {
	latest, err := s.cfg.Store.Latest(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("list the %d jobs that ran last: %w", limit, err)
	}
	return latest, nil
}

// MostMissed returns the jobs that have missed the most ticks, limit at most. It blocks until the store has answered or
// ctx ends.
func (s *Scheduler) MostMissed(ctx context.Context, limit int) ([]Status, error) {
	names, err := s.cfg.Store.MostMissed(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("list the %d jobs that missed the most ticks: %w", limit, err)
	}
	return s.clusterStatuses(ctx, names)
}
