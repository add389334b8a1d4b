package load

import "testing"

func TestWholeRoot(t *testing.T) {
	for _, c := range []struct{ path, goos, want string }{
		{"", "linux", "/"}, {"C:", "windows", "C:/"}, {"C:", "linux", "C:"}, {"C:/app", "windows", "C:/app"},
		{"./a", "windows", "./a"}, {"", "windows", "/"},
	} {
		if got := wholeRoot(c.path, c.goos); got != c.want {
			t.Errorf("%q on %s is %q, want %q", c.path, c.goos, got, c.want)
		}
	}
}

func TestSplitPosition(t *testing.T) {
	for _, c := range []struct{ pos, path, at string }{
		{`C:\app\a.go:3:9`, `C:\app\a.go`, ":3:9"}, {"/app/a.go:3", "/app/a.go", ":3"}, {"a:b/c.go:1:2", "a:b/c.go", ":1:2"},
		{"-", "-", ""}, {"", "", ""},
	} {
		if path, at := splitPosition(c.pos); path != c.path || at != c.at {
			t.Errorf("%q is %q and %q", c.pos, path, at)
		}
	}
}
