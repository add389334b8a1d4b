package etcdstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.4.30": false, "3.4.31": true, "3.4.40": true, "3.5.0": false, "3.5.12": false, "3.5.13": true, "3.5.21": true,
		"3.6.0": true, "3.7.3": true, "3.6.0-rc.1": true, "3.3.27": false, "2.3.8": false,
		"4.0.0": true, "": false, "new": false,
	} {
		err := checkVersion(version)
		if (err == nil) != ok || err != nil && !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// said is what a server says of itself.
type said struct {
	etcd.Maintenance
	version string
}

func (s said) Status(context.Context, string) (*etcd.StatusResponse, error) {
	return &etcd.StatusResponse{Version: s.version}, nil
}

// The first use refuses an old server, and says why.
func TestStore_oldServer(t *testing.T) {
	client, err := etcd.New(etcd.Config{Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.Maintenance = said{client.Maintenance, "3.5.12"}
	locks, err := lockrt.New(New(client, Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	for _, o := range []lockrt.Options{{TTL: time.Minute}, {TTL: time.Minute, Wait: lockrt.Forever}} {
		_, err = locks.Acquire(t.Context(), "k", o)
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), "issues/15247") ||
			!strings.Contains(err.Error(), "3.5.12") || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("wait %s: %v", o.Wait, err)
		}
	}
}
