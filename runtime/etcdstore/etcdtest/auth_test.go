package etcdtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// With authentication an account with the right to the prefix is enough. No password is in any error.
func TestOpen_auth(t *testing.T) {
	const password = "s3cret/ and more"
	c := start(t, 1, testetcd.Options{})
	enableAuth(t, c.client(t), password)
	addr := c.Members[0].Addr()
	locks := open(t, "etcd://app:s3cret%2F%20and%20more@"+addr+"/team")
	a := acquire(t, locks, "k", lockrt.Options{TTL: time.Second, Wait: time.Minute, MinHold: time.Millisecond})
	release(t, a)
	if err := locks.Break(t.Context(), "none", "test"); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("break of a free lock: %v", err)
	}
	for url, want := range map[string]string{
		"etcd://app:wrong%2Fs3cret@" + addr + "/team": "authentication failed",
		"etcd://" + addr + "/team":                    "",
	} {
		other, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err == nil {
			_, err = other.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
			_ = other.Close(t.Context())
		}
		says(t, err, want)
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
	elsewhere := open(t, "etcd://app:s3cret%2F%20and%20more@"+addr+"/other")
	_, err := elsewhere.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	says(t, err, "permission denied", "Config.Prefix")
}

// tokenServer is a member that has not heard of a token when it is used for the first time.
type tokenServer struct {
	etcd.Lease
	asked atomic.Int64
}

func (s *tokenServer) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	if s.asked.Add(1)%2 == 1 {
		return nil, rpctypes.ErrInvalidAuthToken
	}
	return s.Lease.KeepAliveOnce(ctx, id)
}

// The client has a new token made for each sign of life, and a member that is behind does not know it yet. That is asked
// again, and nobody hears of it.
func TestStore_tokenThatIsNotKnownYet(t *testing.T) {
	t.Parallel() // it waits more than it works
	client := start(t, 1, testetcd.Options{}).client(t)
	server := &tokenServer{Lease: client.Lease}
	client.Lease = server
	var log strings.Builder // of one goroutine, which ends with the Locker
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	lease := acquire(t, locks, "k", lockrt.Options{TTL: time.Second})
	eventually(t, "five signs of life are given", func() bool { return server.asked.Load() >= 10 })
	release(t, lease)
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "kept alive") {
		t.Errorf("it was told of: %s", log.String())
	}
}

func open(t *testing.T, url string) *lockrt.Locker {
	t.Helper()
	locks, err := lockrt.Open(t.Context(), url, lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return locks
}

// TLS with certificates of both sides.
func TestOpen_tls(t *testing.T) {
	files := certificates(t)
	c := start(t, 1, testetcd.Options{TLS: files})
	url := "etcds://" + c.Members[0].Addr() + "/team?ca=" + files.CA + "&cert=" + files.Cert + "&key=" + files.Key
	release(t, acquire(t, open(t, url), "k", lockrt.Options{TTL: long}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := lockrt.Open(ctx, "etcds://"+c.Members[0].Addr(), lockrt.Config{})
	says(t, err, c.Members[0].Addr())
}

// Certificates may name the servers otherwise than the URL does. What they have to say is server_name, and nothing else.
func TestOpen_serverName(t *testing.T) {
	for name, c := range map[string]struct {
		names []string // of the certificate; none: 127.0.0.1
		asked string
		wrong string
	}{
		"its name":     {[]string{"etcd.test"}, "&server_name=etcd.test", ""},
		"no name":      {[]string{"etcd.test"}, "", "127.0.0.1"},
		"another name": {nil, "&server_name=etcd.test", "etcd.test"},
	} {
		t.Run(name, func(t *testing.T) {
			files := certificates(t, c.names...)
			addr := start(t, 1, testetcd.Options{TLS: files}).Members[0].Addr()
			url := "etcds://" + addr + "/team?ca=" + files.CA + "&cert=" + files.Cert + "&key=" + files.Key + c.asked
			if c.wrong == "" {
				release(t, acquire(t, open(t, url), "k", lockrt.Options{TTL: long}))
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := lockrt.Open(ctx, url, lockrt.Config{})
			says(t, err, c.wrong)
			says(t, err, "x509")
		})
	}
}

// certificates makes a certificate that is its own authority, for 127.0.0.1 or for other names.
func certificates(t *testing.T, names ...string) *testetcd.Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(names) > 0 {
		template.IPAddresses, template.DNSNames = nil, names
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certFile := write("cert.pem", "CERTIFICATE", cert)
	return &testetcd.Files{CA: certFile, Cert: certFile, Key: write("key.pem", "EC PRIVATE KEY", der)}
}

// The right to the prefix is taken away for a moment in which a lock is released, and another one of its process is held
// on. It is free when the right is back.
func TestStore_releaseIsDeniedForAWhile(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	enableAuth(t, c.client(t), "secret")
	root, err := etcd.New(etcd.Config{Endpoints: c.Addrs(), Username: "root", Password: "root", Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	url := "etcd://app:secret@" + c.Members[0].Addr() + "/team"
	a, b := open(t, url), open(t, url)
	acquire(t, a, "other", lockrt.Options{TTL: long})
	held := acquire(t, a, "k", lockrt.Options{TTL: long})
	end := etcd.GetPrefixRangeEnd("team/")
	if _, err := root.RoleRevokePermission(t.Context(), "team", "team/", end); err != nil {
		t.Fatal(err)
	}
	says(t, held.Release(t.Context()), "permission denied")
	time.Sleep(100 * time.Millisecond) // it is tried again
	_, err = root.RoleGrantPermission(t.Context(), "team", "team/", end, etcd.PermissionType(etcd.PermReadWrite))
	if err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, b, "k", lockrt.Options{TTL: long, Wait: 20 * time.Second}))
}

// deniedKV takes no writes of this account while it is closed.
type deniedKV struct {
	etcd.KV
	closed atomic.Bool
}

func (k *deniedKV) Do(ctx context.Context, op etcd.Op) (etcd.OpResponse, error) {
	if k.closed.Load() && !op.IsGet() {
		return etcd.OpResponse{}, rpctypes.ErrPermissionDenied
	}
	return k.KV.Do(ctx, op)
}

func (k *deniedKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		if k.closed.Load() && writes(thens) {
			return nil, rpctypes.ErrPermissionDenied
		}
		return txn.Commit()
	}}
}

// A process that may not delete its locks closes. It ends its leases of etcd, and the locks with them, however many they are.
func TestStore_Close_deniedReleases(t *testing.T) {
	client := start(t, 1, testetcd.Options{}).client(t)
	servers := &deniedKV{KV: client.KV}
	client.KV = servers
	locks := strictLocker(t, client)
	var held []*lockrt.Lease
	for i := range 1200 {
		held = append(held, acquire(t, locks, fmt.Sprint("k", i), lockrt.Options{TTL: long}))
	}
	servers.closed.Store(true)
	for _, lease := range held {
		says(t, lease.Release(t.Context()), "permission denied")
	}
	time.Sleep(5 * time.Second) // they are tried again, more and more seldom
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := client.Leases(t.Context())
	if err != nil || len(left.Leases) > 0 {
		t.Errorf("%d leases of etcd are left, %v", len(left.Leases), err)
	}
}

// What is to keep a lock is denied for longer than a lease of etcd lives that nobody uses. That one has the lock meanwhile.
func TestStore_MinHold_deniedForLong(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	servers := &deniedKV{KV: client.KV}
	client.KV = servers
	locks := strictLocker(t, client)
	held := acquire(t, locks, "k", lockrt.Options{TTL: 10 * time.Second, MinHold: time.Hour})
	servers.closed.Store(true)
	says(t, held.Release(t.Context()), "permission denied")
	time.Sleep(75 * time.Second)
	if keys := locksOf(t, c); len(keys) != 1 {
		t.Errorf("%d locks are kept, want 1", len(keys))
	}
	servers.closed.Store(false)
}

// enableAuth makes an account "app" with the right to what begins with team/.
func enableAuth(t *testing.T, client *etcd.Client, password string) {
	t.Helper()
	for _, do := range []func() error{
		func() error { _, err := client.RoleAdd(t.Context(), "root"); return err },
		func() error { _, err := client.UserAdd(t.Context(), "root", "root"); return err },
		func() error { _, err := client.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := client.RoleAdd(t.Context(), "team"); return err },
		func() error {
			_, err := client.RoleGrantPermission(t.Context(), "team", "team/", etcd.GetPrefixRangeEnd("team/"),
				etcd.PermissionType(etcd.PermReadWrite))
			return err
		},
		func() error { _, err := client.UserAdd(t.Context(), "app", password); return err },
		func() error { _, err := client.UserGrantRole(t.Context(), "app", "team"); return err },
		func() error { _, err := client.AuthEnable(t.Context()); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}
