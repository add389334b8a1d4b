package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/lockgen/lockgen/internal/testenv"
)

const (
	// patience bounds what a test waits for. It is no measure of speed.
	patience = time.Minute
	// lookEvery is how often a page is asked whether it has got so far.
	lookEvery = 20 * time.Millisecond
)

// tab is a page in a browser, with cookies of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // of the dashboard, with its last slash

	mu       sync.Mutex // guards messages
	messages []string   // errors that the browser reported
}

// starting guards browser while tests begin.
var starting sync.Mutex

// startBrowser starts the browser that all tests share. Root, as in containers, can have no sandbox; the pages are
// our own.
func startBrowser(t *testing.T) {
	t.Helper()
	program := testenv.Chromium(t)
	starting.Lock()
	defer starting.Unlock()
	if browser != nil {
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-crash-reporter", true),
	)
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	browser = ctx
	stale, _ := filepath.Glob(filepath.Join(shotDir, "failed-*"))
	for _, picture := range stale {
		_ = os.Remove(picture) // of an earlier run; one that stays misleads nobody for long
	}
}

// newTab opens a page. What the browser complains about meanwhile, such as a violation of the content security policy,
// fails the test.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	startBrowser(t)
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil { // without a timeout: the page lives as long as this context
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		// Tabs of other tests are open besides, and each of them is to have the focus.
		_, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	}))
	console := chromedp.Console(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.hear(m)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			b.shoot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
			html, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.documentElement.outerHTML`))
			t.Logf("the page is:\n%s", html)
		}
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the page: %v", err)
		}
		cancel()
		reading.Wait()
		for _, m := range b.messages {
			t.Errorf("the browser says: %s", m)
		}
	})
	return b
}

// expected is what the browser says where nothing is wrong: of an answer that says no and of a server that is gone, which tests
// cause on purpose, and of a page that a busy machine shows after somebody has pressed a key in it.
var expected = regexp.MustCompile(`Failed to load resource: the server responded with a status of (4|5)\d\d|` +
	`Failed to load resource: net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE)|` +
	`Autofocus processing was blocked because a document already has a focused element`)

func (b *tab) hear(m chromedp.ConsoleMessage) {
	if text := m.String(); !expected.MatchString(text) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.messages = append(b.messages, text)
	}
}

// do runs actions and fails the test if one cannot be done.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a page of the dashboard.
func (b *tab) open(page string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + page))
}

// ask evaluates an expression in the page.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await returns once the condition holds. It is asked again and again, since the page may be replaced meanwhile.
func (b *tab) await(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+condition+`)`))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("never came true: %s (%v)", condition, err)
		case <-ticker.C:
		}
	}
}

// awaitPage returns once the page is loaded that the browser shows as address, below the dashboard.
func (b *tab) awaitPage(address string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, b.base+address))
}

// awaitText returns once the element shows the text.
func (b *tab) awaitText(selector, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))`, selector, text))
}

// click clicks on the first element that is matched and shows the text, with the mouse.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	b.awaitText(selector, text)
	// The script may replace the element at any moment, so it is found and clicked in one step.
	ask[bool](b, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find(e => e.innerText.includes(%q));
		if (e) e.click();
		return !!e;
	})()`, selector, text))
}

// fill writes a text into a field, in place of what it holds.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`document.querySelector(%q)`, selector))
	ask[bool](b, fmt.Sprintf(`(document.querySelector(%q).value = "") === ""`, selector))
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// sized gives the page another size and colours.
func (b *tab) sized(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// inZone moves the browser to another time zone.
func (b *tab) inZone(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return err
	}))
}

// withoutScripts switches JavaScript off for the pages that are loaded from here on.
func (b *tab) withoutScripts() {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}

// shotDir keeps the screenshots, for people to look at and for CI to keep.
const shotDir = "screenshots"

func (b *tab) shoot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(shotDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(shotDir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Errorf("screenshot %s: %v", name, err)
	}
}

func escape(s string) string { return url.QueryEscape(s) }
