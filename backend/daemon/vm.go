package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// inVM is the engine of machines in a virtual machine on this computer: the usual one where the
// system is not Linux and has a hypervisor that we know.
const inVM = "vm"

// vmVariable names the environment variable that lets Linux, too, have that engine, and as the
// usual one. So what a Mac does is tried on Linux, by QEMU. Its value is how QEMU runs it: kvm or
// tcg.
const vmVariable = "FOREVERVM_VM"

// wantsVM says whether this computer has that engine.
func wantsVM() bool { return runtime.GOOS == "darwin" || os.Getenv(vmVariable) != "" }

const (
	// vmLinger is how long it goes on after the pipe to it was closed: macOS gets its memory back
	// when it ends.
	vmLinger = 4 * time.Minute
	// vmAlone is how long it waits for the next daemon.
	vmAlone = 5 * time.Minute
)

// The keys of the virtual machine's limits in the settings, and their defaults.
const (
	vmMemoryKey = "vm_memory_mb"
	vmDiskKey   = "vm_disk_mb"

	leastVMMemory = 1 << 10 // in MiB, as all of these
	usualVMMemory = 4 << 10 // where the computer does not say how much it has
	leastVMDisk   = 4 << 10
	usualVMDisk   = 64 << 10
)

// vmLimits are what the virtual machine may take at most, in MiB, from its next start on.
func vmLimits(dirs home.Dirs) (memory, disk int) {
	memory, disk = vmSettings(dirs)
	total := int(totalMemory() >> 20) // 0 where that is not known
	if memory == 0 {
		memory = usualVMMemory
		if total > 0 {
			memory = max(leastVMMemory, total/2)
		}
	}
	if total > 0 { // a hypervisor refuses more than there is
		memory = min(memory, max(leastVMMemory, total-leastVMMemory))
	}
	return memory, cmp.Or(disk, usualVMDisk)
}

// vmSettings are these limits as they are set; 0 for the defaults.
func vmSettings(dirs home.Dirs) (memory, disk int) {
	file, err := dirs.ReadSettings()
	if err != nil {
		return 0, 0 // policies has told of it
	}
	read := func(key string) int {
		if value, ok := file[key]; ok && rules[key](value, &service.Settings{}) == nil {
			n, _ := strconv.Atoi(string(value)) // as the rule has
			return n
		}
		return 0
	}
	return read(vmMemoryKey), read(vmDiskKey)
}

// vmMebibytes is a limit of the virtual machine: no policy of the machines.
func vmMebibytes(least int) rule {
	return func(value json.RawMessage, _ *service.Settings) error {
		if n, err := strconv.Atoi(string(value)); err != nil || n != 0 && n < least || n > math.MaxInt32 {
			return fmt.Errorf("0 for the default, or a whole number of MiB, %d or more", least)
		}
		return nil
	}
}

// virtualMachine is the place in a virtual machine on this computer, as an engine that tells when
// it starts.
type virtualMachine struct {
	*remote.Place
	news

	// missing says what this computer lacks for it.
	missing func() []machine.Problem
	// data is the folder with what it consists of. It is empty until the first start.
	data string
}

// isFresh says whether it was never started.
func (v *virtualMachine) isFresh() bool {
	entries, err := os.ReadDir(v.data)
	return err != nil || len(entries) == 0
}

// Check says what is wrong. It starts nothing.
func (v *virtualMachine) Check(ctx context.Context) []machine.Problem {
	if problems := v.missing(); len(problems) > 0 {
		return problems
	}
	return v.Place.Check(ctx)
}

// StartUp starts the virtual machine, and so finds out whether it works.
func (v *virtualMachine) StartUp(ctx context.Context) error {
	if len(v.missing()) > 0 {
		return nil // which Check tells
	}
	return v.Place.StartUp(ctx)
}

// Prepare starts a virtual machine that was never started, which takes longest: it makes what all
// machines begin with.
func (v *virtualMachine) Prepare(ctx context.Context) error {
	if !v.isFresh() || len(v.missing()) > 0 {
		return nil
	}
	if err := v.StartUp(ctx); err != nil {
		return err
	}
	v.tell(&machine.Preparation{What: "Starting a first machine"})
	defer v.tell(nil)
	return runFirst(ctx, v.Place)
}
