//go:build linux && real

package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forevervm/desktop/backend/egress/tlstest"
)

// Two people of a team work at once with the published Python SDK, unchanged, over TLS.
func TestPythonSDKInATeam(t *testing.T) {
	authority, files := tlstest.NewAuthority(t), t.TempDir()
	certificate, key := tlstest.PEM(t, authority.Certificate("127.0.0.1"))
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(files, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &daemon{t: t, home: newHome(t), log: new(logBuffer), args: []string{
		"--listen", "127.0.0.1:0", "--tls-cert", filepath.Join(files, "tls.crt"), "--tls-key", filepath.Join(files, "tls.key"),
	}}
	d.start()
	t.Cleanup(d.stop)
	at, err := url.Parse(d.team)
	if err != nil {
		t.Fatal(err)
	}
	base := "https://127.0.0.1:" + at.Port()
	people := []string{"Anna", "Ben"}
	programs := pythonPrograms(t, people...)
	var all sync.WaitGroup
	for n, name := range people {
		token, err := d.cli("people", "add", name)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			cmd := exec.Command(programs[n][0], programs[n][1:]...)
			cmd.Env = append(os.Environ(), "FOREVERVM_API_BASE="+base, "FOREVERVM_TOKEN="+strings.TrimSpace(token), "SSL_CERT_FILE="+authority.File)
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "fine" {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	all.Wait()
	said, err := d.cli("machine", "list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct{ Owner string }
	}
	if err := json.Unmarshal([]byte(said), &list); err != nil {
		t.Fatal(err)
	}
	machines := map[string]int{}
	for _, m := range list.Items {
		machines[m.Owner]++
	}
	if len(machines) != 2 || machines["Anna"] != machines["Ben"] || machines["Anna"] < 2 {
		t.Errorf("the machines are %v", machines)
	}
}
