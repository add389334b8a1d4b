package redisstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A URL's scheme is the same in all cases.
func TestOpen_schemeInCapitals(t *testing.T) {
	t.Parallel()
	server, socket := redisOnSocket(t)
	for _, url := range []string{
		strings.Replace(server.URL(), "redis", "REDIS", 1), strings.Replace(server.URL(), "redis", "Redis", 1),
		"UNIX://:secret@" + socket,
	} {
		if err := useLock(t.Context(), url, nil); err != nil {
			t.Errorf("Open(%q): %v", url, err)
		}
	}
	cluster := testenv.Cluster(t, 1)
	if err := useLock(t.Context(), strings.Replace(cluster.URL(), "redis+cluster", "Redis+CLUSTER", 1), nil); err != nil {
		t.Error(err)
	}
}

// Options that go-redis refuses by a panic, or that ask for replicas.
func TestOpen_refusedOptions(t *testing.T) {
	for url, want := range map[string]string{
		"redis://u:secret@127.0.0.1:1/0?pool_size=99999999999":           "options",
		"redis+sentinel://u:secret@127.0.0.1:1/m?route_by_latency=true":  "replicas",
		"redis+sentinel://u:secret@127.0.0.1:1/m?route_randomly=true":    "replicas",
		"redis+sentinel://u:secret@127.0.0.1:1/m?replica_only=true":      "replicas",
		"redis+cluster://u:secret@127.0.0.1:1?pool_size=99999999999":     "",
		"redis+sentinel://u:secret@127.0.0.1:1/m?pool_size=999999999999": "",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): %v", url, err)
		}
	}
}

// tlsServer is a server that speaks TLS on another port than its own.
func tlsServer(t *testing.T) (server *testenv.RedisServer, tlsAddr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certDER, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: certDER}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER},
	}
	dir := t.TempDir()
	for name, block := range files {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tlsAddr = ln.Addr().String()
	_ = ln.Close()
	_, port, _ := strings.Cut(tlsAddr, ":")
	return testenv.Redis(t, testenv.RedisConfig{Password: "secret", Args: []string{
		"--tls-port", port, "--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"),
		"--tls-ca-cert-file", filepath.Join(dir, "cert.pem"), "--tls-auth-clients", "no",
	}}), tlsAddr
}

// TLS and none, mistaken for each other, are named as the cause.
func TestOpen_tlsMistaken(t *testing.T) {
	t.Parallel()
	server, tlsAddr := tlsServer(t)
	if err := useLock(t.Context(), "rediss://:secret@"+tlsAddr+"/0?skip_verify=true", nil); err != nil {
		t.Fatalf("the server does not speak TLS: %v", err)
	}
	for url, want := range map[string]string{
		"redis://:secret@" + tlsAddr + "/0":                 tlsAddr + " speaks TLS: write rediss",
		"redis+cluster://:secret@" + tlsAddr:                tlsAddr + " speaks TLS: write rediss",
		"redis+sentinel://:secret@" + tlsAddr + "/m":        tlsAddr + " speaks TLS: write rediss",
		"rediss://:secret@" + server.Addr() + "/0":          server.Addr() + " does not speak TLS: write redis",
		"rediss+cluster://:secret@" + server.Addr():         server.Addr() + " does not speak TLS: write redis",
		"rediss+sentinel://:secret@" + server.Addr() + "/m": server.Addr() + " does not speak TLS: write redis",
		"rediss://:secret@" + tlsAddr + "/0":                "certificate", // which nobody has signed
		"redis://:wrong@" + server.Addr() + "/0":            "WRONGPASS",
	} {
		_, err := lockrt.Open(testContext(t), url, lockrt.Config{})
		for range 9 { // a busy machine does not find the cause in time
			if err != nil && !strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "did not answer within") {
				_, err = lockrt.Open(testContext(t), url, lockrt.Config{})
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): %v, want %q", url, err, want)
		}
		if strings.Contains(want, "cert") != strings.Contains(err.Error(), "certificate") ||
			!strings.Contains(want, "speak") && strings.Contains(err.Error(), "speak") {
			t.Errorf("Open(%q) names a cause that is none: %v", url, err)
		}
	}
}

func TestOpen_replica(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	host, port, _ := net.SplitHostPort(master.Addr())
	replica := testenv.Redis(t, testenv.RedisConfig{Args: []string{"--replicaof", host + " " + port}})
	setACL(t, newClient(t, replica), "lock")
	testsync.Eventually(t, "the replica has the data of its master", func() bool {
		return strings.Contains(newClient(t, replica).Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	for _, url := range []string{replica.URL(), aclURL(replica.URL())} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err == nil || !strings.Contains(err.Error(), "read-only replica") || strings.Contains(err.Error(), "pa/ss") {
			t.Errorf("Open of a replica: %v", err)
		}
		if url == replica.URL() && !strings.Contains(err.Error(), "replica of "+master.Addr()) {
			t.Errorf("the error does not name the master: %v", err)
		}
	}
	if err := newClient(t, replica).ConfigSet(t.Context(), "replica-read-only", "no").Err(); err != nil {
		t.Fatal(err)
	}
	if err := useLock(t.Context(), replica.URL(), nil); err != nil {
		t.Errorf("a replica that may be written to: %v", err)
	}
}

func TestOpen_evictionPolicy(t *testing.T) {
	t.Parallel()
	const warning = "maxmemory-policy=volatile-lru"
	server := testenv.Redis(t, testenv.RedisConfig{Args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}})
	setACL(t, newClient(t, server), "lock")
	plain := testenv.Redis(t, testenv.RedisConfig{Args: []string{"--maxmemory", "100mb"}})
	cluster := testenv.Cluster(t, 2)
	if err := newClient(t, cluster.Nodes[1]).ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err(); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{
		server.URL(): 1, aclURL(server.URL()): 0, plain.URL(): 0, cluster.URL(): 1,
	} {
		var log testsync.Log
		if err := useLock(t.Context(), url, log.Logger()); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if n := strings.Count(log.String(), warning); n != want || strings.Count(log.String(), "level=WARN") != want {
			t.Errorf("%s: %d warnings, want %d:\n%s", url, n, want, log.String())
		}
	}
}

// A server accepts and never answers: whoever gives up waits no longer, and the bound of Open is not the caller's.
func TestOpen_silentAndCancelled(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() { opened <- useLock(ctx, server.URL()+"?read_timeout=10m", nil) }()
	cancel()
	select {
	case err := <-opened:
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Open goes on after its context was cancelled")
	}
	err := useLock(t.Context(), server.URL()+"?read_timeout=10m", nil)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("without an answer: %v", err)
	}
}
