package redisstore

import (
	"regexp"
	"strings"
	"testing"
)

// commands62 are the commands that the scripts use, with what may be said to each: all are in Redis 6.2.
var commands62 = map[string]string{
	"TIME": "", "EXISTS": "", "GET": "", "DEL": "", "PTTL": "", "PUBLISH": "",
	"SET":     "PX NX GET KEEPTTL", // NX together with GET is 7.0
	"PEXPIRE": "",                  // GT and its like are 7.0
	"HGET":    "", "HSET": "", "HSETNX": "", "HDEL": "", "HINCRBY": "",
	"ZADD": "NX", "ZREM": "", "ZSCORE": "", "ZRANGE": "BYSCORE LIMIT WITHSCORES",
}

var upperWord = regexp.MustCompile(`'([A-Z]+)'`)

// callsOf returns what stands between the brackets of each call, without the calls inside of it.
func callsOf(source string) (calls []string) {
	const begin = "redis.call("
	for at := strings.LastIndex(source, begin); at >= 0; at = strings.LastIndex(source, begin) {
		end, depth := at+len(begin), 1
		for ; depth > 0 && end < len(source); end++ {
			depth += strings.Count("(", source[end:end+1]) - strings.Count(")", source[end:end+1])
		}
		calls = append(calls, source[at+len(begin):end-1])
		source = source[:at] + source[end:]
	}
	return calls
}

// The servers of these tests are newer. A command or an option that Redis 6.2 does not have would not be noticed.
func TestScripts_redis62(t *testing.T) {
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := luaFiles.ReadFile("lua/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		source := string(text)
		for _, call := range callsOf(source) {
			words := upperWord.FindAllStringSubmatch(call, -1)
			if len(words) == 0 {
				t.Fatalf("%s calls %s", file.Name(), call)
			}
			command, said := words[0][1], map[string]bool{}
			options, known := commands62[command]
			if !known {
				t.Errorf("%s uses %s; is it in Redis 6.2?", file.Name(), command)
			}
			for _, word := range words[1:] {
				said[word[1]] = true
				if !strings.Contains(" "+options+" ", " "+word[1]+" ") {
					t.Errorf("%s says %s to %s; is it in Redis 6.2?", file.Name(), word[1], command)
				}
			}
			if said["NX"] && said["GET"] {
				t.Errorf("%s: SET with NX and GET is not in Redis 6.2", file.Name())
			}
		}
	}
}
