// Package tlsquery reads the options of a store's URL that are about TLS.
package tlsquery

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"slices"
)

// What the options are called.
const (
	ca, cert, key, server = "ca", "cert", "key", "server_name"
)

// Options are the names of all options, in the order in which errors list them.
func Options() []string { return slices.Clone([]string{ca, cert, key, server}) }

// Config is made of a URL's options: ca names a file with the certificates that servers are checked against, cert and key
// name files with a client's own, server_name is the name that servers must have. Files are in PEM.
func Config(query url.Values) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: query.Get(server)}
	if file := query.Get(ca); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("the option %s: %w", ca, err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the option %s: %s has no certificate in PEM", ca, file)
		}
	}
	certFile, keyFile := query.Get(cert), query.Get(key)
	if (certFile == "") != (keyFile == "") {
		return nil, fmt.Errorf("the options %s and %s belong together: write both", cert, key)
	}
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("the options %s and %s: %w", cert, key, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
