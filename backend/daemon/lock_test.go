package daemon_test

import (
	"errors"
	"os"
	"testing"

	"github.com/forevervm/desktop/backend/daemon"
	"github.com/forevervm/desktop/backend/home"
)

// What a killed daemon has left leads to anyone who has its port now: it goes before anything else
// is done.
func TestAStaleDiscoveryFileIsRemovedAtOnce(t *testing.T) {
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if err := dirs.WriteDaemon(home.Daemon{URL: "http://127.0.0.1:9", PID: 1, Version: "9"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dirs.OwnerTokenFile(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Run(t.Context(), daemon.Config{Home: dirs.Root}); err == nil {
		t.Fatal("a daemon without a token runs")
	}
	if _, err := os.Stat(dirs.DaemonFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
