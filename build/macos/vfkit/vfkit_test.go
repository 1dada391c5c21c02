// Package vfkit sees to it that the virtual machine's program understands what we tell it. It has
// no code: go.mod says of which version the program is.
package vfkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crc-org/vfkit/pkg/cmdline"
	"github.com/crc-org/vfkit/pkg/config"
	"github.com/spf13/cobra"
)

// TestItUnderstandsUs reads the command line that the tests of package vm compare with: on this
// system, the program itself cannot be made.
func TestItUnderstandsUs(t *testing.T) {
	golden, err := os.ReadFile("../../../backend/engine/remote/vm/testdata/vfkit.txt")
	if err != nil {
		t.Fatal(err)
	}
	var opts cmdline.Options
	cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
	cmdline.AddFlags(cmd, &opts)
	cmd.SetArgs(strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n")[1:])
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if opts.RestfulURI != cmdline.DefaultRestfulURI {
		t.Errorf("it listens at %q", opts.RestfulURI)
	}
	bootloader, err := config.BootloaderFromCmdLine(opts.Bootloader.GetSlice())
	if err != nil {
		t.Fatal(err)
	}
	linux, ok := bootloader.(*config.LinuxBootloader)
	if !ok || linux.VmlinuzPath == "" || linux.InitrdPath == "" || linux.KernelCmdLine != "console=hvc0 panic=-1 quiet forevervm.alone=300" {
		t.Errorf("it boots %+v", bootloader)
	}
	disk := filepath.Join(t.TempDir(), "disk") // it looks what each one is
	if err := os.WriteFile(disk, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, device := range opts.Devices {
		if kind, _, ok := strings.Cut(device, ",path="); ok {
			opts.Devices[i] = kind + ",path=" + disk
		}
	}
	vm := config.NewVirtualMachine(opts.Vcpus, uint64(opts.MemoryMiB), bootloader)
	if err := vm.AddDevicesFromCmdLine(opts.Devices); err != nil {
		t.Fatal(err)
	}
	disks, lines := 0, 0
	for _, device := range vm.Devices {
		switch d := device.(type) {
		case *config.VirtioBlk:
			disks++
		case *config.VirtioVsock:
			lines++
			if d.Listen {
				t.Errorf("for port %d, the guest would have to dial", d.Port)
			}
		case *config.VirtioNet:
			t.Error("it has a network")
		}
	}
	if disks != 3 || lines != 2 || len(vm.Devices) != 7 {
		t.Errorf("of %d devices, %d are disks and %d are lines", len(vm.Devices), disks, lines)
	}
}
