package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/netutil"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/localsocket"
)

// address is where the daemon listens.
type address struct {
	url  string // as this computer reaches it
	host string // the name in --listen, which a Host header may then have; "" for none
}

// listen opens the port for this computer: the one asked for, else the one of last time, else a
// free one. Which one it was is kept.
func (d *daemon) listen() (net.Listener, address, error) {
	wanted := d.config.Listen
	if d.withTLS() {
		wanted = "" // it is the team's
	}
	host, port, err := splitListen(wanted)
	if err != nil {
		return nil, address{}, err
	}
	settings, damaged := d.dirs.ReadSettings()
	var listener net.Listener
	if port != 0 {
		if listener, err = open(host, port); err != nil {
			return nil, address{}, fmt.Errorf("ForeverVM cannot listen on %s; choose another with --listen: %w", join(host, port), err)
		}
	} else if settings.Port() != 0 {
		if listener, err = open(host, settings.Port()); err != nil {
			d.log.Info("the port of last time is taken; another is chosen", "port", settings.Port(), "err", err)
		}
	}
	if listener == nil {
		if listener, err = open(host, 0); err != nil {
			return nil, address{}, fmt.Errorf("ForeverVM cannot listen on %s: %w", host, err)
		}
	}
	if at := listener.Addr(); !isLoopback(at) {
		_ = listener.Close()
		return nil, address{}, fmt.Errorf("ForeverVM does not listen on %s without encryption: other computers reach it there, and who listens in reads the token that opens all machines. Give a certificate with --tls-cert and --tls-key, and add people with `forevervm people add`; or leave out --listen", at)
	}
	if damaged == nil { // else it is left for the person to mend
		if err := d.keepPort(listener, settings); err != nil {
			return nil, address{}, errors.Join(err, listener.Close())
		}
	}
	return listener, describe(host, listener.Addr()), nil
}

// withTLS says whether people of a team are to reach this daemon.
func (d *daemon) withTLS() bool { return d.config.TLSCert != "" || d.config.TLSKey != "" }

// listenForTeam opens the port for people of a team, who come over the network and speak TLS; nil
// where none are to. It takes half as many connections as the port for this computer, which keeps
// its own.
func (d *daemon) listenForTeam() (net.Listener, error) {
	switch {
	case !d.withTLS():
		return nil, nil
	case d.config.TLSCert == "" || d.config.TLSKey == "":
		return nil, errors.New("--tls-cert and --tls-key belong together: give the file of the certificate and that of its key")
	case d.config.Listen == "":
		return nil, errors.New("--tls-cert is for other computers, which need --listen: say where they reach ForeverVM, such as --listen 0.0.0.0:8443")
	}
	host, port, err := splitListen(d.config.Listen)
	if err != nil {
		return nil, err
	}
	shown, err := openCertificate(d.config.TLSCert, d.config.TLSKey, d.log)
	if err != nil {
		return nil, err
	}
	listener, err := open(host, port)
	if err != nil {
		return nil, fmt.Errorf("ForeverVM cannot listen on %s; choose another with --listen: %w", join(host, port), err)
	}
	return tls.NewListener(netutil.LimitListener(listener, mostConnections()/2), shown.config()), nil
}

func isLoopback(at net.Addr) bool {
	parsed, err := netip.ParseAddrPort(at.String())
	return err == nil && parsed.Addr().Unmap().IsLoopback()
}

// open listens on a port; 0 is any. "0.0.0.0" means just that: Go alone would listen on IPv6 as
// well.
func open(host string, port int) (net.Listener, error) {
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4"
	}
	return net.Listen(network, join(host, port))
}

// keepPort sees to it that the next daemon listens on the same port.
func (d *daemon) keepPort(listener net.Listener, settings home.Settings) error {
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	if settings.Port() == port {
		return nil
	}
	settings.SetPort(port)
	if err := d.dirs.WriteSettings(settings); err != nil {
		return fmt.Errorf("the port cannot be kept: %w", err)
	}
	return nil
}

// listenLocally opens the socket that only this user has. The daemon does without where there can
// be none.
func (d *daemon) listenLocally() (listener net.Listener, socket string) {
	socket = localsocket.Address(d.dirs.Run, d.dirs.Instance())
	if socket == "" {
		d.log.Info("no socket is opened: the path of its folder is too long", "folder", d.dirs.Run)
		return nil, ""
	}
	listener, err := localsocket.Listen(socket)
	if err != nil {
		d.log.Warn("the socket for this user's programs cannot be opened", "socket", socket, "err", err)
		return nil, ""
	}
	return listener, socket
}

// describe says how this computer reaches the daemon.
func describe(host string, bound net.Addr) address {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return address{url: "http://" + bound.String()}
	}
	ip := at.Addr().Unmap().WithZone("")
	var out address
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		out.host = host
	}
	out.url = "http://" + netip.AddrPortFrom(ip, at.Port()).String()
	return out
}

// splitListen reads "host:port", "host" or ":port". No host means the loopback address, no port (0)
// any.
func splitListen(listen string) (host string, port int, err error) {
	const loopback = "127.0.0.1"
	if listen == "" {
		return loopback, 0, nil
	}
	host, digits, err := net.SplitHostPort(listen)
	if err != nil {
		return strings.Trim(listen, "[]"), 0, nil //nolint:nilerr // a host alone, with no port to split off
	}
	if digits != "" {
		if port, err = strconv.Atoi(digits); err != nil || port < 0 || port > 65535 {
			return "", 0, fmt.Errorf("--listen %s: %q is not a port; give a number up to 65535, such as 127.0.0.1:8080", listen, digits)
		}
	}
	if host == "" {
		host = loopback
	}
	return host, port, nil
}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
