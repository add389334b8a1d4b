// Survey runs locklint with all checks over modules and prints a row of the table of modules for each. The go command
// fetches the modules; they are looked at in a copy, since its cache cannot be written to.
//
//	go run ./internal/precision/survey LOCKLINT module@version... > modules.csv
//
// The findings go to standard error, to be labelled.
package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: survey LOCKLINT module@version...")
		os.Exit(2)
	}
	w := csv.NewWriter(os.Stdout)
	for _, module := range os.Args[2:] {
		row, err := look(os.Args[1], module)
		if err != nil {
			fmt.Fprintf(os.Stderr, "survey: %s: %v\n", module, err)
			continue
		}
		w.Write(row)
		w.Flush()
	}
	if err := w.Error(); err != nil {
		fmt.Fprintf(os.Stderr, "survey: %v\n", err)
		os.Exit(1)
	}
}

// look fetches a module, copies it and runs locklint in the copy.
func look(locklint, module string) (row []string, err error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var m struct{ Path, Version, Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil || m.Error != "" {
		return nil, fmt.Errorf("cannot fetch it: %w", errors.Join(err, jsonErr, errors.New(m.Error)))
	}
	dir, err := os.MkdirTemp("", "survey")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dir = filepath.Join(dir, "m")
	if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
		return nil, err
	}
	packages, err := run(dir, "go", "list", "-e", "./...")
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := command(dir, locklint, "-enable", "all", "-json", "./...")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return nil, err
	}
	var report struct{ Findings []json.RawMessage }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil && stdout.Len() > 0 {
		return nil, fmt.Errorf("cannot read what locklint says: %w", err)
	}
	fmt.Fprintf(os.Stderr, "== %s %s\n%s%s", m.Path, m.Version, stderr.Bytes(), stdout.Bytes())
	return []string{m.Path, m.Version, strconv.Itoa(bytes.Count(packages, []byte("\n"))),
		strconv.Itoa(len(report.Findings)),
		strconv.Itoa(cmd.ProcessState.ExitCode()), note(stderr.String())}, nil
}

// note says why locklint could not look at everything, in its first words.
func note(stderr string) string {
	for _, sign := range []string{"panic: ", "goroutine ", "fatal error: "} {
		if strings.Contains(stderr, sign) {
			return "CRASH"
		}
	}
	line, _, _ := strings.Cut(stderr, "\n")
	return strings.TrimPrefix(line, "locklint: ")
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

func run(dir, name string, args ...string) ([]byte, error) {
	out, err := command(dir, name, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}
