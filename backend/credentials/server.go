package credentials

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// DefaultServer is the hosted service.
const DefaultServer = "https://api.forevervm.com"

// Server is an address of a service in the one form that accounts are kept under; "" is the
// default. A token is sent in clear only to this computer itself. The error is a sentence.
func Server(address string) (string, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return DefaultServer, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", errors.New("the address of the service must look like " + DefaultServer)
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	case u.Scheme == "http":
		return "", errors.New("the address of the service must begin with https://: with http:// everybody on the way could read your token")
	default:
		return "", errors.New("the address of the service must begin with https://")
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
