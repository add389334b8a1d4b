package etcdtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page of the store names the versions with which it is tested.
func TestDocs_versions(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{
		"Tested with etcd ":                          "server",
		"the client `go.etcd.io/etcd/client/v3` at ": "client",
	} {
		found := regexp.MustCompile(`\sgo\.etcd\.io/etcd/` + name + `/v3 v(\S+)`).FindSubmatch(mod)
		if found == nil {
			t.Fatalf("go.mod has no version of the %s", name)
		}
		if want := what + string(found[1]); !strings.Contains(string(page), want+",") && !strings.Contains(string(page), want+".\n") {
			t.Errorf("docs/etcd.md does not say %q", want)
		}
	}
}
