package jobs

import (
	"context"
	"fmt"
)

// owner returns the program whose nodes are to make a run that somebody asks for. The error is ErrOrphaned if none of
// the living nodes has the job, though there are some, and ErrOtherProgram if this scheduler has one of that name, and
// the nodes that have it are of another program: whoever asks here may mean either.
func (s *Scheduler) owner(ctx context.Context, spec *JobSpec) (program string, err error) {
	own := s.entry(spec.Job)
	here, _, done := s.here(spec.Job)
	done()
	if here != nil && spec.Offers[s.session] > 0 {
		return s.cfg.Program, nil
	}
	living, err := s.livingFor(ctx, spec)
	if err != nil {
		return "", err
	}
	newest := spec.newest(func(session string) bool { return living[session] != "" })
	switch {
	case newest != nil && own != nil && newest.Definition.Program != s.cfg.Program:
		return "", s.refusal(own, newest.Definition.Program)
	case newest != nil:
		return newest.Definition.Program, nil
	case here != nil: // the store has not yet heard of it, or has lost that
		return s.cfg.Program, nil
	case len(living) > 0:
		return "", ErrOrphaned
	case own != nil:
		return s.cfg.Program, nil
	case len(spec.Defs) > 0:
		return spec.Defs[len(spec.Defs)-1].Definition.Program, nil
	}
	return "", nil
}

// livingFor are the sessions that live, with some name. A scheduler that runs knows from its last heartbeat in the part
// with the job. Where the list of nodes is in another part, which is away, all that have offered the job are taken to
// live.
func (s *Scheduler) livingFor(ctx context.Context, spec *JobSpec) (map[string]string, error) {
	p, living := s.partOf(spec.Job), make(map[string]string)
	s.mu.Lock()
	if s.state == started {
		for _, session := range p.peers {
			living[session] = "a peer"
		}
	}
	s.mu.Unlock()
	if len(living) > 0 {
		return living, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	known, err := s.reads.livingNodes(ctx)
	if err == nil || p == s.oneOffPart() {
		return known, err
	}
	for session := range spec.Offers {
		living[session] = "unknown"
	}
	return living, nil
}

// isOurs reports whether this node is known to have a job: the store has taken its offer. It needs Scheduler.mu.
func (e *entry) isOurs() bool { return e.version != 0 && e.refused == "" }

// refusal says why a job is not run by this node: another program has it.
func (s *Scheduler) refusal(e *entry, program string) error {
	what, field := fmt.Sprintf("job %q", e.job.Name), "Job"
	if e.handler != nil {
		what, field = fmt.Sprintf("handler %q", e.job.Name[len(HandlerPrefix):]), "Handler"
	}
	return fmt.Errorf("%s: %w: program %q has it, and this one is %q; give one of them another %s.Name, or each program "+
		"a namespace of its own (lockrt.Config.Namespace)", what, ErrOtherProgram, program, s.cfg.Program, field)
}
