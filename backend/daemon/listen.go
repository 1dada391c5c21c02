package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/localsocket"
)

// address is where the daemon listens.
type address struct {
	url  string // as this computer reaches it
	host string // the name in --listen, which a Host header may then have; "" for none
}

// listen opens the port: the one asked for, else the one of last time, else a free one. Which one
// it was is kept.
func (d *daemon) listen() (net.Listener, address, error) {
	host, port, err := splitListen(d.config.Listen)
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
	if damaged == nil { // else it is left for the person to mend
		if err := d.keepPort(listener, settings); err != nil {
			return nil, address{}, errors.Join(err, listener.Close())
		}
	}
	return listener, d.describe(host, listener.Addr()), nil
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

// describe says how the daemon is reached, and warns where others can reach it too.
func (d *daemon) describe(host string, bound net.Addr) address {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return address{url: "http://" + bound.String()}
	}
	ip := at.Addr().Unmap().WithZone("")
	var out address
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		out.host = host
	}
	if !ip.IsLoopback() {
		d.warn("ForeverVM listens on " + bound.String() + ", where other computers on the network can reach it. Anyone who has its token " +
			"can run code in your machines and read everything in them, and the token crosses the network unencrypted. " +
			"Do this only in a network that you trust; without --listen, only this computer can connect.")
	}
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
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
