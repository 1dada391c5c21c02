//go:build system

package systemproxy

import (
	"net/http"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/forevervm/desktop/backend/credentials/keyringtest"
)

// portal answers as xdg-desktop-portal does, which cannot run beside the tests of the window: those
// are to have no portal.
type portal struct{}

// Lookup tells the proxies for an address, best first.
func (portal) Lookup(address string) ([]string, *dbus.Error) {
	switch address {
	case "https://service.example":
		return []string{"http://proxy.example:3129", "direct://"}, nil
	case "https://odd.example":
		return []string{"quic://proxy.example:1", "socks5://proxy.example:1080"}, nil
	}
	return []string{"direct://"}, nil
}

// What is set in a desktop's settings holds, as its portal tells it; without one there is no proxy.
func TestSettingsOfTheDesktop(t *testing.T) {
	bus, err := keyringtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "")
	}
	t.Setenv(keyringtest.Variable, bus.Address)
	for address, want := range map[string]string{"https://service.example": "", "https://127.0.0.1:1": ""} {
		if got := proxyOf(t, address); got != want {
			t.Errorf("without a desktop, %s is reached by %q", address, got)
		}
	}

	conn, err := dbus.Connect(bus.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Export(portal{}, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.ProxyResolver"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://service.example": "http://proxy.example:3129", "https://odd.example": "socks5://proxy.example:1080", "https://a.corp.example": "", "https://localhost:1": "",
	} {
		if got := proxyOf(t, address); got != want {
			t.Errorf("%s is reached by %q, want %q", address, got, want)
		}
	}
	t.Setenv("HTTPS_PROXY", "http://of.the.environment:1")
	if got := proxyOf(t, "https://service.example"); got != "http://of.the.environment:1" {
		t.Errorf("with a proxy in the environment, too, it is reached by %q", got)
	}
}

// proxyOf asks again.
func proxyOf(t *testing.T, address string) string {
	t.Helper()
	theSystem.mu.Lock()
	theSystem.given = nil
	theSystem.mu.Unlock()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := For(r)
	if err != nil {
		t.Fatal(err)
	}
	if proxy == nil {
		return ""
	}
	return proxy.String()
}
