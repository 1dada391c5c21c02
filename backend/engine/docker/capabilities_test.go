//go:build linux && system

package docker

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/moby/profiles/seccomp"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/machine"
)

// What keeps containers from building the sandbox is given up where that may be, from the strictest
// settings down, once, and told.
func TestRelaxedByTrial(t *testing.T) {
	e := newEngine(t, t.TempDir())
	usual, err := json.Marshal(seccomp.DefaultProfile())
	if err != nil {
		t.Fatal(err)
	}
	defer func(ours string) { seccompProfile = ours }(seccompProfile)
	ours := seccompProfile
	seccompProfile = string(usual) // it refuses, as AppArmor's profile does, which this kernel may not have
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	given := &relaxation{"It is given up.", func(h *container.HostConfig) { h.SecurityOpt[1] = "seccomp=" + ours }}
	d.doubtful = []*relaxation{{"It is of no help.", func(*container.HostConfig) {}}, given, {"It is not needed.", func(*container.HostConfig) { t.Error("too much is given up") }}}
	var news machine.EngineNews
	e.Notify(func(n machine.EngineNews) { news = n })
	enginetest.Start(t, e, enginetest.NewID(t, e), "").Expect("6*7", "42")
	if got := strings.Join(news.Notes, " "); !strings.HasSuffix(got, "It is of no help. It is given up.") {
		t.Errorf("it is told as %q", got)
	}
	e.Notify(nil)
	d.trying.Lock()
	defer d.trying.Unlock()
	if len(d.doubtful) > 0 {
		t.Error("it would be tried again")
	}
}

// Whatever a Docker's own defaults are, machines have what they need.
func TestOtherDefaults(t *testing.T) {
	if !dockerd.Own() {
		t.Fatal("this test restarts Docker: it needs one of its own, which only root can start")
	}
	restart(t, dockerd, "--init", "--no-new-privileges", "--default-ulimit", "nofile=1024:1024", "--default-shm-size", "1m", "--live-restore", "--log-driver", "json-file")
	live(t, newEngine(t, t.TempDir()))
}

// A Docker without a control group for processors cannot bound them: machines run, and that is
// told.
func TestWithoutControlGroup(t *testing.T) {
	if !dockerd.Own() {
		t.Fatal("this test restarts Docker: it needs one of its own, which only root can start")
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/cpu*")
	if len(groups) == 0 {
		t.Skip("here all controllers are in one hierarchy (version 2), and none can be hidden from Docker")
	}
	dockerd.Hide = groups
	defer func() { dockerd.Hide = nil }()
	restart(t, dockerd)
	e := newEngine(t, t.TempDir())
	var news machine.EngineNews
	e.Notify(func(n machine.EngineNews) { news = n })
	enginetest.Start(t, e, enginetest.NewID(t, e), "").Expect("6*7", "42")
	e.Notify(nil)
	if got := strings.Join(news.Notes, " "); !strings.Contains(got, withoutProcessorLimit.told) {
		t.Errorf("it is told as %q", got)
	}
}
