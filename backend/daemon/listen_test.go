package daemon

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/home"
)

func testDaemon(t *testing.T, listen string, warned *[]string) *daemon {
	t.Helper()
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	return &daemon{dirs: dirs, log: slog.New(slog.DiscardHandler), config: Config{
		Listen: listen, Warn: func(s string) { *warned = append(*warned, s) },
	}}
}

func listening(t *testing.T, d *daemon) (net.Listener, address) {
	t.Helper()
	listener, address, err := d.listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener, address
}

func TestThePortIsKept(t *testing.T) {
	var warned []string
	d := testDaemon(t, "", &warned)
	first, at := listening(t, d)
	if !strings.HasPrefix(at.url, "http://127.0.0.1:") || at.host != "" {
		t.Errorf("%+v", at)
	}
	_ = first.Close()
	second, again := listening(t, d)
	if again.url != at.url {
		t.Errorf("after a restart %s, before it %s", again.url, at.url)
	}
	// While something else has it, another is chosen, and that one is kept from then on.
	third, other := listening(t, d)
	if other.url == at.url {
		t.Fatal("two listeners on one port")
	}
	_, _ = second.Close(), third.Close()
	if _, kept := listening(t, d); kept.url != other.url {
		t.Errorf("%s was chosen, %s is used", other.url, kept.url)
	}
	if len(warned) > 0 {
		t.Errorf("a warning without need: %v", warned)
	}
}

func TestOthersNeedEncryption(t *testing.T) {
	var warned []string
	for _, elsewhere := range []string{"0.0.0.0", "0.0.0.0:0", "[::]:0"} {
		d := testDaemon(t, elsewhere, &warned)
		if _, _, err := d.listen(); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
			t.Errorf("%s: %v", elsewhere, err)
		}
		if settings, err := d.dirs.ReadSettings(); err != nil || settings.Port() != 0 {
			t.Errorf("%s: port %d is kept, %v", elsewhere, settings.Port(), err)
		}
	}
	if _, at := listening(t, testDaemon(t, "localhost:0", &warned)); at.host != "" || len(warned) > 0 {
		t.Errorf("localhost: %+v, %q", at, warned)
	}
}

func TestAPortThatWasAskedForIsNotReplaced(t *testing.T) {
	var warned []string
	taken, _ := listening(t, testDaemon(t, "", &warned))
	d := testDaemon(t, taken.Addr().String(), &warned)
	if _, _, err := d.listen(); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("%v", err)
	}
}

func TestSplitListen(t *testing.T) {
	for in, want := range map[string]struct {
		host string
		port int
		bad  bool
	}{
		"":               {"127.0.0.1", 0, false},
		":8080":          {"127.0.0.1", 8080, false},
		"127.0.0.1:8080": {"127.0.0.1", 8080, false},
		"0.0.0.0":        {"0.0.0.0", 0, false},
		"[::1]:80":       {"::1", 80, false},
		"[::1]":          {"::1", 0, false},
		"studio.lan:1":   {"studio.lan", 1, false},
		"a:b":            {"", 0, true},
		"a:70000":        {"", 0, true},
	} {
		host, port, err := splitListen(in)
		if (err != nil) != want.bad || err == nil && (host != want.host || port != want.port) {
			t.Errorf("%q: %q %d %v", in, host, port, err)
		}
	}
}
