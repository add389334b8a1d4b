package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
	"github.com/lockgen/lockgen/examples/internal/cli"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/redisstore" // the redis: scheme of lockrt.Open
)

// childMain is the command as a node of a redis cluster.
func childMain(stdin io.Reader, stdout, stderr io.Writer) int {
	// An interrupt at the terminal reaches the whole group. The parent decides.
	signal.Ignore(os.Interrupt)
	out := &messages{enc: json.NewEncoder(stdout)}
	if err := runChild(bufio.NewReader(stdin), out, newLogger(stderr)); err != nil {
		out.send(message{Err: err.Error()})
		return cli.Failed
	}
	return cli.OK
}

// messages writes a node's output.
type messages struct {
	mu  sync.Mutex // keeps lines whole
	enc *json.Encoder
}

// send drops the error: a parent that does not read any more is one that has
// died, and the end of the input says that too.
func (m *messages) send(msg message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enc.Encode(msg)
}

func runChild(in *bufio.Reader, out *messages, logger *slog.Logger) (err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%q is how the example starts its own nodes; see -help for its flags", childArgument)
	}
	var setup childSetup
	if err := json.Unmarshal(line, &setup); err != nil {
		return errors.New("the setup on standard input is not understood") // not repeated: it may hold a password
	}
	logger = logger.With("node", setup.Node)
	notes, err := witness.OpenFile(setup.Notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.Close()) }()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go obey(in, cancel) // ends with the process
	locks, err := lockrt.Open(ctx, setup.Store, lockrt.Config{Namespace: setup.Namespace, Node: setup.Node, Logger: logger})
	if err != nil {
		return err
	}
	recorder := &witness.Recorder{Log: notes, Node: setup.Node}
	n, err := newNode(locks, nil, recorder, logger, func(r runLine) { out.send(message{Run: &r}) })
	if err != nil {
		return err
	}
	out.send(message{Ready: n.specs()})
	if err := n.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// obey waits for the parent's word. When the parent dies, however it dies, the
// node ends at once: nobody is left to count what it does.
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
