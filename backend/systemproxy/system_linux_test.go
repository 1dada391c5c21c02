package systemproxy

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/credentials/keyringtest"
)

// What is set in a desktop's settings holds, as its real portal tells it; without one there is no proxy.
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

	settings := append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CURRENT_DESKTOP=GNOME", "GSETTINGS_BACKEND=keyfile", "XDG_RUNTIME_DIR="+t.TempDir())
	for _, setting := range [][]string{
		{"org.gnome.system.proxy", "mode", "manual"},
		{"org.gnome.system.proxy.https", "host", "proxy.example"},
		{"org.gnome.system.proxy.https", "port", "3129"},
		{"org.gnome.system.proxy", "ignore-hosts", "['*.corp.example']"},
	} {
		set := exec.Command("gsettings", append([]string{"set"}, setting...)...)
		set.Env = settings
		if out, err := set.CombinedOutput(); err != nil {
			t.Fatalf("set %v: %v: %s", setting, err, out)
		}
	}
	portals, err := filepath.Glob("/usr/libexec/xdg-desktop-portal")
	if err != nil || len(portals) == 0 {
		t.Fatal("xdg-desktop-portal is missing: build/deps test installs it")
	}
	portal := exec.Command(portals[0])
	portal.Env = settings
	if err := portal.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = portal.Process.Kill()
		_ = portal.Wait() // killed
	})
	for began := time.Now(); proxyOf(t, "https://service.example") == ""; {
		if time.Since(began) > time.Minute {
			t.Fatal("the desktop's proxy is not used")
		}
	}
	for address, want := range map[string]string{
		"https://service.example": "http://proxy.example:3129", "https://a.corp.example": "", "http://service.example": "", "https://localhost:1": "",
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

// proxyOf asks anew.
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
