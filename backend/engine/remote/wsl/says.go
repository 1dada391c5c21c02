package wsl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Step is what Enable can do about a problem.
type Step string

// The steps. Both take an administrator.
const (
	StepInstall Step = "install" // install WSL; Windows mostly has to be restarted
	StepUpdate  Step = "update"  // get the newest WSL
)

// Problem is what keeps machines from running in WSL.
type Problem struct {
	machine.Problem
	Step Step // what Enable can do about it; empty for nothing
}

// err is the problem as an error.
func (p Problem) err(cause error) error {
	kind := machine.ErrUnavailable
	if p.Problem == full.Problem {
		kind = machine.ErrDiskFull
	}
	return &problemError{p, &machine.Error{Kind: kind, Message: naming.Join(p.What, p.Do), Cause: cause}}
}

// problemError is an error that is known as a problem.
type problemError struct {
	problem Problem
	told    *machine.Error
}

func (e *problemError) Error() string { return e.told.Message }

func (e *problemError) Unwrap() error { return e.told }

// problemOf is the problem that an error is; nil for none.
func problemOf(err error) *Problem {
	var told *problemError
	if errors.As(err, &told) {
		return &told.problem
	}
	return nil
}

func problem(what, do string, step Step) Problem {
	return Problem{machine.Problem{What: what, Do: do}, step}
}

// Restart is the problem that only a restart solves.
var Restart = problem("Windows has to be restarted before WSL works.", "Restart Windows. Choose Restart: Shut down is not enough.", "")

var (
	missing        = problem("This Windows has no WSL, which Linux needs.", "Update Windows: WSL comes with Windows 11, and with Windows 10 from version 2004 on.", "")
	notInstalled   = problem("WSL, the part of Windows in which Linux runs, is not installed.", "Install it. Windows asks for an administrator, and mostly has to be restarted.", StepInstall)
	outdated       = problem("The WSL of this computer is too old to run machines.", "Update it. Windows asks for an administrator.", StepUpdate)
	broken         = problem("The WSL of this computer is damaged, or its installation was cut off.", "Update it, which installs it again. Windows asks for an administrator.", StepUpdate)
	incomplete     = problem("A part of Windows that WSL needs is not turned on: the Virtual Machine Platform.", "Turn it on. Windows asks for an administrator, and has to be restarted. If you have just done that, restart Windows now.", StepInstall)
	unvirtual      = problem("This computer cannot start virtual machines, which WSL 2 needs.", "If you have just installed WSL, restart Windows. Else turn on virtualization in the computer's BIOS or UEFI settings, where it is called Intel VT-x, AMD-V or SVM.", "")
	forbidden      = problem("The administrator of this computer does not allow WSL.", "Ask them to allow it, or use ForeverVM with Docker or a computer reached by ssh.", "")
	tooOldWindows  = problem("This Windows is too old for WSL 2.", "Update Windows, then try again.", "")
	full           = problem("The disk of this computer is full.", machine.FreeSpace, "")
	noMemory       = problem("This computer has too little free memory to start WSL.", "Close some programs, and try again.", "")
	crashed        = problem("WSL does not start, or has crashed.", "Run `wsl --shutdown` in a terminal, which ends all that runs in WSL, and try again.", "")
	damaged        = problem("The disk of ForeverVM's machines in WSL is damaged.", "Restart Windows and try again. If that does not help, run `wsl --unregister ForeverVM` in a terminal, which deletes these machines, and start again.", "")
	busy           = problem("WSL is busy with ForeverVM's distribution: it is exported, converted or removed.", "Wait until that is done, and try again.", "")
	gone           = problem("Somebody has removed ForeverVM from WSL.", "Start it. ForeverVM then sets itself up again.", "")
	silent         = problem("WSL does not answer.", "Run `wsl --shutdown` in a terminal, which ends all that runs in WSL, and try again.", "")
	noDistribution = "WSL_E_DEFAULT_DISTRO_NOT_FOUND" // of all, wsl.exe says it where it has none to list
)

// foreign is the problem with a distribution that is not of ForeverVM and has its name.
func foreign(name string) Problem {
	return problem(fmt.Sprintf("WSL has a distribution called %s that ForeverVM has not made. It is left alone.", name), "Give it another name (`wsl --export`, then `wsl --import`), and try again.", "")
}

// causes are what wsl.exe says, by the codes in it. Its sentences are in the person's language.
// Those that come first count: some words come with several codes.
var causes = []struct {
	problem Problem
	said    []string
}{
	{forbidden, []string{"ERROR_ACCESS_DISABLED_BY_POLICY", "0x800704ec"}},
	{Restart, []string{"ERROR_SUCCESS_REBOOT_REQUIRED", "ERROR_SUCCESS_REBOOT_INITIATED", "0x80070bc2"}},
	{incomplete, []string{"WSL_E_VIRTUAL_MACHINE_PLATFORM_REQUIRED", "HCS_E_SERVICE_NOT_AVAILABLE", "0x80370114"}},
	{unvirtual, []string{"HCS_E_HYPERV_NOT_INSTALLED", "0x80370102", "WSL_E_VM_MODE_NOT_SUPPORTED"}},
	{notInstalled, []string{"WSL_E_WSL_OPTIONAL_COMPONENT_REQUIRED", "0x8007019e"}},
	{tooOldWindows, []string{"WSL_E_OS_NOT_SUPPORTED"}},
	{outdated, []string{"0x800701bc", "aka.ms/wsl2kernel"}},
	{broken, []string{"REGDB_E_CLASSNOTREG", "0x80040154", "ERROR_SERVICE_DOES_NOT_EXIST", "0x80070424", "Wsl/CallMsi"}},
	{full, []string{"ERROR_DISK_FULL", "0x80070070", "No space left"}},
	{noMemory, []string{"E_OUTOFMEMORY", "0x8007000e", "ERROR_NO_SYSTEM_RESOURCES", "0x800705aa", "ERROR_COMMITMENT_LIMIT", "0x800705af"}},
	{damaged, []string{"WSL_E_DISK_CORRUPTED"}},
	{crashed, []string{"WSL_E_VM_CRASHED", "HCS_E_CONNECTION_TIMEOUT", "HCS_E_TERMINATED"}},
	{gone, []string{"WSL_E_DISTRO_NOT_FOUND"}},
	// `wsl --status` says it without a code and with success, where no virtual machine can start.
	{incomplete, []string{"aka.ms/enablevirtualization"}},
}

// recognize finds the problem that wsl.exe tells; nil for none that is known.
func recognize(said string) *Problem {
	said = strings.ToLower(said)
	for _, c := range causes {
		for _, code := range c.said {
			if strings.Contains(said, strings.ToLower(code)) {
				return &c.problem
			}
		}
	}
	return nil
}

// explain makes a sentence of what wsl.exe said; nil where it said nothing.
func explain(said string) error {
	said = strings.ReplaceAll(said, "\x00", "") // what is left of UTF-16 where that was cut
	if known := recognize(said); known != nil {
		return known.err(fmt.Errorf("wsl.exe: %s", naming.CleanLine(said)))
	}
	var lines []string // the last two: a sentence and a code
	for line := range strings.Lines(said) {
		if line = naming.Unturned(naming.CleanLine(strings.TrimSpace(line))); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "WSL says: " + naming.Clip(strings.Join(lines[max(0, len(lines)-2):], " "), 300)}
}

// plainText makes newer versions of wsl.exe write UTF-8. Others write UTF-16.
const plainText = "WSL_UTF8=1"

// text is what wsl.exe wrote.
func text(b []byte) string {
	if !bytes.Contains(b, []byte{0}) {
		return strings.ToValidUTF8(string(b), "?")
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
}
