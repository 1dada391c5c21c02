package wsl

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/forevervm/desktop/backend/machine"
)

// Wine, under which a test runs this, asks for no administrator and needs no restart. Neither has
// been tried.

// shellExecute is SHELLEXECUTEINFOW.
type shellExecute struct {
	size          uint32
	mask          uint32
	window        windows.Handle
	verb          *uint16
	file          *uint16
	parameters    *uint16
	directory     *uint16
	show          int32
	instance      windows.Handle
	idList        uintptr
	class         *uint16
	key           windows.Handle
	hotKey        uint32
	iconOrMonitor windows.Handle
	process       windows.Handle
}

var shellExecuteEx = windows.NewLazySystemDLL("shell32.dll").NewProc("ShellExecuteExW")

// Enable takes a step that Look has named, as an administrator, whom Windows asks for. It says
// whether Windows has to be restarted before machines can run. When ctx ends, it waits no more, and
// the step goes on.
func (p *Place) Enable(ctx context.Context, step Step) (restart bool, err error) {
	arguments := map[Step]string{StepInstall: "--install --no-distribution", StepUpdate: "--update"}[step]
	if arguments == "" {
		return false, machine.Invalid("%q is no step to set up WSL.", step)
	}
	process, err := asAdministrator(p.cfg.Program, arguments)
	if errors.Is(err, windows.ERROR_CANCELLED) {
		return false, &machine.Error{Kind: machine.ErrConflict, Message: "WSL was not set up, as no administrator has agreed.", Cause: err}
	}
	if err != nil {
		return false, notStarted(err)
	}
	defer windows.CloseHandle(process) //nolint:errcheck // nothing depends on it
	for {
		event, err := windows.WaitForSingleObject(process, 100)
		if err != nil {
			return false, err
		}
		if event == windows.WAIT_OBJECT_0 {
			break
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	var code uint32
	if err := windows.GetExitCodeProcess(process, &code); err != nil {
		return false, err
	}
	switch windows.Errno(code) {
	case windows.ERROR_SUCCESS:
		return needsRestart(p.usable(ctx)), nil // it says what it did in the person's language alone
	case windows.ERROR_SUCCESS_REBOOT_REQUIRED:
		return true, nil
	}
	return false, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("WSL could not be set up: `wsl %s` failed with the code %#x. Restart Windows, run that command in a terminal as an administrator, and see what it says.", arguments, code)}
}

// needsRestart says whether a restart may be all that is missing after WSL was installed.
func needsRestart(err error) bool {
	told := problemOf(err)
	return told != nil && (*told == incomplete || *told == unvirtual || *told == notInstalled || *told == Restart)
}

// asAdministrator starts a program. The caller closes the handle of its process.
func asAdministrator(program, arguments string) (windows.Handle, error) {
	const keepProcess, noWindow, hidden = 0x40, 0x400, 0 // SEE_MASK_NOCLOSEPROCESS, SEE_MASK_FLAG_NO_UI, SW_HIDE
	call := shellExecute{mask: keepProcess | noWindow, show: hidden}
	call.size = uint32(unsafe.Sizeof(call))
	for text, at := range map[string]**uint16{"runas": &call.verb, program: &call.file, arguments: &call.parameters} {
		pointer, err := windows.UTF16PtrFromString(text)
		if err != nil {
			return 0, err
		}
		*at = pointer
	}
	if ok, _, err := shellExecuteEx.Call(uintptr(unsafe.Pointer(&call))); ok == 0 {
		return 0, err
	}
	if call.process == 0 {
		return 0, errors.New("Windows did not start it")
	}
	return call.process, nil
}
