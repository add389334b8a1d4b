package testetcd

import (
	"net"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	BeServer()
	m.Run()
}

func TestMember_Restart_waitsForItsPort(t *testing.T) {
	m := Start(t, 1, Options{}).Members[0]
	m.Kill()
	ln, err := net.Listen("tcp", m.Addr())
	if err != nil {
		t.Skipf("somebody else took %s first: %v", m.Addr(), err)
	}
	defer time.AfterFunc(2*time.Second, func() { ln.Close() }).Stop() // the member finds it taken before that
	if err := m.Restart(); err != nil {
		t.Error(err)
	}
}
