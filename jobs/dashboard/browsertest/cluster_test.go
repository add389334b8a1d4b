package browsertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestExampleCluster does what the README tells a newcomer to: it starts examples/cluster, kills a node on its page,
// sees the others take over, and starts it again.
func TestExampleCluster(t *testing.T) {
	t.Parallel()
	url, lines := startExample(t)
	b := newTab(t, url)
	b.open("")
	b.awaitText("#score", "have a run")
	b.awaitText("#nodes .good", "node-2")
	for _, l := range looks {
		b.sized(l.width, l.scheme)
		b.await(fmt.Sprintf(`document.documentElement.clientWidth === %d`, l.width))
		b.fits("example-" + l.String())
	}
	b.click(`button[aria-label="Kill node-2"]`, "Kill")
	b.awaitText("#nodes .bad", "node-2")
	lines.await(t, `^node-2 killed`)
	b.await(`document.querySelector("#timeline svg").textContent.includes("killed")`)
	b.shoot("example-killed")
	// The dashboard hears nothing of it any more.
	b.click("header a", "Open the dashboard")
	b.awaitText("#nodes", "silent")
	b.shoot("example-dashboard")
	b.open("")
	b.click(`button[aria-label="Kill node-1"]`, "Kill")
	b.awaitText("#nodes .bad", "node-1")
	if n := ask[int](b, `document.querySelectorAll("button.danger").length`); n != 0 {
		t.Errorf("the last node may be killed: %d buttons", n)
	}
	b.withoutScripts()
	b.open("")
	b.click(`button[aria-label="Start node-2 again"]`, "Start again")
	b.awaitText("#nodes .good", "node-2")
	lines.await(t, ` node-2 .* ok$`)
	b.open("jobs/")
	b.await(`[...document.querySelectorAll("#nodes tr")].filter(e => e.innerText.includes("node-2")).length === 1`)
	b.awaitText("#nodes", "alive")
}

// printed is what the example says, line by line.
type printed struct {
	mu    sync.Mutex // guards all
	all   []string
	lines chan string
}

func (p *printed) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for line := range p.lines {
		if re.MatchString(line) {
			return line
		}
	}
	t.Fatalf("the example ended without %s", pattern)
	return ""
}

// startExample starts the example and stops it when the test ends; it must then say that all is well.
func startExample(t *testing.T) (url string, p *printed) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cluster")
	build := exec.Command("go", "build", "-C", "../../..", "-o", program, "./examples/cluster")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "-addr", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p = &printed{lines: make(chan string, 100_000)}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.mu.Lock()
			p.all = append(p.all, scanner.Text())
			p.mu.Unlock()
			p.lines <- scanner.Text()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		reading.Wait()
		err := cmd.Wait()
		last := p.all[len(p.all)-1]
		if err != nil || !strings.Contains(last, " duplicates=0 missed=0 ") {
			t.Errorf("%v, %s\n%s%s", err, last, strings.Join(p.all, "\n"), &stderr)
		}
	})
	line := p.await(t, `web page:`)
	return regexp.MustCompile(`http://\S+`).FindString(line), p
}
