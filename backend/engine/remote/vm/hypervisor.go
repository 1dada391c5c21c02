package vm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
)

// Machine is what a hypervisor is told of a virtual machine. It has no network device. Paths are
// absolute, and have no comma.
type Machine struct {
	Kernel, Initramfs string
	Parameters        string   // of the kernel
	Disks             []string // in the order of package control; only that of the data is written to
	Orders, Agent     string   // Unix sockets, which the hypervisor makes
	Console           string   // file to which it appends what the guest says on its console
	MemoryMB          int      // at most
	Processors        int
}

// Hypervisor is a program that runs a virtual machine for as long as it runs itself. It is told
// nothing secret: others may read a program's arguments.
type Hypervisor struct {
	Name    string
	Program string                 // a path, or a name that is looked up
	Command func(Machine) []string // the program and its arguments
	// Copies says that it opens every disk for writing, so that it gets copies of those that must
	// not change.
	Copies bool
	// URLs says that it takes the paths of sockets for a URL's.
	URLs bool
}

// QEMU is Linux's. processor is as Go calls its architecture, accelerator as QEMU calls it: kvm, or
// tcg, which runs anywhere and is slow.
func QEMU(processor, accelerator string) Hypervisor {
	program, board := "qemu-system-x86_64", "q35"
	if processor == "arm64" {
		program, board = "qemu-system-aarch64", "virt,gic-version=max" // what KVM has, which may not be the default
	}
	kind := "host"
	if accelerator == "tcg" {
		// With a thread for each processor, a guest of QEMU 7.2 found its memory damaged when it
		// started, in one of twenty starts.
		accelerator = "tcg,thread=single"
		kind = "max,la57=off" // page tables of five levels, which are slow, and of no use
		if processor == "arm64" {
			kind = "max,pauth-impdef=on" // a quick way to sign pointers: a guest starts in half the time
		}
	}
	return Hypervisor{Name: "QEMU", Program: program, Command: func(m Machine) []string {
		args := []string{
			program, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
			"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
			"-machine", board, "-accel", accelerator, "-cpu", kind, "-smp", strconv.Itoa(m.Processors), "-m", strconv.Itoa(m.MemoryMB),
			"-kernel", m.Kernel, "-initrd", m.Initramfs, "-append", m.Parameters,
			"-device", "virtio-rng-pci",
			// What the guest does not use any more goes back.
			"-device", "virtio-balloon-pci,free-page-reporting=on,deflate-on-oom=on",
		}
		for i, path := range m.Disks {
			how := "readonly=on"
			if i == control.DataDisk {
				// A disk of the computer's that is full stops the guest, and does not tell it.
				how = "discard=unmap,detect-zeroes=unmap,werror=stop,rerror=stop"
			}
			args = append(args,
				"-drive", fmt.Sprintf("if=none,id=disk%d,format=raw,file=%s,%s", i, path, how),
				"-device", fmt.Sprintf("virtio-blk-pci,drive=disk%d", i))
		}
		return append(args,
			"-device", "virtio-serial-pci",
			"-chardev", "file,id=console,append=on,path="+m.Console, "-device", "virtconsole,chardev=console",
			"-chardev", "socket,id=orders,server=on,wait=off,path="+m.Orders, "-device", "virtserialport,chardev=orders,name="+control.OrdersName,
			"-chardev", "socket,id=agent,server=on,wait=off,path="+m.Agent, "-device", "virtserialport,chardev=agent,name="+control.AgentName)
	}}
}

// Vfkit is the Mac's: a program of others' (github.com/crc-org/vfkit) that does what Apple's
// Virtualization framework has to be asked for.
func Vfkit(program string) Hypervisor {
	return Hypervisor{Name: "vfkit", Program: program, Copies: true, URLs: true, Command: func(m Machine) []string {
		args := []string{
			program, "--log-level", "error", "--restful-uri", "none://", // it would listen at a port
			"--cpus", strconv.Itoa(m.Processors), "--memory", strconv.Itoa(m.MemoryMB),
			"--bootloader", fmt.Sprintf(`linux,kernel=%s,initrd=%s,cmdline="%s"`, m.Kernel, m.Initramfs, m.Parameters),
			"--device", "virtio-rng",
		}
		for _, path := range m.Disks {
			args = append(args, "--device", "virtio-blk,path="+path)
		}
		return append(args,
			"--device", "virtio-serial,logFilePath="+m.Console,
			"--device", fmt.Sprintf("virtio-vsock,port=%d,socketURL=%s,connect", control.OrdersPort, m.Orders),
			"--device", fmt.Sprintf("virtio-vsock,port=%d,socketURL=%s,connect", control.AgentPort, m.Agent))
	}}
}

// speakable says whether a hypervisor can be told of a path.
func speakable(path string) bool { return !strings.ContainsAny(path, ",\"\n") }
