package main

import (
	"net"
	"strings"
	"sync/atomic"
)

// wireCount counts the commands that clients send, by reading along what they write to their connections. The server's
// own statistics would not do: they count the commands inside a script as well, and a client's hooks see neither its
// subscriptions nor another library's client.
type wireCount struct{ commands atomic.Int64 }

// watch returns conn with its commands counted. The type of the connection stays what clients look for (its socket,
// half-close).
func (w *wireCount) watch(conn *net.TCPConn) net.Conn { return &watchedConn{TCPConn: conn, count: w} }

type watchedConn struct {
	*net.TCPConn
	count  *wireCount
	parser requestParser // a connection has one writer at a time
}

func (c *watchedConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.count.commands.Add(c.parser.feed(p[:n]))
	return n, err
}

// requestParser finds the commands in a stream of requests, however it is cut into writes: *2 $3 GET $1 k.
type requestParser struct {
	line    []byte // a header line that has not ended yet
	words   int    // of the running command, still to come
	skip    int    // bytes of the running word and its end of line, still to come
	isFirst bool   // the next word is the command's name
	name    []byte
}

// feed returns how many commands begin to be known by p; set-up of the connection does not count.
func (r *requestParser) feed(p []byte) (commands int64) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			if r.isFirst {
				r.name = append(r.name, p[:n]...)
			}
			r.skip -= n
			p = p[n:]
			if r.skip == 0 {
				commands += r.endWord()
			}
			continue
		}
		b := p[0]
		p = p[1:]
		if b != '\n' {
			r.line = append(r.line, b)
			continue
		}
		r.header()
	}
	return commands
}

// header takes "*<words>\r" or "$<bytes>\r".
func (r *requestParser) header() {
	n := 0
	for _, b := range r.line[1:] {
		if b >= '0' && b <= '9' {
			n = 10*n + int(b-'0')
		}
	}
	if r.line[0] == '*' {
		r.words, r.isFirst, r.name = n, true, r.name[:0]
	} else {
		r.skip = n + len("\r\n")
	}
	r.line = r.line[:0]
}

func (r *requestParser) endWord() (commands int64) {
	r.words--
	if r.isFirst {
		r.isFirst = false
		if !setsUp(string(r.name)) {
			commands = 1
		}
	}
	return commands
}

// setsUp tells the commands with which a client greets the server.
func setsUp(name string) bool {
	switch strings.ToUpper(strings.TrimRight(name, "\r\n")) {
	case "HELLO", "AUTH", "SELECT", "CLIENT":
		return true
	}
	return false
}
