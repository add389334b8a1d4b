package zkstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/hostlist"
	"github.com/lockgen/lockgen/internal/tlsquery"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func init() {
	lockrt.Register("zk", openURL)
	lockrt.Register("zks", openURL)
}

const urlForm = "zk://[user:password@]host:port,host:port,…/prefix?session=10s&tick=2s, or zks:// for TLS"

func openURL(ctx context.Context, text string) (lockrt.Store, error) {
	p, err := parseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%w: ZooKeeper URL: %w; the form is %s", lockrt.ErrOptions, err, urlForm)
	}
	store := New(p.hosts, p.cfg)
	if err := store.ping(ctx); err != nil {
		return nil, fmt.Errorf("ZooKeeper at %s: %w", p, p.scrub(err))
	}
	return store, nil
}

const endTime = 1500 * time.Millisecond

// ping makes a session of ZooKeeper and ends it.
func (s *Store) ping(ctx context.Context) error {
	checked, err := s.cfg.withDefaults()
	if err != nil {
		return err
	}
	sess := newSession(s.servers, checked, lockrt.SessionConfig{Logger: slog.New(slog.DiscardHandler)})
	l, err := newLink(sess)
	if err != nil {
		return err
	}
	began := time.Now()
	// The client may take a second to end.
	limited, cancel := context.WithTimeoutCause(ctx, callTime-endTime, errNoAnswer)
	defer cancel()
	err = explain(ctx, began, l.connect(limited))
	closing, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	l.close(closing)
	sess.calls.Close(time.Now().Add(callTime))
	return err
}

// address is a parsed URL. net/url does not take several hosts, so they are taken apart here.
type address struct {
	hosts []string
	cfg   Config
}

// String is without user and password.
func (p address) String() string { return strings.Join(p.hosts, ",") }

// scrub makes sure that an error does not repeat the password.
func (p address) scrub(err error) error {
	if p.cfg.Password == "" || !strings.Contains(err.Error(), p.cfg.Password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), p.cfg.Password, "xxxxx"))
}

func parseAddress(text string) (p address, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return p, errors.New("// is missing after the scheme")
	}
	rest, options, _ := strings.Cut(rest, "?")
	authority, prefix, _ := strings.Cut(rest, "/")
	if p.cfg.Prefix, err = url.PathUnescape(prefix); err != nil {
		return p, errors.New("the prefix holds a % that begins no escape")
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := p.setUser(authority[:at]); err != nil {
			return p, err
		}
		authority = authority[at+1:]
	}
	if p.hosts, err = hostlist.Parse(authority, defaultPort); err != nil {
		return p, err
	}
	query, err := url.ParseQuery(options)
	if err != nil {
		return p, errors.New("its options cannot be read")
	}
	if err := p.setOptions(query, scheme == "zks"); err != nil {
		return p, err
	}
	_, err = p.cfg.withDefaults()
	return p, err
}

func (p *address) setUser(text string) error {
	u, err := url.Parse("zk://" + text + "@host")
	if err != nil || strings.Contains(text, "@") {
		return errors.New("user or password hold characters that must be percent-encoded")
	}
	p.cfg.User = u.User.Username()
	p.cfg.Password, _ = u.User.Password()
	if p.cfg.User == "" || p.cfg.Password == "" {
		return errors.New("write both, user and password")
	}
	return nil
}

// What the options of both schemes are called; zks:// takes those of package tlsquery, too.
const (
	sessionOption, tickOption = "session", "tick"
)

func (p *address) setOptions(query url.Values, secure bool) error {
	all := []string{sessionOption, tickOption}
	safe := tlsquery.Options()
	for name, values := range query {
		switch {
		case len(values) > 1:
			return fmt.Errorf("the option %q is there %d times", name, len(values))
		case slices.Contains(all, name):
		case !slices.Contains(safe, name):
			return fmt.Errorf("it has no option %q; known are %s, and %s of zks://", name, strings.Join(all, ", "),
				strings.Join(safe, ", "))
		case !secure:
			return fmt.Errorf("the option %q is for TLS: write zks://", name)
		}
	}
	for name, to := range map[string]*time.Duration{sessionOption: &p.cfg.SessionTimeout, tickOption: &p.cfg.Tick} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("the option %s is %q; write a time such as 10s", name, text)
		}
		*to = d
	}
	if !secure {
		return nil
	}
	cfg, err := tlsquery.Config(query)
	if err != nil {
		return err
	}
	p.cfg.TLS = cfg
	return nil
}
