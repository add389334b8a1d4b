package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// openTimeout bounds the first contact of lockrt.Open.
const openTimeout = 3 * time.Second

func init() {
	register("unix", "[user:password@]/path/of/the.sock?db=0", openUnix)
	for scheme, kind := range map[string]struct {
		form string
		open func(place) (redis.UniversalClient, error)
	}{
		"redis":          {"[user:password@]host:port/db", openSingle},
		"redis+sentinel": {"[user:password@]host:port,host:port,…/master/db", openSentinel},
		"redis+cluster":  {"[user:password@]host:port,host:port,…", openCluster},
	} {
		register(scheme, kind.form, kind.open)
		register(strings.Replace(scheme, "redis", "rediss", 1), kind.form, kind.open)
	}
}

func register(scheme, form string, open func(place) (redis.UniversalClient, error)) {
	lockrt.Register(scheme, func(ctx context.Context, text string) (lockrt.Store, error) {
		p, client, err := parse(text, open)
		if err != nil {
			return nil, fmt.Errorf("redis URL: %w; the form is %s://%s", err, scheme, form)
		}
		return connect(ctx, p, client)
	})
}

func parse(text string, open func(place) (redis.UniversalClient, error)) (place, redis.UniversalClient, error) {
	p, err := parsePlace(text)
	if err != nil {
		return p, nil, err
	}
	client, err := open(p)
	return p, client, scrub(err)
}

// connect asks for one sign of life.
func connect(ctx context.Context, p place, client redis.UniversalClient) (lockrt.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err := dialAny(ctx, p)
	if err == nil {
		err = client.Ping(ctx).Err()
	}
	if err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("reach redis at %s: %w; is it running, and are address and password right?", p, err)
	}
	return &Store{client: client, owned: true}, nil
}

// dialAny finds out whether any host takes connections. The client would too, but in several rounds that hide the cause
// and log it to standard error.
func dialAny(ctx context.Context, p place) error {
	network := "tcp"
	if p.unix {
		network = "unix"
	}
	var errs []error
	for _, host := range p.hosts {
		if _, _, err := net.SplitHostPort(host); err != nil && !p.unix {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "6379")
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, host)
		if err == nil {
			return conn.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// place is a parsed URL. net/url does not take several hosts, so they are taken apart here.
type place struct {
	tls   bool
	unix  bool // the one host is the path of a socket
	user  *url.Userinfo
	hosts []string
	path  []string // master, db
	query url.Values
}

// String is without the password.
func (p place) String() string {
	return strings.Join(append([]string{strings.Join(p.hosts, ",")}, p.path...), "/")
}

func parsePlace(text string) (p place, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return p, errors.New("// is missing after the scheme")
	}
	p.tls = strings.HasPrefix(scheme, "rediss")
	rest, query, _ := strings.Cut(rest, "?")
	if p.query, err = url.ParseQuery(query); err != nil {
		return p, fmt.Errorf("its options: %w", err)
	}
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u, err := url.Parse("redis://" + authority[:at] + "@host")
		if err != nil {
			return p, errors.New("user or password hold characters that must be percent-encoded")
		}
		p.user, authority = u.User, authority[at+1:]
	}
	if p.unix = scheme == "unix"; p.unix {
		return p, p.setSocket(authority, path)
	}
	if authority == "" {
		return p, errors.New("the host is missing")
	}
	p.hosts = strings.Split(authority, ",")
	for _, part := range strings.Split(path, "/") {
		if part != "" {
			p.path = append(p.path, part)
		}
	}
	return p, nil
}

func (p *place) setSocket(authority, path string) error {
	if authority != "" || path == "" {
		return errors.New("the path of the socket is missing or not absolute; write three slashes")
	}
	path, err := url.PathUnescape("/" + path)
	p.hosts = []string{path}
	return err
}

// url returns a URL as go-redis takes it: one host, the others as options.
func (p place) url(path string) string {
	u := url.URL{Scheme: "redis", User: p.user, Host: p.hosts[0], Path: path}
	if p.tls {
		u.Scheme = "rediss"
	}
	query := url.Values{}
	for name, values := range p.query {
		query[name] = values
	}
	for _, host := range p.hosts[1:] {
		query.Add("addr", host)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func openSingle(p place) (redis.UniversalClient, error) {
	if len(p.hosts) > 1 {
		return nil, errors.New("it names several hosts; use redis+sentinel:// or redis+cluster://")
	}
	opts, err := redis.ParseURL(p.url("/" + strings.Join(p.path, "/")))
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}

func openUnix(p place) (redis.UniversalClient, error) {
	u := url.URL{Scheme: "unix", User: p.user, Path: p.hosts[0], RawQuery: p.query.Encode()}
	opts, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}

func openSentinel(p place) (redis.UniversalClient, error) {
	if len(p.path) == 0 || len(p.path) > 2 {
		return nil, errors.New("the master's name is missing")
	}
	user := p.user // of the servers; go-redis would take it for the sentinels'
	p.user = nil
	if sentinelPassword := p.query.Get("sentinel_password"); sentinelPassword != "" {
		p.user = url.UserPassword(p.query.Get("sentinel_username"), sentinelPassword)
		p.query.Del("sentinel_password")
		p.query.Del("sentinel_username")
	}
	opts, err := redis.ParseFailoverURL(p.url(""))
	if err != nil {
		return nil, err
	}
	opts.MasterName = p.path[0]
	if len(p.path) == 2 {
		if opts.DB, err = strconv.Atoi(p.path[1]); err != nil {
			return nil, fmt.Errorf("database number %q is not a number", p.path[1])
		}
	}
	if user != nil {
		opts.Username = user.Username()
		opts.Password, _ = user.Password()
	}
	opts.ContextTimeoutEnabled = true
	return redis.NewFailoverClient(opts), nil
}

func openCluster(p place) (redis.UniversalClient, error) {
	if len(p.path) > 0 {
		return nil, errors.New("a cluster has no database numbers")
	}
	opts, err := redis.ParseClusterURL(p.url(""))
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	return redis.NewClusterClient(opts), nil
}

// scrub drops what net/url repeats of the text, whole or in part: it may hold a password.
func scrub(err error) error {
	if parse := new(url.Error); errors.As(err, &parse) {
		return errors.New("host, port or password are malformed; in a password, percent-encode all but letters and digits")
	}
	return err
}
