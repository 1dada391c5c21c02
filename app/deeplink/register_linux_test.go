package deeplink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adrg/xdg"

	"github.com/forevervm/desktop/app/desktopentry"
)

func TestTheProgramIsRegisteredWhereNoPackageIs(t *testing.T) {
	own, packaged := t.TempDir(), t.TempDir()
	t.Setenv("XDG_DATA_HOME", own)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_DIRS", packaged)
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	path := filepath.Join(own, "applications", "forevervm.desktop")
	for _, program := range []string{"/opt/old/forevervm-desktop", "/opt/new/forevervm-desktop"} { // it was moved
		if err := Register(Program{ID: "forevervm", Name: "ForeverVM", Path: program, Icon: []byte("PNG")}); err != nil {
			t.Fatal(err)
		}
		group, err := desktopentry.Read(path)
		if err != nil || group.Get("Exec") != `"`+program+`" %u` || group.Get("MimeType") != "x-scheme-handler/forevervm;" {
			t.Errorf("%v, %v", group, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := desktopentry.Write(filepath.Join(packaged, "applications", "forevervm.desktop"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Register(Program{ID: "forevervm", Name: "ForeverVM", Path: "/usr/bin/forevervm-desktop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was registered beside the package's entry")
	}
}
