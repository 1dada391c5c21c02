package app

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var errNoDisplay = errors.New("there is no display to show a window on")

// display says why no window can be shown, or nil. GTK ends the program when it finds no display,
// so it is asked for first.
func display() error {
	if name := os.Getenv("WAYLAND_DISPLAY"); name != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), name)
		}
		if answers("unix", name) {
			return nil
		}
	}
	for _, address := range xAddresses(os.Getenv("DISPLAY")) {
		if answers(address.network, address.name) {
			return nil
		}
	}
	return errNoDisplay
}

type address struct{ network, name string }

// xAddresses are where the X server of a DISPLAY (`[host]:number[.screen]`) may listen.
func xAddresses(display string) []address {
	at := strings.LastIndex(display, ":")
	if at < 0 {
		return nil
	}
	host, rest := display[:at], display[at+1:]
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > 59535 {
		return nil
	}
	if host == "" || host == "unix" {
		socket := "/tmp/.X11-unix/X" + number
		return []address{{"unix", socket}, {"unix", "@" + socket}}
	}
	return []address{{"tcp", net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(6000+n))}}
}

func answers(network, name string) bool {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.Dial(network, name)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
