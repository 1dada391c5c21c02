package vm

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestCommands(t *testing.T) {
	m := Machine{
		Kernel: "/app/guest/kernel", Initramfs: "/app/guest/initramfs", Parameters: "console=hvc0 panic=-1 quiet forevervm.alone=300",
		Disks:  []string{"/home/me/My Files/vm/0123.parts", "/app/image/base.erofs", "/home/me/My Files/vm/data.img"},
		Orders: "/tmp/forevervm/orders.sock", Agent: "/tmp/forevervm/agent.sock", Console: "/home/me/My Files/vm/console.log",
		MemoryMB: 4096, Processors: 4,
	}
	for name, h := range map[string]Hypervisor{
		"qemu-amd64-kvm": QEMU("amd64", "kvm"), "qemu-amd64-tcg": QEMU("amd64", "tcg"), "qemu-arm64-tcg": QEMU("arm64", "tcg"), "vfkit": Vfkit("/app/vfkit"),
	} {
		got := strings.Join(h.Command(m), "\n") + "\n"
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: go test -update changes %s to\n%s", name, golden, got)
		}
	}
	for path, want := range map[string]bool{"/home/me/My Files": true, "/home/a,b": false, `/home/"x"`: false, "/home/\n": false} {
		if speakable(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
