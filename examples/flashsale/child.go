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

	"github.com/lockgen/lockgen/examples/internal/cli"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/redisstore" // the redis: schemes of lockrt.Open
)

// An instance that is a process is told what to do on its standard input: one
// line of JSON. The input stays open for as long as the parent wants the
// instance, so its end asks it to finish, also when the parent has died. The
// instance answers with one line of JSON on its standard output.

// childArgument, as the first argument of the command, makes it an instance.
const childArgument = "instance"

// childSetup is the line on an instance's input. It is not an argument because
// the URLs may hold passwords, and other users can read arguments.
type childSetup struct {
	Name      string `json:"name"`
	Store     string `json:"store"`
	Namespace string `json:"namespace"`
	DB        string `json:"db"`
	Sale      string `json:"sale"`
	Instances int    `json:"instances"`
	Unsafe    bool   `json:"unsafe"`
}

// childAnswer is the line on its output; one of the fields is set.
type childAnswer struct {
	URL string `json:"url,omitempty"` // it serves there now
	Err string `json:"err,omitempty"` // why it gives up
}

// childMain is the command as an instance.
func childMain(stdin io.Reader, stdout, stderr io.Writer) int {
	// An interrupt at the terminal reaches the whole group. The parent decides.
	signal.Ignore(os.Interrupt)
	if err := runChild(stdin, stdout, stderr); err != nil {
		_ = json.NewEncoder(stdout).Encode(childAnswer{Err: err.Error()}) // a parent that has died does not read it
		return cli.Failed
	}
	return cli.OK
}

func runChild(stdin io.Reader, stdout, stderr io.Writer) (err error) {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%q is how the example starts its own instances; see -help for its flags", childArgument)
	}
	var setup childSetup
	if err := json.Unmarshal(line, &setup); err != nil {
		return errors.New("the setup on standard input is not understood") // not repeated: it may hold a password
	}
	inst, err := setup.start(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inst.close(), inst.shop.sale.db.Close()) }()
	if err := json.NewEncoder(stdout).Encode(childAnswer{URL: inst.url()}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in) // until the parent closes it
	return err
}

func (c childSetup) start(logger *slog.Logger) (*instance, error) {
	ctx := context.Background()
	d, err := parseDatabase(c.DB)
	if err != nil {
		return nil, err
	}
	db, err := d.open(ctx, c.Instances)
	if err != nil {
		return nil, err
	}
	cfg := lockrt.Config{Namespace: c.Namespace, Node: c.Name, Logger: logger.With("instance", c.Name)}
	locks, err := lockrt.Open(ctx, c.Store, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	inst, err := startInstance(&shop{c.Name, &sale{c.Sale, db, d}, locks}, c.Unsafe)
	if err != nil {
		return nil, errors.Join(err, locks.Close(ctx), db.Close())
	}
	return inst, nil
}
