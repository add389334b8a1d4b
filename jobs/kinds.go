package jobs

import (
	"errors"
	"fmt"
	"slices"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// This file knows locks that a run holds together with other runs: to read, or by one of several permits.

// namesKeys reports whether the job says which locks it holds.
func (j *Job) namesKeys() bool {
	return len(j.Keys) > 0 || j.KeysFunc != nil || len(j.Each) > 0 || j.EachFunc != nil
}

// keysProblem is an error if the job says more than once which locks it holds.
func (j *Job) keysProblem() error {
	given := 0
	for _, is := range []bool{len(j.Keys) > 0, j.KeysFunc != nil, len(j.Each) > 0, j.EachFunc != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return fmt.Errorf("it has more than one of Keys %q, KeysFunc, Each and EachFunc: keep one of them", j.Keys)
	}
	return nil
}

// keyTexts are the keys of Keys or of Each.
func (j *Job) keyTexts() []string {
	texts := slices.Clone(j.Keys)
	for _, k := range j.Each {
		texts = append(texts, k.Key)
	}
	return texts
}

// known are the locks of the job, as far as they are known when it is added. The keys of functions are empty.
func (j *Job) known() []lockrt.KeyOptions {
	if len(j.Each) > 0 || j.EachFunc != nil {
		return j.Each
	}
	if j.Overlap == OverlapAllow && !j.namesKeys() {
		return nil
	}
	return j.inOneWay(append(slices.Clone(j.Keys), make([]string, max(0, 1-len(j.Keys)))...))
}

// inOneWay are keys that are held as Lock says.
func (j *Job) inOneWay(keys []string) []lockrt.KeyOptions {
	all := make([]lockrt.KeyOptions, len(keys))
	for i, key := range keys {
		all[i] = lockrt.KeyOptions{Key: key, Mode: j.Lock.Mode, Permits: j.Lock.Permits}
	}
	return all
}

// shares reports whether a lock is held together with others.
func shares(k lockrt.KeyOptions) bool { return k.Mode != lockrt.Write || k.Permits > 0 }

// kindProblems is what makes no sense of Mode and Permits in a job.
func (j *Job) kindProblems() (errs []error) {
	each := len(j.Each) > 0 || j.EachFunc != nil
	if each && (j.Lock.Mode != lockrt.Write || j.Lock.Permits != 0) {
		errs = append(errs, fmt.Errorf("Lock has Mode %s and Permits %d, and Each has its own for every key: set them there",
			j.Lock.Mode, j.Lock.Permits))
	}
	known := j.known()
	if !each && len(known) == 0 && (j.Lock.Mode != lockrt.Write || j.Lock.Permits != 0) {
		errs = append(errs, fmt.Errorf("Lock has Mode %s and Permits %d, and with Overlap allow and without Keys there is no lock: "+
			"name Keys, or use skip or queue", j.Lock.Mode, j.Lock.Permits))
	}
	for i, k := range known {
		errs = append(errs, kindProblem(k))
		same := func(other lockrt.KeyOptions) bool { return other.Key == k.Key && other.Permits != k.Permits }
		if at := slices.IndexFunc(known[:i], same); at >= 0 {
			errs = append(errs, fmt.Errorf("the lock %q is named with Permits %d and with %d: one key has one number of them, or none",
				k.Key, known[at].Permits, k.Permits))
		}
	}
	if j.Lock.MinHold > 0 && slices.ContainsFunc(known, func(k lockrt.KeyOptions) bool { return k.Mode == lockrt.Read }) {
		errs = append(errs, fmt.Errorf("Lock.MinHold is %s and a lock is held to read: a reader that is gone would keep writers "+
			"away", j.Lock.MinHold))
	}
	return append(errs, j.overlapProblem(known))
}

func kindProblem(k lockrt.KeyOptions) error {
	switch {
	case k.Mode > lockrt.Read:
		return fmt.Errorf("the lock %q has Mode %s: use lockrt.Write or lockrt.Read", k.Key, k.Mode)
	case k.Permits < 0 || k.Permits > 1000:
		return fmt.Errorf("the lock %q has Permits %d: use 1 to 1000, or 0 for a lock that one run holds at a time", k.Key,
			k.Permits)
	case k.Permits > 0 && k.Mode != lockrt.Write:
		return fmt.Errorf("the lock %q has Permits %d and Mode %s: a key has readers and writers, or permits", k.Key, k.Permits,
			k.Mode)
	}
	return nil
}

// overlapProblem is an error if Overlap says what the locks cannot do.
func (j *Job) overlapProblem(known []lockrt.KeyOptions) error {
	permits := slices.ContainsFunc(known, func(k lockrt.KeyOptions) bool { return k.Permits > 0 })
	switch {
	case j.Overlap == OverlapReplace && slices.ContainsFunc(known, shares):
		return errors.New("Overlap is replace, which takes a lock from its holder, and one of its locks has several: use skip " +
			"or queue")
	case j.Overlap == OverlapAllow && permits:
		return errors.New("Overlap is allow, which bounds nothing, and Permits bound how many runs there are at a time: use skip " +
			"or queue")
	case j.Overlap != OverlapAllow && len(known) > 0 &&
		!slices.ContainsFunc(known, func(k lockrt.KeyOptions) bool { return k.Mode != lockrt.Read }):
		return errors.New("its locks are all held to read, so nothing keeps its runs apart: set Overlap to allow, or add a lock " +
			"of the job's own")
	}
	return nil
}

// sharing reports whether some lock of the job is certainly held together with others.
func (j *Job) sharing() bool { return slices.ContainsFunc(j.known(), shares) }

// concurrent reports whether several runs of the job may happen at a time: no lock of it is held alone.
func (j *Job) concurrent() bool {
	known := j.known()
	return len(known) > 0 && !slices.ContainsFunc(known, func(k lockrt.KeyOptions) bool { return !shares(k) })
}

// textsOf are the keys of locks.
func textsOf(locks []lockrt.KeyOptions) []string {
	texts := make([]string, len(locks))
	for i, k := range locks {
		texts[i] = k.Key
	}
	return texts
}
