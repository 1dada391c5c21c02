//go:build linux && system

package kubernetes

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/seccomp"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// repository is where the cluster believes that its image is from.
const repository = "forevervm.test/sandbox"

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		e := newEngine(t, t.TempDir())
		return enginetest.Subject{
			Engine:      e,
			Checkpoints: e.store,
			Apart:       true,
			NoTemplates: true,
			Disconnect:  func(s machine.Sandbox) { s.(*Sandbox).Disconnect() },
			Processes:   func(t testing.TB, id machine.ID) map[string]int { return processes(t, e, id) },
			Undialled:   func(t *testing.T) enginetest.Outside { return egresstest.Undialled(t) },
			Internet:    func(t *testing.T) enginetest.Outside { return egresstest.Internet(t) },
			Folder:      e.store.Machine,
			Leftovers:   func(t testing.TB) []string { return leftovers(t, e) },
		}
	})
}

// newEngine makes an engine of what `make build` has built, in a namespace of its own.
func newEngine(t testing.TB, data string) *Engine {
	t.Helper()
	return newEngineIn(t, data, Cluster{})
}

// newEngineIn is newEngine with a cluster's settings.
func newEngineIn(t testing.TB, data string, where Cluster) *Engine {
	t.Helper()
	bin := hometest.Bin(t, "supervisor", "runsc", "image/base.erofs")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: data, Log: log})
	e := newEngineOf(t, filepath.Join(bin, "supervisor"), store, where)
	importImage(t, e)
	return e
}

// newEngineOf makes an engine of other parts. The cluster has not their image.
func newEngineOf(t testing.TB, supervisor string, store *local.Store, where Cluster) *Engine {
	t.Helper()
	cluster := kubetest.Up(t)
	where.Kubeconfig, where.Repository = cluster.Kubeconfig, repository
	if where.Namespace == "" {
		where.Namespace = cluster.Namespace(t)
	}
	where.StorageClass = cmp.Or(where.StorageClass, "standard")
	owner := make([]byte, 16)
	if _, err := rand.Read(owner); err != nil {
		t.Fatal(err)
	}
	filter, err := seccomp.Flat()
	if err != nil {
		t.Fatal(err)
	}
	cluster.Profile(t, SeccompProfile, filter)
	return newEngineOn(t, Config{
		Name: Kind + ":test", Cluster: where, Owner: hex.EncodeToString(owner), Supervisor: supervisor, Store: store, Log: store.Config().Log,
	})
}

// newEngineOn makes an engine that is closed after the test, with a store of its own, as another
// daemon has it.
func newEngineOn(t testing.TB, cfg Config) *Engine {
	t.Helper()
	cfg.Store = local.NewStore(cfg.Store.Config())
	e := New(cfg)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// imported is the digest of the image that the cluster has, as an engine keeps it.
var imported struct {
	sync.Mutex
	known []byte
}

// importImage puts the sandbox image where it would be pulled to from a registry.
func importImage(t testing.TB, e *Engine) {
	t.Helper()
	imported.Lock()
	defer imported.Unlock()
	file := filepath.Join(e.store.Config().Data, imagesFile)
	if imported.known != nil {
		if err := os.WriteFile(file, imported.known, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	kubetest.Up(t).Import(t, imageArchive(t, e))
	known, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	imported.known = known
}

// importHost is importImage for the image of a host, beside the sandbox image.
func importHost(t testing.TB, e *Engine) {
	t.Helper()
	e.images.Agent = filepath.Join(hometest.Bin(t, "agent"), "agent")
	digest, err := e.images.HostDigest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	make, _, err := e.images.host()
	if err != nil {
		t.Fatal(err)
	}
	image, err := make()
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Up(t).Import(t, archive(t, e.Where().Repository+"@"+digest, image))
}

// imageArchive writes an engine's image as an OCI archive.
func imageArchive(t testing.TB, e *Engine) string {
	t.Helper()
	parts, err := e.store.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	name, err := e.image(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := e.store.Digest(e.cfg.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	image, _, err := ociimage.Published(parts, e.cfg.Supervisor, supervisor)
	if err != nil {
		t.Fatal(err)
	}
	return archive(t, name, image)
}

// archive writes an image as an OCI archive that containerd knows by that name.
func archive(t testing.TB, name string, image v1.Image) string {
	t.Helper()
	folder := t.TempDir()
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Annotations: map[string]string{"io.containerd.image.name": name}},
	})
	if _, err := layout.Write(filepath.Join(folder, "layout"), index); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(folder, "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := tar.NewWriter(out)
	if err := w.AddFS(os.DirFS(filepath.Join(folder, "layout")).(fs.StatFS)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// processes finds those of a machine, as this computer sees them.
func processes(t testing.TB, e *Engine, id machine.ID) map[string]int {
	found := map[string]int{}
	pods, err := kubetest.Up(t).Client.CoreV1().Pods(e.Where().Namespace).List(context.Background(), meta.ListOptions{LabelSelector: machineLabel + "=" + string(id)})
	if err != nil {
		t.Fatal(err)
	}
	ours := map[int]bool{}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			_, container, _ := strings.Cut(c.ContainerID, "://")
			for _, pid := range inGroup(t, container) {
				ours[pid] = true
			}
		}
	}
	for _, p := range nativetest.All(t) {
		switch {
		case !ours[p.PID]:
		case p.Args[0] == "/supervisor" && len(p.Args) > 1 && p.Args[1] == "run":
			found["supervisor"] = p.PID
		case p.Args[0] == "/proc/self/exe":
			found["inner"] = p.PID
		case strings.HasPrefix(p.Args[0], "runsc-"):
			found[strings.TrimPrefix(p.Args[0], "runsc-")] = p.PID
		}
	}
	return found
}

// inGroup are the processes in a container's control group.
func inGroup(t testing.TB, container string) (pids []int) {
	t.Helper()
	if container == "" {
		return nil
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, _ error) error {
		if entry == nil || !entry.IsDir() || entry.Name() != container { // others' groups come and go
			return nil
		}
		content, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for line := range strings.Lines(string(content)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pids = append(pids, pid)
			}
		}
		return fs.SkipDir
	})
	return pids
}

// leftovers waits until nothing is left of machines, and tells what stays.
func leftovers(t testing.TB, e *Engine) []string {
	core := kubetest.Up(t).Client.CoreV1()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		pods, err := core.Pods(e.Where().Namespace).List(context.Background(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			left = append(left, fmt.Sprintf("pod %s, %s", pod.Name, pod.Status.Phase))
		}
		claims, err := core.PersistentVolumeClaims(e.Where().Namespace).List(context.Background(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range claims.Items {
			left = append(left, "volume "+claim.Name)
		}
		_ = filepath.WalkDir(e.store.Config().Data, func(path string, _ os.DirEntry, _ error) error {
			if strings.HasSuffix(path, ".partial") || strings.HasSuffix(path, ".removed") {
				left = append(left, path)
			}
			return nil
		})
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}
