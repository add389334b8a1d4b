package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

// ask posts as curl does.
func ask(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if response.Body.Close(); response.StatusCode != http.StatusSeeOther {
		t.Fatalf("POST %s: %s", url, response.Status)
	}
}

// A node of this process is killed in the middle of a run. Its lock is not released and
// its run is not finished, so that the others find out by its lease, and do it
// again; then it is started again and takes part.
func TestRun_memory_killedNode(t *testing.T) {
	out, signals := &testsync.Log{}, make(chan os.Signal, 1)
	var stderr strings.Builder
	done := make(chan int, 1)
	go func() { done <- run([]string{"-addr", "127.0.0.1:0", "-kill", "3s"}, signals, out, &stderr) }()
	wait := func(pattern string) {
		t.Helper()
		testsync.Eventually(t, pattern, func() bool {
			if len(done) > 0 {
				t.Fatalf("ended without %s:\n%s%s", pattern, out, &stderr)
			}
			return regexp.MustCompile(pattern).MatchString(out.String())
		})
	}
	wait(`node-\d killed`)
	victim := regexp.MustCompile(`(node-\d) killed`).FindStringSubmatch(out.String())[1]
	url := regexp.MustCompile(`web page: +(\S+)`).FindStringSubmatch(out.String())[1]
	for _, other := range []string{"node-1", "node-2", "node-3"} {
		if other != victim { // kill a second one, as somebody at the page does
			ask(t, url+"kill?node="+other)
			break
		}
	}
	ask(t, url+"start?node="+victim)
	wait(victim + ` started again`)
	wait(`started again(.*\n)+.*` + victim + `.* ok`)
	signals <- os.Interrupt
	code := <-done
	s := parseSummary(t, out.String())
	if code != 0 || s.duplicates+s.missed != 0 || s.runs < s.ticks || s.lost > s.runs-s.ticks {
		t.Errorf("exit status %d, %+v\n%s%s", code, s, out, &stderr)
	}
	if stderr.Len() > 0 {
		t.Errorf("warned of what was done on purpose: %s", &stderr)
	}
	if s.lost > 0 && strings.Count(out.String(), "run again, since node-") < s.lost {
		t.Errorf("%d runs were lost, and it is not told who ran them again:\n%s", s.lost, out)
	}
}

// The same with processes.
func TestCommand_redis_startedAgain(t *testing.T) {
	server := testenv.Redis(t)
	c := startCommand(t, "-store", server.URL())
	url := c.await(`web page: +(\S+)`)[1]
	c.await(` node-2 .* ok$`)
	ask(t, url+"kill?node=node-2")
	c.await(`^node-2 killed`)
	ask(t, url+"start?node=node-2")
	c.await(`^node-2 started again`)
	c.await(` node-2 .* ok$`)
	c.cmd.Process.Signal(os.Interrupt)
	exit, stderr := c.finish()
	if s := c.lastLine(); exit != 0 || s.duplicates+s.missed != 0 || s.lost > s.runs-s.ticks {
		t.Errorf("exit status %d, %+v, %s", exit, s, stderr)
	}
	if keys := allKeys(t, server); len(keys) > 0 {
		t.Errorf("left in Redis: %v", keys)
	}
}
