//go:build linux

// Speed times go vet with one tool and another on the same packages, in turn, and prints for each the median, the
// spread, and the memory of the largest process.
//
//	go run ./internal/precision/speed -n 5 TOOL OTHER DIR packages...
//
// The go command keeps what a tool says. Each round therefore looks at packages that differ in a comment, by way of an
// overlay; nothing in DIR is written. They are compiled before the clock runs, and both tools have seen all
// dependencies outside of the module: what is timed is the tools at work on the module's own packages, and what the go
// command needs to start them. The go command's own lostcancel is made for this from its library:
//
//	func main() { unitchecker.Main(lostcancel.Analyzer) }
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	n := flag.Int("n", 5, "rounds")
	flag.Parse()
	if flag.NArg() < 4 {
		fmt.Fprintln(os.Stderr, "usage: speed [-n rounds] TOOL OTHER DIR packages...")
		os.Exit(2)
	}
	if err := compare(*n, flag.Args()[:2], flag.Arg(2), flag.Args()[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "speed: %v\n", err)
		os.Exit(1)
	}
}

// A run is what one go vet took.
type run struct {
	seconds float64
	bytes   int64 // of the largest process
}

func compare(n int, tools []string, dir string, patterns []string) error {
	tmp, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	files, err := oneFileEach(dir, patterns)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if _, err := vet(dir, tool, patterns); err != nil {
			return err
		}
	}
	runs := make([][]run, len(tools))
	for round := range n {
		overlay, err := writeOverlay(tmp, files)
		if err != nil {
			return err
		}
		flag := "-overlay=" + overlay
		list := append([]string{"list", "-export", "-deps", "-test", flag}, patterns...)
		if _, err := output(dir, list...); err != nil {
			return err
		}
		for k := range tools {
			i := (k + round) % len(tools)
			r, err := vet(dir, tools[i], append([]string{flag}, patterns...))
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], r)
			fmt.Fprintf(os.Stderr, "round %d, %s: %.2f s\n", round+1, tools[i], r.seconds)
		}
	}
	for i, tool := range tools {
		fmt.Println(summary(tool, runs[i]))
	}
	fmt.Printf("%d packages; ratio of the medians: %.2f\n", len(files), median(runs[0]).seconds/median(runs[1]).seconds)
	return nil
}

// oneFileEach names a file of each package of the module that the patterns match or need.
func oneFileEach(dir string, patterns []string) ([]string, error) {
	const form = `{{with .Module}}{{if .Main}}{{with $.GoFiles}}{{$.Dir}}/{{index . 0}}{{end}}{{end}}{{end}}`
	text, err := output(dir, append([]string{"list", "-deps", "-f", form}, patterns...)...)
	if err != nil {
		return nil, err
	}
	return strings.Fields(text), nil
}

// writeOverlay gives each file a comment that it has never had, and returns the name of the file that says so.
func writeOverlay(dir string, files []string) (string, error) {
	round := time.Now().UnixNano()
	replace := map[string]string{}
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		replace[name] = filepath.Join(dir, fmt.Sprintf("%d-%d.go", round, i))
		if err := os.WriteFile(replace[name], fmt.Appendf(text, "\n// round %d\n", round), 0o666); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, fmt.Sprintf("%d.json", round))
	return name, os.WriteFile(name, text, 0o666)
}

// vet runs go vet. Findings make it fail, which is fine; whatever else fails does so for all tools alike.
func vet(dir, tool string, args []string) (run, error) {
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + tool}, args...)...)
	cmd.Dir = dir
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	start := time.Now()
	err := cmd.Run()
	r := run{seconds: time.Since(start).Seconds()}
	if cmd.ProcessState == nil {
		return r, err
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.bytes = int64(usage.Maxrss) * 1024 // of another size on 32 bits
	}
	return r, nil
}

func output(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func summary(tool string, runs []run) string {
	sorted := bySeconds(runs)
	largest := slices.MaxFunc(runs, func(a, b run) int { return int(a.bytes - b.bytes) }).bytes
	return fmt.Sprintf("%s: median %.2f s (%.2f–%.2f), largest process %d MB", filepath.Base(tool),
		median(runs).seconds, sorted[0].seconds, sorted[len(sorted)-1].seconds, largest>>20)
}

func median(runs []run) run { return bySeconds(runs)[len(runs)/2] }

func bySeconds(runs []run) []run {
	return slices.SortedFunc(slices.Values(runs), func(a, b run) int {
		switch {
		case a.seconds < b.seconds:
			return -1
		case a.seconds > b.seconds:
			return 1
		}
		return 0
	})
}
