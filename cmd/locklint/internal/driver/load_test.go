//go:build unix

package driver

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fakeGo names the socket on which this test binary, in the place of the go command, says that it is at work.
const fakeGo = "LOCKLINT_TEST_FAKE_GO"

func TestMain(m *testing.M) {
	if addr := os.Getenv(fakeGo); addr != "" {
		conn, err := net.Dial("unix", addr)
		if err != nil {
			os.Exit(1)
		}
		conn.Write([]byte("x"))
		io.Copy(io.Discard, conn) // for ever: nobody closes the other end
	}
	os.Exit(m.Run())
}

// TestLoad_interrupted: the go command ends with who started it, although no signal of the terminal reaches it.
func TestLoad_interrupted(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "go")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv(fakeGo, listener.Addr().String())
	loaded := make(chan error, 1)
	go func() {
		_, err := load([]string{"."}, false, "")
		loaded <- err
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the go command still runs: %v", err)
	}
	if err := <-loaded; err == nil {
		t.Error("what was interrupted is loaded")
	}
}
