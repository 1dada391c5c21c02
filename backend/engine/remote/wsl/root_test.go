package wsl

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/engine/remote/parts"
)

// The distribution has nothing but what is named here. WSL takes one that has /etc. The digest
// comes last: what breaks off has none.
func TestTheRoot(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "image"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent", "supervisor", "runsc", "image/base.erofs"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made, err := parts.Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := root(&b, made, nil); err != nil {
		t.Fatal(err)
	}
	var list []string
	content := map[string]string{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		c, failed := io.ReadAll(r)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		content[h.Name] = string(c)
		list = append(list, fmt.Sprintf("%s %d:%d %#o", h.Name, h.Uid, h.Gid, h.Mode))
	}
	const want = `bin/ 0:0 0755
dev/ 0:0 0755
etc/ 0:0 0755
home/ 0:0 0755
home/forevervm/ 1000:1000 0700
home/forevervm/bin/ 1000:1000 0700
home/forevervm/bin/image/ 1000:1000 0700
home/forevervm/data/ 1000:1000 0700
lib/ 0:0 0755
mnt/ 0:0 0755
proc/ 0:0 0755
root/ 0:0 0700
run/ 0:0 0755
sbin/ 0:0 0755
sys/ 0:0 0755
tmp/ 0:0 01777
usr/ 0:0 0755
usr/bin/ 0:0 0755
usr/lib/ 0:0 0755
var/ 0:0 0755
etc/wsl.conf 0:0 0644
etc/wsl-distribution.conf 0:0 0644
etc/os-release 0:0 0644
etc/passwd 0:0 0644
etc/group 0:0 0644
home/forevervm/bin/sums 1000:1000 0644
home/forevervm/bin/agent 1000:1000 0755
home/forevervm/bin/supervisor 1000:1000 0755
home/forevervm/bin/runsc 1000:1000 0755
home/forevervm/bin/image/base.erofs 1000:1000 0644
home/forevervm/bin/digest 1000:1000 0644`
	if got := strings.Join(list, "\n"); got != want {
		t.Errorf("it has\n%s", got)
	}
	if got := content["home/forevervm/bin/digest"]; got != made.Digest+"\n" || content["home/forevervm/bin/runsc"] != "runsc" {
		t.Errorf("the digest is %q", got)
	}
	for _, line := range []string{"[automount]\nenabled=false\n", "[interop]\nenabled=false\nappendWindowsPath=false\n", "[user]\ndefault=forevervm\n"} {
		if !strings.Contains(content["etc/wsl.conf"], line) {
			t.Errorf("wsl.conf lacks %q", line)
		}
	}
}
