//go:build linux

package kubernetes

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/forevervm/desktop/backend/engine/local"
)

// TestPushedImageIsTheOneAskedFor pushes the images to a real registry, and finds them there under
// the digests that a cluster is told.
func TestPushedImageIsTheOneAskedFor(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/forevervm/sandbox"
	images := testImages(t)
	all, err := images.Push(t.Context(), repository)
	if err != nil || len(all) != 2 {
		t.Fatalf("pushed %q, %v", all, err)
	}
	parts, err := images.Store.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is remembered
		digest, err := images.Digest(t.Context(), parts)
		if err != nil || all[0] != repository+"@"+digest {
			t.Fatalf("%s was pushed, %s is asked for: %v", all[0], digest, err)
		}
	}
	if digest, err := images.HostDigest(t.Context()); err != nil || all[1] != repository+"@"+digest {
		t.Fatalf("%s was pushed, %s is asked for: %v", all[1], digest, err)
	}
	for _, pushed := range all {
		ref, err := name.NewDigest(pushed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Image(ref, remote.WithContext(t.Context())); err != nil {
			t.Errorf("the registry does not have %s: %v", pushed, err)
		}
	}
}

// testImages are of small parts. Programs have to be programs, which every Linux has.
func testImages(t *testing.T) *Images {
	t.Helper()
	dir := t.TempDir()
	const program = "/bin/true"
	if err := os.WriteFile(filepath.Join(dir, "base.erofs"), []byte("an image"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := local.NewStore(local.Config{Runsc: program, Images: dir, Data: dir, Log: log})
	return &Images{Store: store, Supervisor: program, Agent: program, Log: log}
}

// TestManifestIsForOneNamespace grants nothing in the cluster as a whole.
func TestManifestIsForOneNamespace(t *testing.T) {
	for _, user := range []string{"", "ada@example.com"} {
		text, err := Manifest(Wanted{Processor: "amd64", Namespace: "research", Image: "registry.example/forevervm/sandbox@sha256:1111111111111111111111111111111111111111111111111111111111111111", User: user})
		if err != nil {
			t.Fatal(err)
		}
		text = comment.ReplaceAllString(text, "")
		for _, never := range []string{"ClusterRole", "cluster-admin", "pods/attach", "privileged: true", "hostNetwork", `"*"`} {
			if strings.Contains(text, never) {
				t.Errorf("it has %s", never)
			}
		}
		for _, r := range rights {
			resource := strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
			if !strings.Contains(text, "resources: ["+resource+"]") || !strings.Contains(text, r.verb) {
				t.Errorf("it lacks %s", r)
			}
		}
		if user != "" && !strings.Contains(text, user) {
			t.Error("it names nobody")
		}
	}
}

var comment = regexp.MustCompile(`(?m)^ *#.*$`)

// TestManifestTakesNoYAML keeps what people type from becoming more than a name.
func TestManifestTakesNoYAML(t *testing.T) {
	const image = "registry.example/forevervm/sandbox@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	for _, bad := range [][3]string{
		{"Research", image, ""}, {"a\nb: c", image, ""}, {"", image, ""}, {"research", "a b", ""}, {"research", "x\"\ny: z", ""},
	} {
		if text, err := Manifest(Wanted{Processor: "amd64", Namespace: bad[0], Image: bad[1], User: bad[2]}); err == nil {
			t.Errorf("%q gives %s", bad, text)
		}
	}
	text, err := Manifest(Wanted{Processor: "amd64", Namespace: "research", Image: image, User: "ada\"\nkind: Evil"})
	if err != nil || strings.Contains(text, "\nkind: Evil") {
		t.Errorf("a user's name becomes YAML: %v", err)
	}
}

// TestContextIsUnknown says where contexts are listed.
func TestContextIsUnknown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	images := testImages(t)
	e := New(Config{Name: Kind + ":x", Cluster: Cluster{Kubeconfig: file, Context: "none", Namespace: "x", Repository: "r"}, Store: images.Store, Supervisor: images.Supervisor, Log: images.Log})
	problems := e.Check(context.Background())
	if len(problems) != 1 || !strings.Contains(problems[0].What, "kubectl config get-contexts") {
		t.Errorf("the problems are %+v", problems)
	}
}
