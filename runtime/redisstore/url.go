package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func init() {
	register("unix", "[user:password@]/path/of/the.sock?db=0", openUnix)
	for scheme, kind := range map[string]struct {
		form string
		open openClient
	}{
		"redis":          {"[user:password@]host:port/db", openSingle},
		"redis+sentinel": {"[user:password@]host:port,host:port,…/master/db", openSentinel},
		"redis+cluster":  {"[user:password@]host:port,host:port,…", openCluster},
	} {
		register(scheme, kind.form, kind.open)
		register(strings.Replace(scheme, "redis", "rediss", 1), kind.form, kind.open)
	}
}

// openClient makes the client of one kind of URL. The client's log lines go to the clientLog.
type openClient func(address, *clientLog) (redis.UniversalClient, error)

func register(scheme, form string, open openClient) {
	lockrt.Register(scheme, func(ctx context.Context, text string) (lockrt.Store, error) {
		log := newClientLog()
		p, client, err := parse(text, open, log)
		if err != nil {
			return nil, fmt.Errorf("redis URL: %w; the form is %s://%s", err, scheme, form)
		}
		s := &Store{client: client, log: log}
		if err := s.connect(ctx, p); err != nil {
			return nil, err
		}
		return s, nil
	})
}

func parse(text string, open openClient, log *clientLog) (p address, client redis.UniversalClient, err error) {
	if p, err = parseAddress(text); err != nil {
		return p, nil, err
	}
	defer func() { // go-redis panics for options that are out of range
		if r := recover(); r != nil {
			err = fmt.Errorf("the client does not take its options: %v", r)
		}
	}()
	client, err = open(p, log)
	return p, client, scrub(err)
}

// address is a parsed URL. net/url does not take several hosts, so they are taken apart here.
type address struct {
	tls   bool
	unix  bool // the only host is the path of a socket
	user  *url.Userinfo
	hosts []string
	path  []string // master's name, database
	query url.Values
}

// String is without the password.
func (p address) String() string {
	return strings.Join(append([]string{strings.Join(p.hosts, ",")}, p.path...), "/")
}

func parseAddress(text string) (p address, err error) {
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

func (p *address) setSocket(authority, path string) error {
	if authority != "" || path == "" {
		return errors.New("the path of the socket is missing or not absolute; write three slashes")
	}
	path, err := url.PathUnescape("/" + path)
	p.hosts = []string{path}
	return err
}

// url returns a URL as go-redis takes it: one host, the others as options.
func (p address) url(path string) string {
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

func openSingle(p address, log *clientLog) (redis.UniversalClient, error) {
	if len(p.hosts) > 1 {
		return nil, errors.New("it names several hosts; use redis+sentinel:// or redis+cluster://")
	}
	opts, err := redis.ParseURL(p.url("/" + strings.Join(p.path, "/")))
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	opts.Dialer = log.dialer(opts.DialTimeout, opts.TLSConfig)
	return redis.NewClient(opts), nil
}

func openUnix(p address, log *clientLog) (redis.UniversalClient, error) {
	u := url.URL{Scheme: "unix", User: p.user, Path: p.hosts[0], RawQuery: p.query.Encode()}
	opts, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	opts.Dialer = log.dialer(opts.DialTimeout, opts.TLSConfig)
	return redis.NewClient(opts), nil
}

func openSentinel(p address, log *clientLog) (redis.UniversalClient, error) {
	if len(p.path) == 0 || len(p.path) > 2 {
		return nil, errors.New("the master's name is missing")
	}
	user := p.user // the servers' user; ParseFailoverURL would take it for that of the sentinels
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
	if opts.ReplicaOnly || opts.RouteByLatency || opts.RouteRandomly {
		return nil, errors.New("it asks for replicas (replica_only, route_by_latency, route_randomly), which keep no locks")
	}
	opts.ContextTimeoutEnabled = true
	opts.Dialer = log.dialer(opts.DialTimeout, opts.TLSConfig)
	client := redis.NewFailoverClient(opts)
	client.AddHook(log) // for the log lines of its calls to sentinels
	return client, nil
}

// clusterReload is how old the client's picture of a cluster may be. A master that dies sends no MOVED, and a refused
// dial makes go-redis ask nobody who has its slots: by its own measure it would go on dialing for up to a minute.
const clusterReload = 2 * time.Second

func openCluster(p address, log *clientLog) (redis.UniversalClient, error) {
	if len(p.path) > 0 {
		return nil, errors.New("a cluster has no database numbers")
	}
	opts, err := redis.ParseClusterURL(p.url(""))
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	opts.ClusterStateReloadInterval = clusterReload
	// A call to a silent node ends soon and is repeated. By then another node may have the slot.
	opts.ReadTimeout = cmp.Or(opts.ReadTimeout, clusterReload)
	opts.DialTimeout = cmp.Or(opts.DialTimeout, clusterReload)
	opts.Dialer = log.dialer(opts.DialTimeout, opts.TLSConfig)
	return redis.NewClusterClient(opts), nil
}

// scrub drops what net/url repeats of the text, whole or in part: it may hold a password.
func scrub(err error) error {
	if parse := new(url.Error); errors.As(err, &parse) {
		return errors.New("host, port or password are malformed; in a password, percent-encode all but letters and digits")
	}
	return err
}
