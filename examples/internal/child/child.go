package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

// Main does work and ends the process, if this process is a child of that role; else it returns. The context ends when
// the parent asks to stop.
func Main[Setup any](role string, work func(context.Context, Setup, *Parent) error) {
	if len(os.Args) < 2 || os.Args[1] != role {
		return
	}
	// An interrupt at the terminal reaches the whole group. The parent decides.
	signal.Ignore(os.Interrupt)
	parent := &Parent{out: json.NewEncoder(os.Stdout)}
	if err := serve(os.Stdin, parent, work); err != nil {
		parent.send(message[any]{Err: err.Error()})
		os.Exit(cli.Failed)
	}
	os.Exit(cli.OK)
}

func serve[Setup any](stdin io.Reader, parent *Parent, work func(context.Context, Setup, *Parent) error) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%q is how the example starts its own processes; see -help for its flags", os.Args[1])
	}
	var setup Setup
	if json.Unmarshal(line, &setup) != nil {
		return errors.New("the setup on standard input is not understood") // not repeated: it may hold a password
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go obey(in, cancel) // ends with the process
	return work(ctx, setup, parent)
}

func obey(in *bufio.Reader, stop func()) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(cli.Failed)
		}
		if strings.TrimSpace(line) == stopWord {
			stop()
		}
	}
}

// Parent is who started this process.
type Parent struct {
	mu  sync.Mutex // keeps lines whole
	out *json.Encoder
}

// Ready says, once, that the child does what it was started for.
func (p *Parent) Ready(about any) { p.send(message[any]{Ready: about}) }

// Note says something else.
func (p *Parent) Note(note any) { p.send(message[any]{Note: note}) }

// send drops the error: a parent that does not read any more is one that has died, and the end of the input says that
// too.
func (p *Parent) send(m message[any]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(m)
}
