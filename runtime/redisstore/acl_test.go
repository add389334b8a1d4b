package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

// aclPassword must be percent-encoded in a URL, and must not be seen anywhere else.
const aclPassword = "pa/ss:w@rd?%"

// statedACL returns what doc.go tells operators to give a user: the words behind ACL SETUSER name.
func statedACL(t *testing.T, user string) []string {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?m)^//\tACL SETUSER ` + user + ` (.*\n(?://\t.*\n)*)`).FindSubmatch(doc)
	if block == nil {
		t.Fatalf("doc.go has no indented block that begins with ACL SETUSER %s", user)
	}
	return strings.Fields(strings.ReplaceAll(string(block[1]), "//\t", " "))
}

// aclRules are the stated rules for the keys of namespace.
func aclRules(t *testing.T, namespace string) []any {
	t.Helper()
	var rules []any
	for _, rule := range statedACL(t, "app") {
		switch rule {
		case ">PASSWORD":
			rule = ">" + aclPassword
		case "~lock:{*":
			rule = "~" + namespace + ":{*"
		}
		rules = append(rules, rule)
	}
	return rules
}

// aclServer is a server with a user app that may do what doc.go says, and no more.
func aclServer(t *testing.T, namespace string) (*testenv.RedisServer, *redis.Client) {
	t.Helper()
	server := testenv.Redis(t)
	admin := newClient(t, server)
	setACL(t, admin, namespace)
	return server, admin
}

func setACL(t *testing.T, admin *redis.Client, namespace string) {
	t.Helper()
	if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "app"}, aclRules(t, namespace)...)...).Err(); err != nil {
		t.Fatalf("the server does not take the rules of doc.go: %v", err)
	}
	if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// aclURL is the URL of a server for the user app.
func aclURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u.Scheme + "://app:" + url.QueryEscape(aclPassword) + "@" + u.Host + u.Path
}

// denied returns what the server refused the user, apart from wrong passwords. The client introduces itself to servers
// that listen to that, and does without where it may not; Open asks for what it does not need.
func denied(t *testing.T, admin *redis.Client) []string {
	t.Helper()
	entries, err := admin.ACLLog(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, entry := range entries {
		if entry.Reason != "auth" && !strings.HasPrefix(entry.Object, "client|") && entry.Object != "info" {
			objects = append(objects, entry.Reason+" "+entry.Object+" in "+entry.Context)
		}
	}
	return objects
}

func TestACL_conformance(t *testing.T) {
	t.Parallel()
	// The suite's namespaces are "storetest …"; rules hold no spaces.
	server, admin := aclServer(t, "storetest?*")
	storetest.Run(t, func(t *testing.T) lockrt.Store {
		client := redis.NewClient(&redis.Options{
			Addr: server.Addr(), Username: "app", Password: aclPassword, ContextTimeoutEnabled: true,
		})
		t.Cleanup(func() { _ = client.Close() })
		return redisstore.New(client, redisstore.Config{})
	})
	if refused := denied(t, admin); len(refused) > 0 {
		t.Errorf("the rules of doc.go are too narrow; refused were: %q", refused)
	}
	wantUsed(t, admin)
}

// wantUsed checks that the user needed every command that doc.go lists.
func wantUsed(t *testing.T, admin *redis.Client) {
	t.Helper()
	stats, err := admin.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range statedACL(t, "app") {
		command, isCommand := strings.CutPrefix(rule, "+")
		// The client calls EVAL once at the most, where the server does not know a script yet, and PING where it doubts
		// a subscription, and when a store is opened by its URL.
		if isCommand && command != "ping" && !strings.Contains(stats, "cmdstat_"+command+":") {
			t.Errorf("doc.go lists +%s, which nothing uses", command)
		}
	}
}

// A Locker that was opened by URL, with everything that operators do too; and nobody hears of the password.
func TestACL_lockerByURL(t *testing.T) {
	server, admin := aclServer(t, "lock")
	var log testsync.Log
	open := func(node string) *lockrt.Locker {
		locks, err := lockrt.Open(t.Context(), aclURL(server.URL()), lockrt.Config{Node: node, Logger: log.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	ctx := testContext(t)
	a, b := open("a"), open("b")
	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: long, MinHold: time.Millisecond})
	next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, a, "k", 1)
	if infos, err := b.List(ctx, ""); err != nil || len(infos) != 1 {
		t.Errorf("List: %v, %v", infos, err)
	}
	if err := errors.Join(lease.Extend(ctx, 2*long), lease.Check(ctx), b.Break(ctx, "k", "test")); err != nil {
		t.Error(err)
	}
	<-lease.Done() // told by a push
	taken := (<-next).must(t)
	mustRelease(ctx, t, taken)
	all := mustAcquire(ctx, t, b, "held at the end", lockrt.Options{TTL: long})
	if err := errors.Join(a.Close(ctx), b.Close(ctx)); err != nil {
		t.Errorf("close: %v", err)
	}
	if refused := denied(t, admin); len(refused) > 0 {
		t.Errorf("the rules of doc.go are too narrow; refused were: %q", refused)
	}
	if text := log.String(); strings.Contains(text, "pa/ss") || strings.Contains(text, url.QueryEscape(aclPassword)) || !strings.Contains(text, "lock broken") {
		t.Errorf("the log has the password, or not what happened:\n%s", text)
	}
	if all.Err() == nil {
		t.Error("close left a lease")
	}
}

// Rules for one namespace keep an application off the locks, and the pushes, of others.
func TestACL_otherNamespaceIsRefused(t *testing.T) {
	server, _ := aclServer(t, "lock")
	locks, err := lockrt.Open(t.Context(), aclURL(server.URL()), lockrt.Config{Namespace: "other", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: long})
	_ = lease.Release(t.Context())
	if err == nil || errors.Is(err, lockrt.ErrBusy) || !redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "pa/ss") {
		t.Errorf("the error is %v, want NOPERM and not the password", err)
	}
}

// A cluster's client asks every node for the slots, and reads each node's keys for a list.
func TestACL_cluster(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 2)
	for _, node := range cluster.Nodes {
		setACL(t, newClient(t, node), "lock")
		// What doc.go adds for a cluster.
		if err := newClient(t, node).Do(t.Context(), "ACL", "SETUSER", "app", "+cluster|slots", "+command").Err(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := testContext(t)
	locks, err := lockrt.Open(ctx, aclURL(cluster.URL()), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range 10 {
		keys = append(keys, fmt.Sprint("key", i))
	}
	leases, err := locks.AcquireAll(ctx, keys, lockrt.Options{TTL: long, Wait: long})
	if err != nil {
		t.Fatal(err)
	}
	if infos, err := locks.List(ctx, ""); err != nil || len(infos) != len(keys) {
		t.Errorf("%d locks are listed, %v; want %d", len(infos), err, len(keys))
	}
	if err := errors.Join(leases.Release(ctx), locks.Close(ctx)); err != nil {
		t.Error(err)
	}
	for _, node := range cluster.Nodes {
		if refused := denied(t, newClient(t, node)); len(refused) > 0 {
			t.Errorf("refused were: %q", refused)
		}
	}
}
