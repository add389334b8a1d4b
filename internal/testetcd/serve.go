package testetcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// serverEnv tells a process of the test binary which server it is.
const serverEnv = "TESTETCD_SERVER"

// setup is one member as its process is told.
type setup struct {
	Options
	Name, Dir, Client, Peer, Cluster, State string

	Known string // as Peer, for the other members
}

// BeServer does the work of a member, and does not return there. It ends with its standard input, so that no server
// outlives the test.
func BeServer() {
	text := os.Getenv(serverEnv)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var s setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster, cfg.ClusterState = s.Name, s.Dir, s.Cluster, s.State
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = !s.Fsync // what a killed process has written is there
	cfg.QuotaBackendBytes = s.Quota
	cfg.BcryptCost = 4 // the least: a busy machine takes seconds for more
	if s.Compact != "" {
		cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "revision", s.Compact
	}
	if s.MaxOps > 0 {
		cfg.MaxTxnOps = s.MaxOps
	}
	var err error
	for to, from := range map[*[]url.URL]string{
		&cfg.ListenClientUrls: s.Client, &cfg.AdvertiseClientUrls: s.Client,
		&cfg.ListenPeerUrls: s.Peer, &cfg.AdvertisePeerUrls: s.Known,
	} {
		u, wrong := url.Parse(from)
		*to, err = []url.URL{*u}, errors.Join(err, wrong)
	}
	if s.TLS != nil {
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = s.TLS.Cert, s.TLS.Key
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.ClientCertAuth = s.TLS.CA, true
	}
	if err != nil {
		return err
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	select {
	case <-e.Server.ReadyNotify():
		fmt.Println("ready")
	case err := <-e.Err():
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	e.Close()
	return nil
}
