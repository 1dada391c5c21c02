//go:build linux

package kubetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kubectl runs kubectl as an administrator, with that as its input, and returns what it says.
func (c *Cluster) Kubectl(t testing.TB, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.binaries, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "HOME="+c.Folder), strings.NewReader(input) // it caches in its home
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
