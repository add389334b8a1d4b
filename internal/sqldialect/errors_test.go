package sqldialect

import (
	"errors"
	"testing"
)

// What MySQL's numbers mean for a statement that failed.
func TestMySQL_errors(t *testing.T) {
	for text, want := range map[string]struct{ reply, again, overloaded bool }{
		"Error 1064 (42000): You have an error in your SQL syntax":                                 {reply: true},
		"Error 1213 (40001): Deadlock found when trying to get lock; try restarting":               {reply: true, again: true},
		"Error 3101 (40000): Plugin instructed the server to rollback the current transaction":     {reply: true, again: true},
		"Error 1226 (42000): User 'a' has exceeded the 'max_user_connections' resource":            {reply: true, overloaded: true},
		"Error 1226 (42000): User 'a' has exceeded the 'max_queries_per_hour' resource":            {reply: true},
		"Error 4031 (HY000): The client was disconnected by the server because of inactivity":      {reply: true, overloaded: true},
		"Error 1927 (70100): Connection was killed":                                                {},
		"Error 2013 (HY000): Lost connection to MySQL server during query":                         {},
		"Error 9001 (HY000): Max connect timeout reached while reaching hostgroup 0 after 10000ms": {},
		"invalid connection": {},
	} {
		err := errors.New(text)
		if got := MySQL.IsReply(err); got != want.reply {
			t.Errorf("%s: a reply: %v", text, got)
		}
		if got := MySQL.Again(err); got != want.again {
			t.Errorf("%s: again: %v", text, got)
		}
		if got := MySQL.IsOverloaded(err); got != want.overloaded {
			t.Errorf("%s: overloaded: %v", text, got)
		}
	}
}
