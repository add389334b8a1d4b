package main

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

func TestRequestParser_countsCommandsHoweverTheyAreCut(t *testing.T) {
	const stream = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n" +
		"*1\r\n$4\r\nPING\r\n" +
		"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$17\r\n*1\r\n$4\r\nPING\r\n***\r\n" + // a value that looks like a command
		"*2\r\n$3\r\nGET\r\n$0\r\n\r\n"
	for size := 1; size <= len(stream); size++ {
		var parser requestParser
		commands := int64(0)
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			commands += parser.feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		if commands != 3 {
			t.Errorf("writes of %d bytes: %d commands, want 3 (HELLO does not count)", size, commands)
		}
	}
}

// What the clients send is what the server gets.
func TestWireCount_agreesWithTheServer(t *testing.T) {
	server := testenv.Redis(t)
	sent := new(wireCount)
	client := address{addr: server.Addr(), sent: sent}.goRedis()
	t.Cleanup(func() { client.Close() })
	ctx := t.Context()
	pipeline := func() {
		if _, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for range 300 {
				pipe.Set(ctx, "key", make([]byte, 100), 0)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	pipeline() // the set-up of its connection is over
	before, err := infoNumber(ctx, client, "stats", "total_commands_processed")
	if err != nil {
		t.Fatal(err)
	}
	atFirst := sent.commands.Load()
	pipeline()
	after, err := infoNumber(ctx, client, "stats", "total_commands_processed")
	if err != nil {
		t.Fatal(err)
	}
	if got := sent.commands.Load() - atFirst; got != after-before || got != 301 {
		t.Errorf("%d commands counted, %d processed by the server, 301 sent", got, after-before)
	}
}
