// Bench measures whole runs of lockgen beside moq and mockgen, which generate for the same packages: a module of its
// own with one directive and one interface in each package. Absolute times mean little on a shared machine, so the
// tools take turns, and the table shows medians, their spread, and ratios to lockgen in the same round.
//
//	cd cmd/lockgen/bench && go run . [-rounds 5] [-cold 2] [-packages 40] [-scenario text]
//
// RESULTS.md holds what came of it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := benchmark(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func benchmark(args []string, out io.Writer) error {
	var size sizes
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&size.rounds, "rounds", 5, "how often each scenario runs with a warm build cache")
	flags.IntVar(&size.cold, "cold", 2, "how often with an empty one; 0 leaves these out")
	flags.IntVar(&size.packages, "packages", 40, "size of the module")
	only := flags.String("scenario", "", "run those with this text in their name; empty runs all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return run(out, size, *only)
}

// sizes say how much is measured.
type sizes struct{ rounds, cold, packages int }

func run(w io.Writer, size sizes, only string) error {
	dir, err := os.MkdirTemp("", "lockgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	b := &bench{out: w, dir: dir, bin: filepath.Join(dir, "bin"), module: filepath.Join(dir, "module")}
	if err := b.build(); err != nil {
		return err
	}
	if err := writeModule(b.module, size.packages); err != nil {
		return err
	}
	fmt.Fprintf(w, "%-34s %-9s %10s %21s %9s\n", "scenario", "tool", "median", "fastest … slowest", "ratio")
	for _, s := range scenarios(size.packages) {
		n := size.rounds
		if s.cold {
			n = size.cold
		}
		if !strings.Contains(s.name, only) {
			continue
		}
		if err := b.measure(s, n); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

type bench struct {
	out              io.Writer
	dir, bin, module string
}

var commands = []string{"github.com/lockgen/lockgen/cmd/lockgen", "github.com/matryer/moq", "go.uber.org/mock/mockgen"}

// build makes the three commands, at the versions of go.mod.
func (b *bench) build() error {
	for _, path := range commands {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(b.bin, filepath.Base(path)),
			path).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", path, err, out)
		}
	}
	return nil
}

// measure lets the tools of a scenario take turns.
func (b *bench) measure(s scenario, rounds int) error {
	if rounds == 0 {
		return nil
	}
	times := make([][]time.Duration, len(s.tools))
	for round := range rounds + 1 {
		for i, tool := range s.tools {
			took, err := b.once(s, tool)
			if err != nil {
				return fmt.Errorf("%s: %w", tool.name, err)
			}
			if round > 0 || s.cold { // the first one warms the caches
				times[i] = append(times[i], took)
			}
		}
		if s.cold && round+1 == rounds {
			break
		}
	}
	for i, tool := range s.tools {
		var ratios []float64
		for round, took := range times[i] {
			ratios = append(ratios, float64(took)/float64(times[0][round]))
		}
		slices.Sort(times[i])
		slices.Sort(ratios)
		all := times[i]
		fmt.Fprintf(b.out, "%-34s %-9s %10s %10s … %8s %8.1f×\n",
			s.name, tool.name, short(all[len(all)/2]), short(all[0]), short(all[len(all)-1]), ratios[len(ratios)/2])
	}
	return nil
}

func short(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

// once runs one tool the way a user does: as many processes, one after the other, as it needs for the packages.
func (b *bench) once(s scenario, t tool) (time.Duration, error) {
	if !s.keep {
		if err := removeOutputs(b.module); err != nil {
			return 0, err
		}
	}
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if s.cold {
		cache, err := os.MkdirTemp(b.dir, "cache")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(cache)
		env = append(env, "GOCACHE="+cache)
	}
	start := time.Now()
	for _, c := range t.commands {
		cmd := exec.Command(filepath.Join(b.bin, c.args[0]), c.args[1:]...)
		cmd.Dir, cmd.Env = filepath.Join(b.module, c.dir), env
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%v in %s: %w\n%s", c.args, c.dir, err, out)
		}
	}
	return time.Since(start), nil
}
