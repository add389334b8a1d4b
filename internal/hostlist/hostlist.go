// Package hostlist reads the hosts of a URL that names several, which net/url does not take.
package hostlist

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// Parse takes host:port,host,… apart. Hosts without a port get that one. The errors do not repeat the text, which may
// be a password that was not percent-encoded.
func Parse(text, port string) (hosts []string, err error) {
	for host := range strings.SplitSeq(text, ",") {
		host, own, err := split(host)
		if err != nil {
			return nil, err
		}
		if own == "" {
			own = port
		}
		if n, err := strconv.ParseUint(own, 10, 16); err != nil || n == 0 {
			return nil, errors.New("a port is no number from 1 to 65535")
		}
		hosts = append(hosts, net.JoinHostPort(host, own))
	}
	return hosts, nil
}

// split tells a host from its port, "" without one. An address of IPv6 without a port needs no brackets.
func split(text string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(text)
	switch {
	case err == nil && port == "":
		return "", "", errors.New("a port is missing behind a colon")
	case err == nil:
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		host = text[1 : len(text)-1]
	default:
		host = text
	}
	if host == "" {
		return "", "", errors.New("a host is missing")
	}
	for _, c := range host {
		if c <= ' ' || c == 0x7f || strings.ContainsRune(`#?/\@[]"`, c) || c == ':' && net.ParseIP(strings.SplitN(host, "%", 2)[0]) == nil {
			return "", "", errors.New("a host holds a character that none has; percent-encode what stands before the @")
		}
	}
	return host, port, nil
}
