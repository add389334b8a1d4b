package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// A cluster client appends the nodes that it discovers to the addresses of its options. Two clients must not append to
// the same array.
func TestOwnClient_clusterHasAddressesOfItsOwn(t *testing.T) {
	addrs := append(make([]string, 0, 8), "127.0.0.1:1")
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer func() { _ = client.Close() }()
	own := ownClient(client).(*redis.ClusterClient)
	defer func() { _ = own.Close() }()
	if &own.Options().Addrs[0] == &client.Options().Addrs[0] {
		t.Error("both clients have the same addresses")
	}
}
