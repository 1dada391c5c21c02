//go:build linux && real

package remote

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/home/hometest"
)

func TestMain(m *testing.M) {
	// What loses its parent becomes ours, so that nothing can hide from leftovers.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func isAgent(p nativetest.Process) bool { return strings.HasSuffix(p.Args[0], "/bin/agent") }

func newOwner(t testing.TB) string {
	t.Helper()
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// newPlace is a place with an agent on this computer, whose machines lie in data, with the template
// that an earlier test has made.
func newPlace(t testing.TB, data, owner string) *Place {
	t.Helper()
	if err := hometest.Lend(data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hometest.Take(data); err != nil {
			t.Error(err)
		}
	})
	return newPlaceOn(t, data, owner)
}

func testLog(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// newPlaceOn is newPlace where there is one already.
func newPlaceOn(t testing.TB, data, owner string) *Place {
	t.Helper()
	p := New(Config{Name: "test", Owner: owner, Dialer: &Command{
		Args: []string{filepath.Join(hometest.Bin(t, "agent", "supervisor", "runsc", "image/base.erofs"), "agent"), "-data", data}, Log: testLog(t),
	}})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
