// Package clitest checks how the examples answer to their command lines.
package clitest

import (
	"io"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

// Command is an example.
type Command struct {
	Name string
	Run  func(args []string, stdout, stderr io.Writer) (status int)
}

func (c Command) run(line string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = c.Run(strings.Fields(line), &out, &errs)
	return status, out.String(), errs.String()
}

// Refuses fails the test unless each of the command lines is refused with an error that says what is wanted, in one
// line.
func (c Command) Refuses(t *testing.T, wants map[string]string) {
	t.Helper()
	wants["-no-such-flag"] = "-no-such-flag (see -help)"
	wants["run"] = `unexpected argument "run" (see -help)`
	for line, want := range wants {
		status, stdout, stderr := c.run(line)
		begins := strings.HasPrefix(stderr, c.Name+": wrong flags: ") && strings.Count(stderr, "\n") == 1
		if status != cli.Usage || stdout != "" || !begins || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d, want %d, and %q, want %q", line, status, cli.Usage, stderr, want)
		}
	}
}

// Explains fails the test unless the help says what each of the flags is for.
func (c Command) Explains(t *testing.T, flags ...string) {
	t.Helper()
	for _, help := range []string{"-h", "-help"} {
		status, stdout, stderr := c.run(help)
		if status != cli.OK || stderr != "" || !strings.HasPrefix(stdout, "usage: "+c.Name+" ") {
			t.Errorf("%s: exit status %d: %s%s", help, status, stdout, stderr)
		}
		if n := strings.Count(stdout, "\n  -"); n != len(flags) {
			t.Errorf("%s explains %d flags, want %d:\n%s", help, n, len(flags), stdout)
		}
		for _, name := range flags {
			if !strings.Contains(stdout, "\n  "+name) {
				t.Errorf("%s does not explain %s:\n%s", help, name, stdout)
			}
		}
	}
}

// Hides fails the test if the command prints a secret, whatever it says about command lines that it cannot run.
func (c Command) Hides(t *testing.T, secret string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		status, stdout, stderr := c.run(line)
		if text := stdout + stderr; status == cli.OK || text == "" || strings.Contains(text, secret) {
			t.Errorf("%s: exit status %d: %s", line, status, text)
		}
	}
}
