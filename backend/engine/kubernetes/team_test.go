//go:build linux && system

package kubernetes

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	forevervm "github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/egress/tlstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/wire"
)

// team is a team's daemon that runs in the cluster, as the manifest says.
type team struct {
	t         *testing.T
	cluster   *kubetest.Cluster
	namespace string
	roots     *x509.CertPool
}

// newTeam applies the manifest with a daemon, and waits until that runs.
func newTeam(t *testing.T, namespace string) *team {
	t.Helper()
	cluster := kubetest.Up(t)
	bin := hometest.Bin(t, "forevervm", "supervisor", "runsc", "image/base.erofs")
	e := newEngine(t, t.TempDir()) // its image is in the cluster
	e.images.Program = filepath.Join(bin, "forevervm")
	parts, err := e.store.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	sandbox, err := e.image(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	image, err := ociimage.Daemon(parts, e.cfg.Supervisor, e.images.Program)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	daemon := repository + "@" + digest.String()
	cluster.Import(t, archive(t, daemon, image))
	manifest, err := Manifest(Wanted{Processor: runtime.GOARCH, Namespace: namespace, Image: sandbox, Daemon: daemon, Cluster: Cluster{StorageClass: "standard"}})
	if err != nil {
		t.Fatal(err)
	}
	manifest = strings.ReplaceAll(manifest, "/var/lib/kubelet/seccomp", filepath.Join(cluster.Folder, "kubelet", "seccomp"))
	// This cluster has nothing that makes the addresses of services work.
	manifest = strings.Replace(manifest, "          env:\n", "          env:\n"+
		"            - {name: KUBERNETES_SERVICE_HOST, value: 10.234.0.1}\n            - {name: KUBERNETES_SERVICE_PORT, value: \"6443\"}\n", 1)
	cluster.Kubectl(t, manifest, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, manifest, "delete", "--wait", "-f", "-") })

	c := &team{t: t, cluster: cluster, namespace: namespace, roots: x509.NewCertPool()}
	authority := tlstest.NewAuthority(t)
	c.roots.AppendCertsFromPEM(authority.PEM)
	certificate, key := tlstest.PEM(t, authority.Certificate("localhost"))
	folder := t.TempDir()
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.kubectl("create", "secret", "tls", "forevervm-tls", "--cert", filepath.Join(folder, "tls.crt"), "--key", filepath.Join(folder, "tls.key"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.kubectl("describe", "pods"), c.kubectl("logs", "--tail=50", "--selector", "app=forevervm"))
		}
	})
	c.kubectl("rollout", "status", "--timeout=2m", "deployment/forevervm")
	return c
}

func (c *team) kubectl(args ...string) string {
	c.t.Helper()
	return c.cluster.Kubectl(c.t, "", append([]string{"--namespace", c.namespace}, args...)...)
}

// administer runs the command line beside the daemon.
func (c *team) administer(args ...string) string {
	c.t.Helper()
	return c.kubectl(append([]string{"exec", "deployment/forevervm", "--", ociimage.Program}, args...)...)
}

// joins adds a person, and returns the token.
func (c *team) joins(name string) string {
	c.t.Helper()
	var made api.MadePerson
	if err := json.Unmarshal([]byte(c.administer("--json", "people", "add", name)), &made); err != nil {
		c.t.Fatal(err)
	}
	return made.Token
}

// as is what a person's programs use, who reach the daemon at an address.
func (c *team) as(token, address string) forevervm.Wire {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.roots}}
	c.t.Cleanup(transport.CloseIdleConnections)
	person := forevervm.New("https://"+address, token, forevervm.Options{HTTPClient: &http.Client{Transport: transport}})
	c.t.Cleanup(person.Close)
	return person.Wire()
}

// forward makes the service's port reachable here, until the test ends.
func (c *team) forward() (address string) {
	c.t.Helper()
	cmd := c.cluster.KubectlCommand("--namespace", c.namespace, "port-forward", "service/forevervm", ":8443")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { end(cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if port == nil {
		c.t.Fatalf("kubectl says %q, %v", line, err)
	}
	return "localhost:" + port[1]
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// runs runs code in a person's machine, and returns its value.
func runs(t *testing.T, person forevervm.Wire, name, code string) string {
	t.Helper()
	ctx := enginetest.Bounded(t)
	begun, err := person.Exec(ctx, name, wire.Exec{Instruction: wire.Instruction{Code: code}})
	if err != nil {
		t.Fatalf("%s in %s: %v", code, name, err)
	}
	done, err := person.Result(ctx, name, begun.InstructionSeq)
	switch {
	case err != nil:
		t.Fatalf("%s in %s: %v", code, name, err)
	case done.Error != nil:
		t.Fatalf("%s in %s fails: %s", code, name, *done.Error)
	case done.Value == nil:
		t.Fatalf("%s in %s has no value", code, name)
	}
	return *done.Value
}

// TestATeamInTheCluster has two people use a daemon that runs in the cluster. Each sees their own
// machines alone, which are pods of the same cluster. The daemon's pod is deleted meanwhile.
func TestATeamInTheCluster(t *testing.T) {
	c := newTeam(t, "team")
	address := c.forward()
	annasToken := c.joins("Anna")
	anna, ben := c.as(annasToken, address), c.as(c.joins("Ben"), address)
	ctx := enginetest.Bounded(t)
	annas, err := anna.New(ctx, wire.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	bens, err := ben.New(ctx, wire.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, anna, annas, "x = 41; x")
	runs(t, ben, bens, "x = 'b'; x")
	if got := runs(t, anna, annas, "x + 1") + runs(t, ben, bens, "x"); got != "42'b'" {
		t.Errorf("they have %s", got)
	}
	if list, err := anna.List(ctx, nil); err != nil || len(list) != 1 || list[0].Name != annas {
		t.Errorf("Anna sees %+v, %v", list, err)
	}
	if _, err := ben.Result(ctx, annas, 0); !errors.Is(err, forevervm.ErrNotFound) {
		t.Errorf("Ben has a result of Anna's: %v", err)
	}
	if pods := c.kubectl("get", "pods", "--selector", machineLabel, "--output", "name"); strings.Count(pods, "pod/") < 2 {
		t.Errorf("the pods are %q", pods)
	}

	c.kubectl("delete", "pod", "--selector", "app=forevervm")
	c.kubectl("rollout", "status", "--timeout=4m", "deployment/forevervm")
	if got := runs(t, c.as(annasToken, c.forward()), annas, "x"); got != "41" {
		t.Errorf("after the daemon's restart x is %s", got)
	}
}
