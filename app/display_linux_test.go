package app

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"
)

func TestXAddresses(t *testing.T) {
	local := func(n string) []address {
		return []address{{"unix", "/tmp/.X11-unix/X" + n}, {"unix", "@/tmp/.X11-unix/X" + n}}
	}
	for display, want := range map[string][]address{
		"":                nil,
		"nonsense":        nil,
		":x":              nil,
		":0":              local("0"),
		":99.0":           local("99"),
		"unix:1":          local("1"),
		"localhost:10.0":  {{"tcp", "localhost:6010"}},
		"[::1]:2":         {{"tcp", "[::1]:6002"}},
		":99999999999999": nil,
	} {
		if got := xAddresses(display); !slices.Equal(got, want) {
			t.Errorf("xAddresses(%q) = %v, want %v", display, got, want)
		}
	}
}

func TestDisplayIsTheOneThatAnswers(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", folder)
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "wayland-9")
	if err := display(); !errors.Is(err, errNoDisplay) {
		t.Errorf("nothing listens, but display() = %v", err)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "wayland-9"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := display(); err != nil {
		t.Errorf("a display listens, but display() = %v", err)
	}
}
