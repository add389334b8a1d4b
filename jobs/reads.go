package jobs

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/parallel"
)

// reads asks the store about the whole cluster: each part of it beside the others, and of what is large a bit at a
// time. It changes nothing, and nothing changes it.
type reads struct {
	store Store
	parts int
	lease time.Duration    // of a session
	now   func() time.Time // on the clock of the part with the nodes and the one-off jobs
}

func (r *reads) oneOffPart() int { return r.store.PartOf(HandlerPrefix) }

// look looks at many jobs, and at those of each part of the store beside the others.
func (r *reads) look(ctx context.Context, jobs []string) (map[string]JobView, error) {
	return byPart(ctx, r, jobs, func(ctx context.Context, batch []string) ([]JobView, error) {
		view, err := r.store.Look(ctx, batch)
		return view.Jobs, err
	})
}

// runs reads the records of many jobs, those of each part of the store beside the others.
func (r *reads) runs(ctx context.Context, jobs []string, limit int) (map[string][]Run, error) {
	return byPart(ctx, r, jobs, func(ctx context.Context, batch []string) ([][]Run, error) {
		return r.store.Runs(ctx, batch, limit)
	})
}

// byPart asks a question about many jobs, about those of each part of the store beside the others. Where a part does
// not answer it returns what the others say as well.
func byPart[T any](
	ctx context.Context, r *reads, jobs []string, ask func(context.Context, []string) ([]T, error),
) (map[string]T, error) {
	names := make([][]string, r.parts)
	for _, job := range jobs {
		at := r.store.PartOf(job)
		names[at] = append(names[at], job)
	}
	answers, failed := make([]map[string]T, r.parts), make([]error, r.parts)
	calls := make([]func(context.Context), r.parts)
	for at := range calls {
		answers[at] = make(map[string]T, len(names[at]))
		calls[at] = func(ctx context.Context) {
			ctx, cancel := r.briefly(ctx)
			defer cancel()
			for batch := range slices.Chunk(names[at], listBatch) {
				answer, err := ask(ctx, batch)
				if failed[at] = err; err != nil {
					return
				}
				for i, about := range answer {
					answers[at][batch[i]] = about
				}
			}
		}
	}
	parallel.Do(ctx, calls...)
	found := make(map[string]T, len(jobs))
	for _, some := range answers {
		maps.Copy(found, some)
	}
	return found, PartsErrorOf(failed)
}

// listBatch is how many jobs are read at a time where all are wanted.
const listBatch = 1000

// names are the names of all jobs in some states, and of those of which only a run or a one-off job is left.
// Where parts of the store do not answer it returns those in the others as well.
func (r *reads) names(ctx context.Context, states ...JobState) ([]string, error) {
	found, errs := make([]map[string]bool, len(states)+1), make([]error, len(states)+1)
	calls := []func(context.Context){func(ctx context.Context) { found[0], errs[0] = r.leftovers(ctx) }}
	for i, state := range states {
		calls = append(calls, func(ctx context.Context) { found[i+1], errs[i+1] = r.namesIn(ctx, state) })
	}
	parallel.Do(ctx, calls...)
	names := make(map[string]bool)
	for _, some := range found {
		maps.Copy(names, some)
	}
	return slices.Sorted(maps.Keys(names)), errors.Join(errs...)
}

// namesIn are the names of the jobs in a state.
func (r *reads) namesIn(ctx context.Context, state JobState) (map[string]bool, error) {
	names := make(map[string]bool)
	var missing error
	for q := (ListQuery{State: state, Limit: listBatch}); ; {
		callCtx, cancel := r.briefly(ctx)
		page, err := r.store.List(callCtx, q)
		cancel()
		if err != nil && state == StateHandler {
			err = r.ofOneOffPart(err)
		}
		if err != nil && !isPartial(err) {
			return nil, err
		}
		for _, job := range page.Jobs {
			names[job] = true
		}
		if err != nil {
			missing, q.Limit = err, math.MaxInt32 // all others at once: each call waits for what is missing
		}
		if !page.More || len(page.Jobs) == 0 {
			return names, missing
		}
		q.From = page.Jobs[len(page.Jobs)-1]
	}
}

// briefly bounds a call of several that follow each other, if a part of the store may keep it waiting.
func (r *reads) briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.parts == 1 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, storeTimeout)
}

// livingNodes are the names of the nodes that live, by session.
func (r *reads) livingNodes(ctx context.Context) (map[string]string, error) {
	ctx, cancel := r.briefly(ctx)
	defer cancel()
	nodes, err := r.store.Nodes(ctx)
	if err != nil {
		return nil, r.ofOneOffPart(err)
	}
	return r.living(nodes), nil
}

// ofOneOffPart makes an error of a call about the part of the one-off jobs one that says so, unless that is all of the
// store.
func (r *reads) ofOneOffPart(err error) error {
	if err == nil || r.parts == 1 {
		return err
	}
	return &PartsError{Parts: []int{r.oneOffPart()}, Of: r.parts, Err: err}
}

// leftoverLimit is how many one-off jobs that wait are looked at for handlers that no node has.
const leftoverLimit = 10_000

// leftovers are the jobs and handlers that runs in flight and one-off jobs name.
func (r *reads) leftovers(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := r.briefly(ctx)
	defer cancel()
	var flights []InFlight
	var waiting []OneOff
	var errs [2]error
	parallel.Do(ctx,
		func(ctx context.Context) { flights, errs[0] = r.store.InFlight(ctx) },
		func(ctx context.Context) {
			waiting, errs[1] = r.store.Waiting(ctx, leftoverLimit)
			errs[1] = r.ofOneOffPart(errs[1])
		})
	left := make(map[string]bool)
	for _, p := range flights {
		left[p.Run.Job] = true
	}
	for _, o := range waiting {
		left[HandlerPrefix+o.Handler] = true
	}
	return left, errors.Join(errs[:]...)
}

// living are the names of the nodes that have given a sign of life lately, by session.
func (r *reads) living(nodes []Node) map[string]string {
	now, living := r.now(), make(map[string]string)
	for _, n := range nodes {
		if now.Sub(n.Heartbeat) <= r.lease {
			living[n.Session] = n.Name
		}
	}
	return living
}
