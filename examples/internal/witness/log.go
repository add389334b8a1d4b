package witness

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind tells the two events of a run apart.
type Kind string

// Start is written before the body's work, End after it, also if it failed.
const (
	Start Kind = "start"
	End   Kind = "end"
)

// Event is one note.
type Event struct {
	Kind  Kind      `json:"kind"`
	Run   string    `json:"run"` // one execution of one body
	Job   string    `json:"job"`
	Tick  time.Time `json:"tick"`
	Node  string    `json:"node"`
	Fence uint64    `json:"fence"`
	At    time.Time `json:"at"`
	Err   string    `json:"err,omitempty"` // of an End
}

// Log keeps events.
type Log interface {
	Append(Event) error
}

// Memory is a Log for nodes that share a process. The zero value is empty.
type Memory struct {
	mu     sync.Mutex // guards events
	events []Event
}

// Append implements Log.
func (m *Memory) Append(e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	return nil
}

// Events returns what was noted so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Event(nil), m.events...)
}

// File is a Log for one process: a line of JSON for each event, in a file that
// is only appended to. What was written survives the process's death, because
// the operating system has it.
type File struct {
	mu sync.Mutex // keeps lines whole
	f  *os.File
}

// OpenFile opens or creates the file at path.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the witness's log: %w", err)
	}
	return &File{f: f}, nil
}

// Append implements Log.
func (f *File) Append(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("witness: encode an event: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// ReadFile reads what a File wrote, which may still be written to: a last line
// without its end is left out. A file that does not exist yet has no events.
func ReadFile(path string) ([]Event, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the witness's log: %w", err)
	}
	var events []Event
	for line := range bytes.Lines(text[:bytes.LastIndexByte(text, '\n')+1]) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read the witness's log %s: line %d: %w", path, len(events)+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Recorder notes the runs of one node.
type Recorder struct {
	Log  Log
	Node string
	// Bind gives bodies a context that ends with the node as well, and a function to
	// call after them. Nil: the node's death ends them by itself, as that of a process.
	Bind func(context.Context) (bound context.Context, stop func())
}

// Watch runs body between a Start and an End. A run that cannot be noted does
// not take place.
func (r *Recorder) Watch(ctx context.Context, job string, tick time.Time, fence uint64,
	body func(context.Context) error) (err error) {
	e := Event{Kind: Start, Run: rand.Text(), Job: job, Tick: tick, Node: r.Node, Fence: fence, At: time.Now()}
	if err := r.Log.Append(e); err != nil {
		return err
	}
	returned := false
	defer func() {
		e.Kind, e.At = End, time.Now()
		switch {
		case !returned:
			e.Err = "the body panicked"
		case err != nil:
			e.Err = err.Error()
		}
		err = errors.Join(err, r.Log.Append(e))
	}()
	if r.Bind != nil {
		bound, stop := r.Bind(ctx)
		defer stop()
		ctx = bound
	}
	err = body(ctx)
	returned = true
	return err
}
