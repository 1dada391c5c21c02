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
	cmd := c.KubectlCommand(args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// KubectlCommand is kubectl as an administrator, to be started.
func (c *Cluster) KubectlCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.binaries, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.Folder) // it caches in its home
	return cmd
}
