package witness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestFile_keepsWholeLinesOfManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r := &Recorder{Log: f, Node: "n1"}
			if err := r.Watch(t.Context(), "a", at(2), 7, func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	events, err := ReadFile(path)
	if err != nil || len(events) != 40 {
		t.Fatalf("%d events, %v, want 40", len(events), err)
	}
	if e := events[0]; e.Job != "a" || !e.Tick.Equal(at(2)) || e.Fence != 7 || e.Node != "n1" || e.At.IsZero() {
		t.Errorf("event = %+v", e)
	}
}

func TestReadFile_unfinishedAndMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if events, err := ReadFile(path); err != nil || len(events) != 0 {
		t.Errorf("missing file: %v, %v", events, err)
	}
	for text, want := range map[string]int{"": 0, `{"kind":"st`: 0, `{"kind":"start"}` + "\n" + `{"ki`: 1} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if events, err := ReadFile(path); err != nil || len(events) != want {
			t.Errorf("%q: %d events, %v, want %d", text, len(events), err, want)
		}
	}
	os.WriteFile(path, []byte("garbage\n"), 0o600)
	if _, err := ReadFile(path); err == nil {
		t.Error("garbage passes")
	}
}

func TestRecorder_Watch_notesFailureAndPanic(t *testing.T) {
	var m Memory
	r := &Recorder{Log: &m, Node: "n1"}
	broken := errors.New("disk full")
	if err := r.Watch(t.Context(), "a", at(2), 1, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Watch = %v", err)
	}
	func() {
		defer func() { recover() }()
		r.Watch(t.Context(), "a", at(2), 1, func(context.Context) error { panic("no") })
	}()
	var ends []string
	for _, e := range m.Events() {
		if e.Kind == End {
			ends = append(ends, e.Err)
		}
	}
	if got := strings.Join(ends, ", "); got != "disk full, the body panicked" {
		t.Errorf("ends: %s", got)
	}
}

type fullLog struct{}

func (fullLog) Append(Event) error { return errors.New("no space left") }

func TestRecorder_Watch_doesNotRunUnnoticed(t *testing.T) {
	r := &Recorder{Log: fullLog{}}
	err := r.Watch(t.Context(), "a", at(2), 1, func(context.Context) error { t.Error("ran"); return nil })
	if err == nil {
		t.Error("no error")
	}
}
