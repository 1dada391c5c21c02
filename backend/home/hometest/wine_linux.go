package hometest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Wine makes a Windows to run programs on, unless an earlier test run has: making one takes half a
// minute. It returns the environment of `wine`, and the folder of its C drive. Tests that may run
// at the same time give it names of their own.
func Wine(t testing.TB, name string) (env []string, drive string) {
	t.Helper()
	bin, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(bin, "..", "cache", "e2e", name)
	if err := os.MkdirAll(prefix, 0o755); err != nil {
		t.Fatal(err)
	}
	env = []string{
		"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "USER=person", "WINEPREFIX=" + prefix, "WINEARCH=win64", "WINEDEBUG=-all",
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=", "FOREVERVM_HOME=", "FOREVERVM_BASE_URL=", "XDG_DATA_HOME=",
	}
	must := func(dir, name string, args ...string) {
		t.Helper()
		said, err := os.CreateTemp(t.TempDir(), "said") // what it leaves running holds on to where it writes
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, said, said
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	if _, err := os.Stat(filepath.Join(prefix, "system.reg")); err != nil {
		must(prefix, "wineboot", "--init")
		must(prefix, "wineserver", "--wait")
	}
	drive = filepath.Join(prefix, "drive_c")
	system := filepath.Join(drive, "windows", "system32")
	if _, err := os.Stat(filepath.Join(system, "bcryptprimitives.dll")); err != nil { // which Go needs, and older Wines lack
		definition := filepath.Join(t.TempDir(), "bcryptprimitives.def")
		if err := os.WriteFile(definition, []byte("LIBRARY bcryptprimitives\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		must(system, "x86_64-w64-mingw32-ld", "--shared", "-o", "bcryptprimitives.dll", definition)
	}
	return env, drive
}
