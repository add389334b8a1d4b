package browsertest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

// browser is the one that all tests share, each with a profile of its own; nil until the first test that needs it.
var browser context.Context

func TestMain(m *testing.M) {
	code := m.Run()
	if browser != nil {
		if err := chromedp.Cancel(browser); err != nil {
			fmt.Fprintln(os.Stderr, "close the browser:", err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
