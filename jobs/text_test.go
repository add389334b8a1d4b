package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// nasty is a text that is long, cut inside a rune wherever that is, and changes how it is shown.
var nasty = "\x00\x1b[31mada\u202e\u2028\u200b\xff\n\t" + strings.Repeat("é…", 1<<19)

// expectText checks a text that was made of nasty, or of another text with as much in it.
func expectText(t *testing.T, what, text string, limit int, lines bool) {
	t.Helper()
	bad := strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsGraphic(r) &&
			!(lines && (r == '\n' || r == '\t'))
	})
	if bad || !utf8.ValidString(text) || len(text) > limit+20 || !strings.Contains(text, "ada") {
		t.Errorf("%s is %.60q… of %d bytes, want it readable and of %d at most", what, text, len(text), limit)
	}
	if lines && !strings.Contains(text, "\n\t") {
		t.Errorf("%s is %.60q…, want its lines", what, text)
	}
}

// TestScheduler_nastyTexts has authors, reasons and errors be a megabyte with characters that change how they are
// shown.
func TestScheduler_nastyTexts(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, n := context.Background(), c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "fails", Spec: "@yearly", Run: func(context.Context) error { return errors.New(nasty) }})
		n.MustAdd(Job{Name: "panics", Spec: "@yearly", Run: func(context.Context) error { panic(nasty) }})
		n.MustAdd(Job{Name: "hangs", Spec: "@yearly", Run: jobstest.Sleep(time.Hour)})
		n.MustAdd(Job{Name: "keyless", Spec: "@yearly", Run: jobstest.Sleep(0),
			KeysFunc: func() ([]string, error) { return nil, errors.New(nasty) }})
		n.Start()
		time.Sleep(time.Second)
		ids := make(map[string]string)
		for _, job := range []string{"fails", "panics", "hangs", "keyless"} {
			id, err := n.RunNow(ctx, job, nasty)
			if err != nil {
				t.Fatal(err)
			}
			ids[job] = id
		}
		time.Sleep(time.Second)
		if err := n.Cancel(ctx, ids["hangs"], nasty, nasty); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for job, id := range ids {
			r, err := n.FindRun(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			expectText(t, "author of "+job, r.Author, MaxAuthor, false)
			if job == "hangs" {
				expectText(t, "reason", r.Reason, MaxAuthor+MaxReason+100, false)
			} else {
				expectText(t, "error of "+job, r.Error, MaxErrorText, true)
			}
		}
		if id, err := n.RunAgain(ctx, ids["fails"], nasty); err != nil {
			t.Error(err)
		} else if r, err := n.FindRun(ctx, id); err != nil {
			t.Error(err)
		} else {
			expectText(t, "author of the second run", r.Author, MaxAuthor, false)
		}
		time.Sleep(3 * time.Second) // its record comes before those of the pause
		if err := n.Pause(ctx, "fails", nasty, nasty); err != nil {
			t.Fatal(err)
		}
		st, err := n.ClusterStatus(ctx, "fails")
		if err != nil {
			t.Fatal(err)
		}
		expectText(t, "author of the pause", st[0].Paused.Author, MaxAuthor, false)
		expectText(t, "reason of the pause", st[0].Paused.Reason, MaxReason, false)
		if err := n.Resume(ctx, "fails", nasty); err != nil {
			t.Fatal(err)
		}
		expectText(t, "record of the pause", c.Recorded("fails")[0].Reason, 2*MaxAuthor+MaxReason+200, false)
		expectText(t, "author of the resume", c.Recorded("fails")[0].Author, MaxAuthor, false)
		c.Stop()
	})
}

// TestScheduler_longNames names jobs, handlers, one-off jobs and runs by a megabyte: no error repeats it whole.
func TestScheduler_longNames(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, n, long := context.Background(), c.Node(Config{}, 0), strings.Repeat("é", 1<<19)
		_, runNow := n.RunNow(ctx, long, "ada")
		_, runAgain := n.RunAgain(ctx, long+"@1", "ada")
		_, find := n.FindRun(ctx, long)
		_, status := n.Status(ctx, long)
		_, clusterStatus := n.ClusterStatus(ctx, long)
		_, upcoming := n.Upcoming(long, 1)
		for what, err := range map[string]error{
			"Add": n.Add(Job{Name: long, Spec: "@daily"}), "AddHandler": n.AddHandler(Handler{Name: long}),
			"At, handler": n.At(ctx, long, "id", time.Now(), nil), "At, id": n.At(ctx, "h", long, time.Now(), nil),
			"Withdraw": n.Withdraw(ctx, long), "Pause": n.Pause(ctx, long, "", ""), "Resume": n.Resume(ctx, long, ""),
			"Cancel": n.Cancel(ctx, long+"@1", "", ""), "RunNow": runNow, "RunAgain": runAgain, "FindRun": find,
			"Status":        status,
			"ClusterStatus": clusterStatus, "Upcoming": upcoming,
		} {
			if err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "(cut)") ||
				strings.ContainsRune(err.Error(), '\uFFFD') {
				t.Errorf("%s: %d bytes: %.300s", what, len(fmt.Sprint(err)), fmt.Sprint(err))
			}
		}
		c.Stop()
	})
}

// TestScheduler_faultsOfNames checks that errors name the fault.
func TestScheduler_faultsOfNames(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, n := context.Background(), c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "@yearly", Run: jobstest.Sleep(0)})
		_, never := n.FindRun(ctx, "j@x.1")
		for want, err := range map[string]error{
			"control character or a format character":   n.At(ctx, "h", "a\u202eb", time.Now(), nil),
			"its id holds a control character":          n.At(ctx, "h", "a\x00b", time.Now(), nil),
			"its id is empty":                           n.At(ctx, "h", "", time.Now(), nil),
			"its id has 201 bytes":                      n.At(ctx, "h", strings.Repeat("x", 201), time.Now(), nil),
			"handler's name has 201 bytes":              n.At(ctx, strings.Repeat("x", 201), "x", time.Now(), nil),
			"handler's name is empty":                   n.At(ctx, "", "x", time.Now(), nil),
			"handler's name \"h\\x1b\" holds a control": n.At(ctx, "h\x1b", "x", time.Now(), nil),
			`write it in lower case: "@every 1s"`: n.Add(Job{Name: "k", Spec: "@EVERY 1s",
				Run: jobstest.Sleep(0)}),
			`write it in lower case: "@daily"`: n.Add(Job{Name: "k", Spec: "@Daily", Run: jobstest.Sleep(0)}),
			"longer than a year": n.Add(Job{Name: "k", Spec: "@every 2562047h",
				Run: jobstest.Sleep(0)}),
			"longer than Go can count": n.Add(Job{Name: "k", Spec: "@every 9999999h",
				Run: jobstest.Sleep(0)}),
			"the job has none on record": never,
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		c.Stop()
	})
}
