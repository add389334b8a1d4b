package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/lockgen/lockgen/internal/hostlist"
	"github.com/lockgen/lockgen/internal/tlsquery"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func init() {
	lockrt.Register("etcd", openURL)
	lockrt.Register("etcds", openURL)
}

const (
	urlForm     = "etcd://[user:password@]host:port,host:port,…/prefix, or etcds:// for TLS"
	defaultPort = "2379"
	// aliveTime and aliveTimeout are how often the client asks a silent connection whether it lives. Servers cut off
	// clients that ask more often.
	aliveTime    = 5 * time.Second
	aliveTimeout = 3 * time.Second
	// clientTries is how often the client tries a call itself: once more after its token has run out.
	clientTries = 2
)

func openURL(ctx context.Context, text string) (lockrt.Store, error) {
	p, err := parseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%w: etcd URL: %w; the form is %s", lockrt.ErrOptions, err, urlForm)
	}
	began := time.Now()
	client, err := p.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", p, p.scrub(explain(ctx, began, err)))
	}
	s := New(client, p.cfg)
	s.owned = true
	limited, cancel := bounded(ctx)
	defer cancel()
	if _, err := s.ready(limited); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd at %s: %w", p, p.scrub(explain(ctx, began, err)))
	}
	return s, nil
}

// connect makes the client. With a user it asks the servers for a token.
func (p address) connect(ctx context.Context) (*etcd.Client, error) {
	limited, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	client, _, err := repeat(limited, func(context.Context) (*etcd.Client, error) { return etcd.New(p.client) })
	return client, err
}

// failFast lets a call fail when no server can be reached, with the reason. The client would wait until the call's time
// is over, and keep the reason to itself. The store tries again.
func failFast(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	o ...grpc.CallOption,
) error {
	return invoke(ctx, method, req, reply, conn, append(o[:len(o):len(o)], grpc.WaitForReady(false))...)
}

// failFastStream is failFast for signs of life and watches, which are streams.
func failFastStream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	o ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return open(ctx, desc, conn, method, append(o[:len(o):len(o)], grpc.WaitForReady(false))...)
}

// address is a parsed URL. net/url does not take several hosts, so they are taken apart here.
type address struct {
	hosts    []string
	password string
	cfg      Config
	client   etcd.Config
}

// String is without user and password.
func (p address) String() string { return strings.Join(p.hosts, ",") }

// scrub makes sure that an error does not repeat the password.
func (p address) scrub(err error) error {
	if err == nil || p.password == "" || !strings.Contains(err.Error(), p.password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), p.password, "xxxxx"))
}

func parseAddress(text string) (p address, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return p, errors.New("// is missing after the scheme")
	}
	rest, options, _ := strings.Cut(rest, "?")
	authority, prefix, _ := strings.Cut(rest, "/")
	if prefix, err = url.PathUnescape(prefix); err != nil {
		return p, errors.New("the prefix holds a % that begins no escape")
	}
	p.cfg.Prefix = prefix
	p.client = etcd.Config{
		DialTimeout: callTime, DialKeepAliveTime: aliveTime, DialKeepAliveTimeout: aliveTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(reconnect),
			grpc.WithChainUnaryInterceptor(failFast), grpc.WithChainStreamInterceptor(failFastStream),
		},
		MaxUnaryRetries: clientTries,
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := p.setUser(authority[:at]); err != nil {
			return p, err
		}
		authority = authority[at+1:]
	}
	if err := p.setHosts(authority, scheme == "etcds"); err != nil {
		return p, err
	}
	query, err := url.ParseQuery(options)
	if err != nil {
		return p, errors.New("its options cannot be read")
	}
	if err := p.setOptions(query, scheme == "etcds"); err != nil {
		return p, err
	}
	_, err = p.cfg.withDefaults()
	return p, err
}

// reconnect is how soon the client looks whether a server is there again.
var reconnect = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
	},
	MinConnectTimeout: aliveTimeout,
}

func (p *address) setUser(text string) error {
	u, err := url.Parse("etcd://" + text + "@host")
	if err != nil || strings.Contains(text, "@") {
		return errors.New("user or password hold characters that must be percent-encoded")
	}
	p.client.Username = u.User.Username()
	p.client.Password, _ = u.User.Password()
	p.password = p.client.Password
	if p.client.Username == "" || p.password == "" {
		return errors.New("write both, user and password")
	}
	return nil
}

func (p *address) setHosts(authority string, secure bool) error {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	hosts, err := hostlist.Parse(authority, defaultPort)
	if err != nil {
		return err
	}
	p.hosts = hosts
	for _, host := range hosts {
		p.client.Endpoints = append(p.client.Endpoints, scheme+host)
	}
	return nil
}

func (p *address) setOptions(query url.Values, secure bool) error {
	known := tlsquery.Options()
	for name, values := range query {
		switch {
		case len(values) > 1:
			return fmt.Errorf("the option %q is there %d times", name, len(values))
		case !slices.Contains(known, name):
			return fmt.Errorf("it has no option %q; known are %s, of etcds://", name, strings.Join(known, ", "))
		case !secure:
			return fmt.Errorf("the option %q is for TLS: write etcds://", name)
		}
	}
	if !secure {
		return nil
	}
	cfg, err := tlsquery.Config(query)
	if err != nil {
		return err
	}
	p.client.TLS = cfg
	if cfg.ServerName != "" {
		p.client.DialOptions = append(p.client.DialOptions,
			grpc.WithTransportCredentials(named{credentials.NewTLS(cfg), cfg.ServerName}))
	}
	return nil
}

// named are credentials that expect one name of all servers. The client of etcd expects of each server the host by which
// it is reached, whatever its tls.Config says.
type named struct {
	credentials.TransportCredentials
	name string
}

func (n named) ClientHandshake(ctx context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return n.TransportCredentials.ClientHandshake(ctx, n.name, c)
}

func (n named) Clone() credentials.TransportCredentials {
	return named{n.TransportCredentials.Clone(), n.name}
}
