package autostart

import (
	"testing"

	"golang.org/x/sys/windows/registry"
)

func TestTheTaskManagersSwitchIsHeeded(t *testing.T) {
	entry := Entry{ID: "forevervm-test", Name: "ForeverVM", Command: []string{`C:\a b\forevervm-desktop.exe`, "--hidden"}}
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
	t.Cleanup(func() { set(false) })
	expect("at first", false)
	set(true)
	expect("after it was asked for", true)
	key, _, err := registry.CreateKey(registry.CURRENT_USER, approved, registry.SET_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	if err := key.SetBinaryValue(entry.ID, []byte{3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
		t.Fatal(err)
	}
	expect("switched off", false)
	set(true)
	expect("asked for again", true)
	set(false)
	expect("after it was taken back", false)
}
