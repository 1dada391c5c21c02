//go:build linux || darwin

package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/vm"
	"github.com/forevervm/desktop/backend/machine"
)

// openVM makes the engine of machines in a virtual machine; nil where this computer has none. It
// starts nothing.
func (d *daemon) openVM(bin string, store *local.Store) (*virtualMachine, error) {
	if !wantsVM() {
		return nil, nil
	}
	sockets := d.dirs.SocketsDir()
	if err := os.MkdirAll(sockets, 0o700); err != nil {
		return nil, err
	}
	hypervisor := vm.Vfkit(filepath.Join(bin, "vfkit"))
	if runtime.GOOS == "linux" {
		hypervisor = vm.QEMU(runtime.GOARCH, os.Getenv(vmVariable))
	}
	guest := filepath.Join(bin, "guest", runtime.GOARCH)
	cfg := vm.Config{
		Folder: filepath.Join(d.dirs.Data, "vm"), Sockets: sockets,
		Kernel: filepath.Join(guest, "kernel"), Initramfs: filepath.Join(guest, "initramfs"),
		Parts:  vm.Parts{Agent: filepath.Join(bin, "agent"), Supervisor: filepath.Join(bin, "supervisor"), Runsc: filepath.Join(bin, "runsc"), Image: filepath.Join(bin, "image", "base.erofs")},
		Digest: store.Digest, Hypervisor: hypervisor,
		Limits: func() (memoryMB int, diskBytes int64) {
			memory, disk := vmLimits(d.dirs)
			return memory, int64(disk) << 20
		},
		Processors: runtime.NumCPU(), Linger: vmLinger, Alone: vmAlone, Log: d.log,
	}
	v := &virtualMachine{data: cfg.Folder, missing: func() []machine.Problem { return missingForVM(cfg) }}
	v.Place = remote.New(remote.Config{
		Name: inVM, Owner: oneOwner, Dialer: starting{vm.New(cfg), v.tell}, Patience: vm.Patience, Idle: ownIdle, Costly: true,
	})
	return v, nil
}

// starting is a virtual machine that tells when it starts.
type starting struct {
	*vm.VM
	tell func(*machine.Preparation)
}

// Dial is remote.Dialer's.
func (s starting) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if !s.Running() {
		s.tell(&machine.Preparation{What: "Starting the virtual machine"})
		defer s.tell(nil)
	}
	return s.VM.Dial(ctx)
}

// missingForVM says what this computer lacks for a virtual machine.
func missingForVM(cfg vm.Config) []machine.Problem {
	program := cfg.Hypervisor.Program
	if _, err := exec.LookPath(program); err != nil {
		if runtime.GOOS == "linux" {
			return []machine.Problem{{What: fmt.Sprintf("The program %s is missing.", program), Do: "Install QEMU."}}
		}
		return []machine.Problem{{What: "This installation of ForeverVM lacks the program that runs its virtual machine.", Do: "Install ForeverVM again."}}
	}
	for _, part := range []string{cfg.Kernel, cfg.Initramfs, cfg.Parts.Agent, cfg.Parts.Supervisor, cfg.Parts.Runsc, cfg.Parts.Image} {
		if _, err := os.Stat(part); err != nil {
			return []machine.Problem{{What: "This installation of ForeverVM lacks a part of the virtual machine: " + filepath.Base(part) + ".", Do: "Install ForeverVM again."}}
		}
	}
	return nil
}
