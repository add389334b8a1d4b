package render

import "testing"

func TestNames_claim(t *testing.T) {
	scope := names{}
	scope.reserve("err", "time", "timeArg")
	for _, tt := range []struct{ got, want string }{
		{scope.local("err"), "lockErr"},
		{scope.local("err"), "lockErr2"},
		{scope.local("ctx"), "ctx"},
		{scope.local("ctx"), "lockCtx"},
		{scope.param("time"), "timeArg2"},
		{scope.param("sku"), "sku"},
		{scope.claim("func", "result"), "result"}, // keywords are never free
		{scope.claim("_", "result"), "result2"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestLowerFirst(t *testing.T) {
	for in, want := range map[string]string{"Order": "order", "ID": "id", "HTTPClient": "httpClient", "X": "x",
		"URLs": "urLs", "order": "order", "Ärger": "ärger"} {
		if got := lowerFirst(in); got != want {
			t.Errorf("lowerFirst(%q) = %q, want %q", in, got, want)
		}
	}
}
