//go:build linux && system

package docker

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
)

// The image is pulled from the registry that is configured: again, where that fails; and not at
// all, where what it has is another. Then, and where it has none, the image is loaded from here.
func TestPulled(t *testing.T) {
	defer func(usual []time.Duration) { pullPauses = usual }(pullPauses)
	pullPauses = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	for what, c := range map[string]struct {
		failures int32
		other    bool
		empty    bool
	}{"it works": {}, "it fails at first": {failures: 2}, "it has another": {other: true}, "it has none": {empty: true}} {
		t.Run(what, func(t *testing.T) {
			var manifests, fail atomic.Int32
			serve := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/manifests/") && r.Method != http.MethodPut {
					manifests.Add(1)
					if fail.Add(-1) >= 0 {
						http.Error(w, "not now", http.StatusInternalServerError)
						return
					}
				}
				serve.ServeHTTP(w, r)
			}))
			defer server.Close()
			e := hostileEngine(t)
			e.cfg.Registry = strings.TrimPrefix(server.URL, "http://") + "/forevervm/sandbox"
			p, err := e.store.Parts("base")
			if err != nil {
				t.Fatal(err)
			}
			p.Runsc = e.cfg.Supervisor // the one here is no program
			supervisor, err := e.store.Digest(e.cfg.Supervisor)
			if err != nil {
				t.Fatal(err)
			}
			place := e.store.Config()
			place.Runsc = p.Runsc
			e.store = local.NewStore(place)
			if p, err = e.store.Parts("base"); err != nil {
				t.Fatal(err)
			}
			published, tag, err := ociimage.Published(p, e.cfg.Supervisor, supervisor)
			if err != nil {
				t.Fatal(err)
			}
			if c.other {
				layers, err := published.Layers()
				if err == nil {
					published, err = mutate.AppendLayers(published, layers[0])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !c.empty {
				ref, err := name.ParseReference(e.cfg.Registry + ":" + tag)
				if err != nil {
					t.Fatal(err)
				}
				if err := remote.Write(ref, published); err != nil {
					t.Fatal(err)
				}
			}
			fail.Store(c.failures)
			var loaded, pulled bool
			e.Notify(func(n machine.EngineNews) {
				loaded = loaded || n.Busy != nil && strings.HasPrefix(n.Busy.What, "Loading")
				pulled = pulled || n.Busy != nil && strings.HasPrefix(n.Busy.What, "Pulling") && n.Busy.Total > 0 && n.Busy.Done <= n.Busy.Total
			})
			m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
			m.Kill()
			m.AwaitEnd()
			e.Notify(nil)
			if pulled == c.empty {
				t.Errorf("told of how far the pulling is: %v", pulled)
			}
			if want := c.other || c.empty; loaded != want || manifests.Load() == 0 {
				t.Errorf("loaded from here: %v; the registry was asked %d times", loaded, manifests.Load())
			}
			info, err := dockerd.Client(t).ImageInspect(t.Context(), m.Sandbox.(*Sandbox).e.imageName(t, p))
			if err != nil || len(info.RootFS.Layers) != 2 {
				t.Errorf("the image is %+v, %v", info.RootFS, err)
			}
		})
	}
}

// imageName is the name of the image in Docker.
func (e *Engine) imageName(t *testing.T, p local.Parts) string {
	t.Helper()
	supervisor, err := e.store.Digest(e.cfg.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	home, err := e.homeID()
	if err != nil {
		t.Fatal(err)
	}
	return imageRef(p, supervisor, home)
}
