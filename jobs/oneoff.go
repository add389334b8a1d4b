package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/spread"
)

// Handler does the work of one-off jobs. Each call of [Scheduler.At] names a handler.
type Handler struct {
	// Name identifies the handler in the store, as Job.Name does a job. Required, up to 200 bytes. Its runs are
	// recorded under "one-off:" + Name.
	Name string
	// Run is the work. Its context carries the lease of the lock "one-off:" + id, and is otherwise like that of
	// Job.Run. Required.
	Run func(ctx context.Context, id string, payload []byte) error
	// Timeout ends the context of a run after this time. Defaults to none.
	Timeout time.Duration
	// Retries is how many more times a one-off job is tried; see Job.Retries. Defaults to none.
	Retries int
}

const (
	maxOneOffID = 200
	maxPayload  = 16 << 10
	maxYear     = 9999 // the last one that a record can hold
)

// AddHandler adds a handler, before or during [Scheduler.Run]. One-off jobs go to nodes that have their handler, and
// wait while there is none. The error names everything that is wrong with h.
func (s *Scheduler) AddHandler(h Handler) error {
	e, err := h.prepare(s.cfg.Location)
	if err != nil {
		return err
	}
	return s.addEntry(e, "add handler", h.Name)
}

func (h Handler) prepare(zone *time.Location) (*entry, error) {
	var errs []error
	if h.Name == "" {
		errs = append(errs, errors.New("it has no Name: give it one that all versions of the program share"))
	}
	if len(h.Name) > maxName {
		errs = append(errs, fmt.Errorf("its Name has %d bytes: use %d at most", len(h.Name), maxName))
	}
	if !isText(h.Name) {
		errs = append(errs, fmt.Errorf("its Name %q holds a control character or a format character, or is not UTF-8: "+
			"use printable text", brief(h.Name)))
	}
	if h.Run == nil {
		errs = append(errs, errors.New("it has no Run: set the function to call"))
	}
	if h.Timeout < 0 || h.Retries < 0 {
		errs = append(errs, fmt.Errorf("Timeout %s, Retries %d: none may be negative", h.Timeout, h.Retries))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("add handler %q: %w", brief(h.Name), errors.Join(errs...))
	}
	j := Job{Name: HandlerPrefix + h.Name, Timeout: h.Timeout, Retries: h.Retries, Overlap: OverlapQueue}
	j.defaults()
	return &entry{job: j, handler: h.Run, zone: zone, lock: j.lockOptions(), hash: spread.Hash(j.Name)}, nil
}

// At schedules one call of a handler at a time, on any node that has the handler: at least once if the handler has
// Retries, otherwise at most once. The store keeps the job until then. A time in the past means now; the zero time is an
// error, as are years before 1 and after 9999. The id is unique
// among all one-off jobs of all handlers. Calling At again with the same id does nothing while the job waits, and for a
// day after it has run. payload is at most 16 KiB and is shown in records. If no node has the handler, the job waits,
// which is logged, and is recorded as skipped a week after its time. The error wraps ErrOtherProgram if another program
// has the handler and this scheduler has a handler of the same name. It blocks until the store has answered or ctx
// ends.
func (s *Scheduler) At(ctx context.Context, handler, id string, at time.Time, payload []byte) error {
	if err := oneOffProblem(handler, id, at, payload); err != nil {
		return fmt.Errorf("add one-off job %q: %w", brief(id), err)
	}
	if err := s.refuseHandler(ctx, handler); err != nil {
		return fmt.Errorf("add one-off job %q: %w", brief(id), err)
	}
	o := OneOff{ID: id, Handler: handler, At: at.UTC().Truncate(time.Microsecond), Payload: payload}
	if err := s.cfg.Store.Put(ctx, o); err != nil {
		return fmt.Errorf("add one-off job %q: %w", brief(id), err)
	}
	s.memory.noteOneOff(o)
	s.oneOffPart().expect([]OneOff{o}) // without waiting for the next heartbeat
	s.warnOfHandler(ctx, o)
	return nil
}

// oneOffProblem says what is wrong with a one-off job, nil if nothing is.
func oneOffProblem(handler, id string, at time.Time, payload []byte) error {
	const odd = "holds a control character or a format character, or is not UTF-8: use printable text"
	switch {
	case handler == "":
		return errors.New("the handler's name is empty: name one that a node adds with AddHandler")
	case len(handler) > maxName:
		return fmt.Errorf("the handler's name has %d bytes (%q): use %d at most", len(handler), brief(handler), maxName)
	case !isText(handler):
		return fmt.Errorf("the handler's name %q %s", handler, odd)
	case id == "":
		return errors.New("its id is empty: name the job")
	case len(id) > maxOneOffID:
		return fmt.Errorf("its id has %d bytes: use %d at most", len(id), maxOneOffID)
	case !isText(id):
		return errors.New("its id " + odd)
	case len(payload) > maxPayload:
		return fmt.Errorf("its payload has %d bytes: use %d at most, keep what is larger elsewhere and name it",
			len(payload), maxPayload)
	case at.UTC().Year() < 1 || at.UTC().Year() > maxYear:
		return fmt.Errorf("its time is in the year %d: say one up to %d; is its unit right?", at.UTC().Year(), maxYear)
	case at.IsZero():
		return errors.New("its time is zero: say when")
	}
	return nil
}

// refuseHandler returns ErrOtherProgram for a handler of this scheduler whose name another program has.
func (s *Scheduler) refuseHandler(ctx context.Context, handler string) error {
	s.mu.Lock()
	e := s.entries[HandlerPrefix+handler]
	fine := e == nil || e.isOurs()
	s.mu.Unlock()
	if fine {
		return nil
	}
	view, err := s.cfg.Store.Look(ctx, []string{HandlerPrefix + handler})
	if err == nil {
		_, err = s.owner(ctx, &view.Jobs[0].Spec)
	}
	if errors.Is(err, ErrOrphaned) {
		return nil
	}
	return err
}

// warnOfHandler says so if a one-off job is for a handler that nobody has.
func (s *Scheduler) warnOfHandler(ctx context.Context, o OneOff) {
	if s.entry(HandlerPrefix+o.Handler) != nil {
		return
	}
	view, err := s.cfg.Store.Look(ctx, []string{HandlerPrefix + o.Handler})
	if err == nil {
		_, err = s.owner(ctx, &view.Jobs[0].Spec)
	}
	if errors.Is(err, ErrOrphaned) {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "one-off job waits for a handler that no node has",
			slog.String("one_off", o.ID), slog.String("handler", o.Handler), slog.Time("at", o.At))
	}
}

// Withdraw removes a one-off job that waits for its time. The error wraps ErrUnknownRun if no job with this ID waits.
// The job may be running: then use [Scheduler.Cancel]. It blocks until the store has answered or ctx ends.
func (s *Scheduler) Withdraw(ctx context.Context, id string) error {
	err := s.cfg.Store.Withdraw(ctx, id)
	if errors.Is(err, ErrGone) {
		return fmt.Errorf("withdraw one-off job %q: %w: no such job waits for its time", brief(id), ErrUnknownRun)
	}
	if err != nil {
		return fmt.Errorf("withdraw one-off job %q: %w", brief(id), err)
	}
	s.memory.noteOver(id)
	return nil
}

// Waiting returns the one-off jobs that wait for their time, the next first, limit at most. It blocks until the store
// has answered or ctx ends.
func (s *Scheduler) Waiting(ctx context.Context, limit int) ([]OneOff, error) {
	all, err := s.cfg.Store.Waiting(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("list one-off jobs: %w", err)
	}
	return all, nil
}

// Check returns the error with which [Scheduler.At] would refuse a one-off job, nil if it would accept it.
func (o *OneOff) Check() error { return oneOffProblem(o.Handler, o.ID, o.At, o.Payload) }
