package child

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const role = "worker"

// setup says what the worker of these tests does.
type setup struct {
	Do     string
	Secret string
}

func TestMain(m *testing.M) {
	Main(role, work)
	goleak.VerifyTestMain(m)
}

func work(ctx context.Context, s setup, parent *Parent) error {
	switch s.Do {
	case "give up":
		return errors.New("nothing to do here")
	case "fall silent":
		os.Exit(0)
	case "go on":
		parent.Ready("deaf")
		time.Sleep(time.Hour) // Go would notice that select {} never ends
	}
	parent.Ready("as " + s.Do)
	parent.Note(1)
	parent.Note(2)
	<-ctx.Done()
	parent.Note(3)
	return nil
}

func start(t *testing.T, cfg Config) *Process {
	t.Helper()
	cfg.Role, cfg.Name, cfg.Stderr = role, "worker-1", os.Stderr
	p, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestProcess_fromStartToStop(t *testing.T) {
	var heard []string
	ended := make(chan bool, 1)
	p := start(t, Config{
		Setup: setup{Do: "told"},
		Hear:  func(note json.RawMessage) { heard = append(heard, string(note)) },
		Ended: func(p *Process) { ended <- p.Alive() },
	})
	var about string
	if err := p.AwaitReady(t.Context(), &about); err != nil || about != "as told" {
		t.Errorf("ready: %q, %v", about, err)
	}
	if !p.Alive() || p.ID() == os.Getpid() || p.ID() == 0 {
		t.Errorf("alive: %t, process %d", p.Alive(), p.ID())
	}
	p.Stop()
	if err := p.AwaitEnd(t.Context()); err != nil || p.Err() != nil || p.Alive() || p.Killed() {
		t.Errorf("end: %v, exit: %v, alive: %t, killed: %t", err, p.Err(), p.Alive(), p.Killed())
	}
	if got := strings.Join(heard, " "); got != "1 2 3" {
		t.Errorf("heard %s", got)
	}
	if !<-ended {
		t.Error("Ended is called after the end was told to those who wait for it")
	}
}

func TestProcess_AwaitReady_childGivesUp(t *testing.T) {
	for do, want := range map[string]string{
		"give up":     "worker-1 did not start: nothing to do here",
		"fall silent": "worker-1 did not start: it ended without a word",
	} {
		p := start(t, Config{Setup: setup{Do: do}})
		if err := p.AwaitReady(t.Context(), new(string)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", do, err, want)
		}
		if (p.Err() != nil) != (do == "give up") {
			t.Errorf("%s: exit: %v", do, p.Err())
		}
	}
	if err := start(t, Config{Setup: setup{Do: "go on"}}).AwaitReady(canceled(), new(string)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("asked with an ended context: %v", err)
	}
}

// A child outlives neither its parent nor the parent's patience.
func TestProcess_endsByForce(t *testing.T) {
	p := start(t, Config{Setup: setup{Do: "go on"}})
	p.Stop()
	if err := p.AwaitEnd(canceled()); !errors.Is(err, context.Canceled) || !p.Killed() || p.Alive() {
		t.Errorf("%v, killed: %t, alive: %t", err, p.Killed(), p.Alive())
	}
	p = start(t, Config{Setup: setup{Do: "go on"}})
	p.stdin.Close() // as when the parent dies
	if err := p.AwaitEnd(t.Context()); err != nil || p.Killed() || p.Err() == nil {
		t.Errorf("%v, killed: %t, exit: %v", err, p.Killed(), p.Err())
	}
}

func TestMain_badInput(t *testing.T) {
	p := start(t, Config{Setup: map[string]any{"Do": 1, "Secret": "s3cret"}})
	err := p.AwaitReady(t.Context(), new(string))
	if err == nil || !strings.Contains(err.Error(), "setup on standard input is not understood") ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a setup of another kind: %v", err)
	}
	out, err := exec.Command(os.Args[0], role).Output() // somebody tries it by hand
	if err == nil || !strings.Contains(string(out), `\"worker\" is how the example starts its own processes; see -help`) {
		t.Errorf("no setup: %s, %v", out, err)
	}
}
