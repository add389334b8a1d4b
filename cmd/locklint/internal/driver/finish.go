package driver

import (
	"errors"
	"fmt"
	"io"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// finish does with the findings what the command line asks for: leaves out old ones, fixes, prints. It returns the
// exit code that the rest of them deserves.
func finish(o *options, v *view, stdout, stderr io.Writer) (int, error) {
	list, err := o.without(v.findings, stderr)
	switch {
	case err != nil:
		return exitFailed, err
	case o.writeBaseline:
		return exitClean, writeBaseline(o.baseline, counting(list), stderr)
	case o.diff:
		return o.exitCode(list), printDiff(stdout, list, workingDir())
	}
	var failed error
	if o.fix {
		if v, list, failed, err = o.fixAll(v, list, stderr); err != nil {
			return exitFailed, err
		}
	}
	err = o.print(stdout, list, v.failures)
	if len(v.failures) > 0 {
		return exitFailed, errors.Join(failed, err)
	}
	return o.exitCode(list), errors.Join(failed, err)
}

// without leaves out or marks the findings that are not new, if the command line asks for that.
func (o *options) without(list []finding, stderr io.Writer) ([]finding, error) {
	if o.newFrom != "" {
		changed, err := changedSince(o.newFrom, stderr)
		if err != nil {
			return nil, err
		}
		list = changed.only(list)
	}
	if o.baseline != "" && !o.writeBaseline {
		b, err := readBaseline(o.baseline)
		if err != nil {
			return nil, err
		}
		b.silence(list)
	}
	return list, nil
}

func (o *options) print(w io.Writer, list []finding, failures []string) error {
	var err error
	switch {
	case o.sarif:
		err = printSARIF(w, list, failures)
	case o.json:
		err = printJSON(w, counting(list), failures)
	default:
		err = printText(w, counting(list), o.context)
	}
	if err != nil {
		return fmt.Errorf("cannot print the findings: %w", err)
	}
	return nil
}

// exitCode is 1 if a finding is at least as severe as -fail-on says.
func (o *options) exitCode(list []finding) int {
	for _, f := range counting(list) {
		if rank(f.Severity) >= rank(o.failOn) {
			return exitFindings
		}
	}
	return exitClean
}

// rank orders severities.
func rank(s lockcheck.Severity) int {
	switch s {
	case lockcheck.Error:
		return 3
	case lockcheck.Warning:
		return 2
	case lockcheck.Info:
		return 1
	}
	return 0
}

// fixAll applies fixes and looks again, because they have moved what is left, until no fix is left: those that touch the
// same text wait for each other. If there are as many findings then as there were, it stops. failed says why files could
// not be fixed.
func (o *options) fixAll(v *view, list []finding, stderr io.Writer) (_ *view, left []finding, failed, err error) {
	for {
		before := len(counting(list))
		waiting, failed := fixOnce(list, stderr)
		if failed != nil || len(waiting) == before {
			return v, list, failed, nil
		}
		told := v.failures
		if v, err = look(o); err == nil {
			v.tell(stderr, told)
			list, err = o.without(v.findings, stderr)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("cannot look at what the fixes have made: %w", err)
		}
		if len(counting(list)) >= before {
			return v, list, nil, nil
		}
	}
}

// fixOnce applies the fixes of the findings that count, and returns the findings that are left.
func fixOnce(list []finding, stderr io.Writer) ([]finding, error) {
	count := counting(list)
	changes, left, err := applyFixes(count)
	if err != nil {
		return list, err
	}
	for _, c := range changes {
		if err := c.write(); err != nil {
			return list, fmt.Errorf("cannot fix %s: %w", relative(c.file), err)
		}
	}
	if fixed := len(count) - len(left); fixed > 0 {
		fmt.Fprintf(stderr, "locklint: fixed %d of %d findings in %d files\n", fixed, len(count), len(changes))
	}
	return left, nil
}

// printDiff prints what -fix would do, for patch(1) in a folder.
func printDiff(w io.Writer, list []finding, dir string) error {
	changes, _, err := applyFixes(counting(list))
	if err != nil {
		return err
	}
	for _, c := range changes {
		if _, err := w.Write(c.unified(dir)); err != nil {
			return err
		}
	}
	return nil
}
