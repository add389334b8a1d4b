package fence_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

func TestParseHeader_readsWhatSetHeaderWrote(t *testing.T) {
	for _, f := range []lockrt.Fence{1, 1024, 1<<53 + 1, 1<<63 - 1} {
		h := http.Header{}
		fence.SetHeader(h, f)
		if got, err := fence.ParseHeader(h); err != nil || got != f {
			t.Errorf("%s: got %s, %v", f, got, err)
		}
	}
	if got, err := fence.ParseHeader(http.Header{}); err != nil || got != 0 {
		t.Errorf("no header: %s, %v", got, err)
	}
}

func TestParseHeader_refuses(t *testing.T) {
	for _, bad := range [][]string{
		{""}, {"0"}, {"-1"}, {"+1"}, {" 1"}, {"1 "}, {"01"}, {"1,2"}, {"1.0"}, {"1e3"}, {"0x10"}, {"1_000"}, {"١"},
		{"9223372036854775808"}, {"18446744073709551616"}, {strings.Repeat("9", 5000)}, {"1", "1"}, {"1", "2"},
	} {
		f, err := fence.ParseHeader(http.Header{fence.Header: bad})
		if !errors.Is(err, fence.ErrInvalid) || f != 0 {
			t.Errorf("%.40q: %s, %v", bad, f, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("the error repeats all %d bytes", len(bad[0]))
		}
	}
}
