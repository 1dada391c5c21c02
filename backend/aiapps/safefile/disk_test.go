//go:build linux && real

package safefile_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// A disk that is full, and one that cannot be written to: a small file system of memory, in a mount
// namespace of the test's own.
func TestDiskFullAndReadOnly(t *testing.T) {
	for want, script := range map[string]string{
		"disk full":      `mount -t tmpfs -o size=16k none "$0" && printf old >"$0/config.json" && ! head -c 64k /dev/zero 2>/dev/null >"$0/filler" && "$@"; cat "$0/config.json"; ls -A "$0"`,
		"read-only disk": `mount -t tmpfs none "$0" && printf old >"$0/config.json" && mount -o remount,bind,ro "$0" && "$@"; cat "$0/config.json"; ls -A "$0"`,
	} {
		folder := t.TempDir()
		said, err := asChild(t, filepath.Join(folder, "config.json"), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, folder)
		rest, _ := strings.CutPrefix(said, want+"\n")
		if err != nil || rest == said || !strings.HasPrefix(rest, "oldconfig.json") || strings.Contains(rest, ".tmp") {
			t.Errorf("%s: it said %q, %v", want, said, err)
		}
	}
}
