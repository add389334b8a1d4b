package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// patience bounds what a test waits for. It is no measure of speed.
const patience = 2 * time.Minute

// command is the example as a process.
type command struct {
	t      *testing.T
	cmd    *exec.Cmd
	tmp    string
	lines  chan string // standard output, closed at its end
	stderr *os.File    // read end: it ends when the process and all its nodes are gone
	log    testsync.Log
}

// startCommand runs the example with the given flags and a free port for its page.
func startCommand(t *testing.T, args ...string) *command {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	c := &command{t: t, tmp: t.TempDir(), lines: make(chan string, 10_000), stderr: read}
	c.cmd = exec.Command(os.Args[0], append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	c.cmd.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+c.tmp)
	c.cmd.Stderr = write
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			fmt.Fprintln(&c.log, scanner.Text())
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		for range c.lines {
		}
		c.cmd.Wait()
		read.Close()
		if t.Failed() {
			t.Logf("the command printed:\n%s", c.log.String())
		}
	})
	return c
}

// await returns the groups of the first line that matches.
func (c *command) await(pattern string) []string {
	c.t.Helper()
	re, timeout := regexp.MustCompile(pattern), time.After(patience)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the output ended without %s", pattern)
			}
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
		case <-timeout:
			c.t.Fatalf("no line matches %s", pattern)
		}
	}
}

// allGone reads standard error, which the nodes share, to its end. It returns
// what was written there once no process is left that could write.
func (c *command) allGone() string {
	c.t.Helper()
	c.stderr.SetReadDeadline(time.Now().Add(patience))
	text, err := io.ReadAll(c.stderr)
	if err != nil {
		c.t.Errorf("processes are left: %v", err)
	}
	if c.t.Failed() {
		c.t.Logf("standard error:\n%s", text)
	}
	return string(text)
}

// finish waits for the end of the command and all its nodes.
func (c *command) finish() (exit int, stderr string) {
	c.t.Helper()
	stderr = c.allGone()
	for range c.lines {
	}
	c.cmd.Wait()
	if left, _ := os.ReadDir(c.tmp); len(left) > 0 {
		c.t.Errorf("left in its temporary directory: %v", left)
	}
	return c.cmd.ProcessState.ExitCode(), stderr
}

var summaryLine = regexp.MustCompile(`^ticks=(\d+) runs=(\d+) duplicates=(\d+) missed=(\d+) lost=(\d+)$`)

type summary struct{ ticks, runs, duplicates, missed, lost int }

// lastLine parses the summary, which must be the last line, alone on it.
func (c *command) lastLine() (s summary) {
	c.t.Helper()
	return parseSummary(c.t, c.log.String())
}

func parseSummary(t *testing.T, output string) (s summary) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := lines[len(lines)-1]
	if !summaryLine.MatchString(last) {
		t.Fatalf("the last line is no summary: %q in\n%s", last, output)
	}
	fmt.Sscanf(last, "ticks=%d runs=%d duplicates=%d missed=%d lost=%d", &s.ticks, &s.runs, &s.duplicates, &s.missed,
		&s.lost)
	return s
}
