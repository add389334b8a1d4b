package zkstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// pemFiles are a certificate that signs itself, its key, and both in one file.
type pemFiles struct{ cert, key, both string }

func certificate(t *testing.T) pemFiles {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, certErr := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	der, keyErr := x509.MarshalPKCS8PrivateKey(private)
	if err := errors.Join(certErr, keyErr); err != nil {
		t.Fatal(err)
	}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return pemFiles{
		write("cert.pem", certText), write("key.pem", keyText), write("both.pem", append(keyText, certText...)),
	}
}

// A server that takes clients by TLS, if they have a certificate. Without one, or without trust in that of the server,
// no store is opened, and the error says why as far as it is known.
func TestOpen_tls(t *testing.T) {
	files, other := certificate(t), certificate(t)
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{
		Tick: tick, TLS: &testenv.ZooKeeperTLS{CA: files.cert, Key: files.both},
	})
	secure := "zks://" + e.Servers[0].SecureAddr() + "?session=4s&tick=500ms"
	with := func(ca, cert, key string) string {
		options := url.Values{"ca": {ca}}
		if cert != "" {
			options.Set("cert", cert)
			options.Set("key", key)
		}
		return secure + "&" + options.Encode()
	}
	var locks *lockrt.Locker
	eventually(t, "a busy server takes the connection", func() (opened bool) {
		var err error
		if locks, err = lockrt.Open(t.Context(), with(files.cert, files.cert, files.key), lockrt.Config{}); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	defer locks.Close(context.Background())
	held := acquire(t, locks, "k", lockrt.Options{TTL: time.Second})
	if _, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("the error is %v, want ErrBusy", err)
	}
	was := held.Deadline()
	eventually(t, "the lease is renewed", func() bool { return held.Deadline().After(was) || held.Err() != nil })
	release(t, held)
	for url, want := range map[string]string{
		with(other.cert, files.cert, files.key): "certificate",
		with(files.cert, "", ""):                "within",
		secure:                                  "certificate",
		"zk://" + e.Servers[0].SecureAddr():     "within",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		says(t, err, want)
	}
}
