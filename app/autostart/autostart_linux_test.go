package autostart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adrg/xdg"

	"github.com/forevervm/desktop/app/autostart"
)

func TestTheDesktopsSwitchIsHeeded(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	entry := autostart.Entry{ID: "forevervm-test", Name: "ForeverVM", Command: []string{"/opt/a b/forevervm-desktop", "--hidden"}}
	path := filepath.Join(config, "autostart", "forevervm-test.desktop")
	expect := func(when string, want bool) {
		t.Helper()
		if on, err := entry.On(); on != want || err != nil {
			t.Errorf("%s: on %v, %v", when, on, err)
		}
	}
	set := func(on bool) {
		t.Helper()
		if err := entry.Set(on); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", false)
	set(false)
	set(true)
	expect("after it was asked for", true)
	written, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(written), "\nExec=\"/opt/a b/forevervm-desktop\" \"--hidden\"\nTryExec=/opt/a b/forevervm-desktop\n") {
		t.Errorf("%s, %v", written, err)
	}
	for _, off := range []string{"Hidden=true", "X-GNOME-Autostart-enabled=false"} {
		text := strings.Replace(string(written), "X-GNOME-Autostart-enabled=true", off, 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("with "+off, false)
		set(true)
		expect("asked for again", true)
	}
	set(false)
	expect("after it was taken back", false)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there")
	}
}
