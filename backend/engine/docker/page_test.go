//go:build linux && system

package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
)

// What a person sees of Docker in the window, from a Docker Desktop that does not run to a machine
// in it, is tested in a browser. It is here because only root can start a Docker.
func TestThePage(t *testing.T) {
	d, err := dockertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !d.Own() {
		t.Fatal("this test needs a Docker without our image, which only root can start")
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	note := ""
	if groups, _ := filepath.Glob("/sys/fs/cgroup/cpu*"); len(groups) > 0 && isDir(groups[0]) { // of version 1: one of them can be hidden
		d.Hide, note = groups, withoutProcessorLimit.told
		if err := d.Terminate(); err != nil {
			t.Fatal(err)
		}
		if err := d.Run(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("npm", "run", "--silent", "test:docker")
	cmd.Dir = "../../../frontend"
	cmd.Env = append(os.Environ(), "FOREVERVM_TEST_SOCKET="+strings.TrimPrefix(d.Host, "unix://"), "FOREVERVM_TEST_NOTE="+note, "FOREVERVM_TEST_CACHE="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
