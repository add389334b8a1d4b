package redisstore_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

const serverPassword, sentinelPassword, watcherPassword = "serv/er s3cret", "watch:ers s3cret", "w@tcher s3cret"

// Sentinels and servers have users and passwords of their own, which must not be taken for each other's; and neither
// the application's log, nor the client's, nor an error repeats any of them.
func TestOpen_sentinelCredentials(t *testing.T) {
	t.Parallel()
	sentinel := testenv.Sentinel(t, testenv.SentinelConfig{Password: serverPassword, SentinelPassword: sentinelPassword})
	for _, server := range []*testenv.RedisServer{sentinel.Master, sentinel.Replica} {
		setACL(t, newClient(t, server), "lock")
	}
	for _, server := range sentinel.Sentinels {
		watcher := []any{"ACL", "SETUSER", "watcher"}
		for _, rule := range statedACL(t, "watcher") {
			watcher = append(watcher, strings.Replace(rule, "PASSWORD", watcherPassword, 1))
		}
		if err := newClient(t, server).Do(t.Context(), watcher...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		user, password       string // for the servers
		watcher, watcherPass string // for the sentinels
		db                   int
		wrong                string // what the error says; none if it is empty
	}{
		"passwords":               {"", serverPassword, "", sentinelPassword, 5, ""},
		"users":                   {"app", aclPassword, "watcher", watcherPassword, 0, ""},
		"none for the sentinels":  {"", serverPassword, "", "", 0, "NOAUTH"},
		"none for the servers":    {"", "", "", sentinelPassword, 0, "NOAUTH"},
		"wrong for the sentinels": {"", serverPassword, "", serverPassword, 0, "WRONGPASS"},
		"wrong for the servers":   {"", sentinelPassword, "", sentinelPassword, 0, "WRONGPASS"},
		"another sentinel's user": {"", serverPassword, "watcher", sentinelPassword, 0, "WRONGPASS"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := newClient(t, sentinel.Master).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			text := "redis+sentinel://"
			if test.password != "" {
				text += url.UserPassword(test.user, test.password).String() + "@"
			}
			query := url.Values{}
			if test.watcherPass != "" {
				query.Set("sentinel_password", test.watcherPass)
			}
			if test.watcher != "" {
				query.Set("sentinel_username", test.watcher)
			}
			hosts := strings.Join(sentinel.Addrs(), ",")
			text += fmt.Sprintf("%s/%s/%d?%s", hosts, testenv.SentinelMaster, test.db, query.Encode())
			var log testsync.Log
			err := useLock(testContext(t), text, log.Logger())
			wantNoSecret(t, fmt.Sprint(log.String(), clientLog.String(), err))
			switch {
			case (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong):
				t.Errorf("the error is %v, want %q", err, test.wrong)
			case err == nil:
				wantDatabase(t, sentinel.Master, test.db)
			}
		})
	}
	for _, server := range append(sentinel.Sentinels, sentinel.Master) {
		if refused := denied(t, newClient(t, server)); len(refused) > 0 {
			t.Errorf("the rules of doc.go are too narrow; refused were: %q", refused)
		}
	}
}

// wantNoSecret checks that no password is told, in whatever spelling.
func wantNoSecret(t *testing.T, told string) {
	t.Helper()
	for _, secret := range []string{serverPassword, sentinelPassword, watcherPassword, aclPassword} {
		for _, spelling := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			if strings.Contains(told, spelling) {
				t.Errorf("the password %q is told to everybody:\n%s", secret, told)
			}
		}
	}
}
