package driver

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// A program whose parts do not know each other: rooms says what it needs, store keeps it in Redis, and only main imports
// both. None of the words that make a package worth looking at stands in rooms or in desk.
var linkedFiles = map[string]string{
	"go.mod": "module example.com/linked\n\ngo 1.26\n",
	"rooms/rooms.go": `package rooms

import "context"

type Entry interface {
	Enter(ctx context.Context, name string) (leave func(), entered bool, err error)
}

func Use(ctx context.Context, e Entry) {
	leave, _, err := e.Enter(ctx, "a")
	if err == nil {
		defer leave()
	}
	Work()
}

func Work() {}
`,
	"desk/desk.go": `package desk

import (
	"context"

	"example.com/linked/rooms"
)

type door interface {
	rooms.Entry
	Enter2(ctx context.Context) (func(), bool, error)
}

type Desk struct{ d door }

func New(d door) *Desk { return &Desk{d} }

func (d *Desk) Open(ctx context.Context) {
	leave, _, err := d.d.Enter(ctx, "b")
	if err != nil {
		return
	}
	defer leave()
	rooms.Work()
}

func (d *Desk) OpenSecond(ctx context.Context) {
	leave, _, err := d.d.Enter2(ctx)
	if err != nil {
		return
	}
	defer leave()
	rooms.Work()
}
`,
	"store/store.go": `package store

import (
	"context"
	"time"
)

type client interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Eval(ctx context.Context, script string, keys []string, args ...any) error
}

type Locks struct {
	C     client
	Token func() string
}

const release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

func (l *Locks) Enter(ctx context.Context, name string) (func(), bool, error) {
	token := l.Token()
	ok, err := l.C.SetNX(ctx, name, token, time.Minute)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		return func() {}, false, nil
	}
	return func() { l.C.Eval(context.WithoutCancel(ctx), release, []string{name}, token) }, true, nil
}

func (l *Locks) Enter2(ctx context.Context) (func(), bool, error) { return l.Enter(ctx, "second") }

// NoLocks is nobody's choice.
type NoopLocks struct{}

func (NoopLocks) Enter(context.Context, string) (func(), bool, error) { return func() {}, true, nil }
func (NoopLocks) Enter2(context.Context) (func(), bool, error)        { return func() {}, true, nil }
`,
	"main.go": `package main

import (
	"context"

	"example.com/linked/desk"
	"example.com/linked/rooms"
	"example.com/linked/store"
)

func main() {
	l := &store.Locks{}
	rooms.Use(context.Background(), l)
	desk.New(l).Open(context.Background())
}
`,
	"desk/desk_test.go":  "package desk_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/linked/desk\"\n)\n\nfunc Test(t *testing.T) { desk.New(nil) }\n",
	"rooms/in_test.go":   "package rooms\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { Work() }\n",
	"broken/broken.go":   "package broken\n\nfunc f() int { return missing }\n",
	"second/second.go":   secondStore,
	"second/standin.go":  "package second\n\nimport \"context\"\n\ntype mem struct{}\n\nfunc (mem) Enter(context.Context, string) (func(), bool, error) { return nil, true, nil }\n",
	"generic/generic.go": "package generic\n\nimport \"context\"\n\ntype E[T any] interface{ Enter(ctx context.Context, name T) (func(), bool, error) }\n",
}

// secondStore implements rooms.Entry too, over a client that may be anything.
const secondStore = `package second

import (
	"context"
	"time"
)

type Second struct {
	c interface {
		SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
		Del(ctx context.Context, key string) error
	}
}

func (l *Second) Enter(ctx context.Context, name string) (func(), bool, error) {
	ok, err := l.c.SetNX(ctx, name, "x", time.Minute)
	if err != nil || !ok {
		return nil, false, err
	}
	return func() { l.c.Del(ctx, name) }, true, nil
}
`

// TestMain_linked: by itself locklint looks through interfaces that no package sees together with what implements them,
// where all it was asked about tells which implementation there is.
func TestMain_linked(t *testing.T) {
	goToModule(t, linkedFiles)
	all := []string{"rooms.go:10", "desk.go:19", "desk.go:28"}
	for _, tt := range []struct {
		why, args string
		want      []string
	}{
		{"the whole program", ". ./rooms ./desk ./store", all},
		{"without tests", "-test=false . ./rooms ./desk ./store", all},
		{"dependencies tell, too", ". ./desk", []string{"desk.go:19", "desk.go:28"}},
		{"nobody knows what is behind", "./desk ./rooms", nil},
		{"an implementation in sight that imports nothing of theirs", "./rooms ./store", []string{"rooms.go:10"}},
		{"two implementations", "./rooms ./store ./second", nil},
		{"of a larger interface there is one only", ". ./desk ./second", []string{"desk.go:28"}},
		{"a package that does not compile", ". ./rooms ./desk ./store ./broken", nil},
		{"type parameters", ". ./rooms ./store ./generic", []string{"rooms.go:10"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			Main(append([]string{"-enable=LL2001"}, strings.Fields(tt.args)...), &stdout, &stderr)
			found := map[string]bool{}
			for line := range strings.Lines(stdout.String()) {
				if at, _, ok := strings.Cut(line, ": LL2001"); ok {
					_, at, _ = strings.Cut(at, "/")
					at = at[:strings.LastIndexByte(at, ':')]
					found[at] = true
				}
			}
			want := map[string]bool{}
			for _, at := range tt.want {
				want[at] = true
			}
			if !maps.Equal(found, want) {
				t.Errorf("%s: finds %v, want %v\n%s%s", tt.args, found, want, &stdout, &stderr)
			}
		})
	}
}
