//go:build linux

package sandbox

import (
	"encoding/json"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// parseDeath makes a sentence of what the runner says of Python's end. Only numbers are taken from
// it: people and programs read the sentence as ours, so a machine has no word in it.
func parseDeath(f protocol.Frame) (string, error) {
	var d struct {
		ExitCode *int `json:"exit_code"`
		Signal   *int `json:"signal"`
	}
	if err := f.Decode(&d); err != nil {
		return "", err
	}
	switch {
	case d.Signal != nil && *d.Signal > 0 && *d.Signal < 65:
		return fmt.Sprintf("Python was ended by the signal %s.", signalWords(unix.Signal(*d.Signal))), nil
	case d.ExitCode != nil && *d.ExitCode >= 0 && *d.ExitCode < 256:
		return fmt.Sprintf("Python ended itself with the status %d.", *d.ExitCode), nil
	case d.Signal == nil && d.ExitCode == nil:
		return "Python could no longer be reached and was ended: its code closed the descriptors that the machine needs.", nil
	default:
		return "", fmt.Errorf("%w: an end by neither a signal nor a status", protocol.ErrViolation)
	}
}

// signalWords names a signal, and what it stands for where that helps.
func signalWords(s unix.Signal) string {
	name := unix.SignalName(s)
	if name == "" {
		return fmt.Sprint(int(s))
	}
	meaning := map[unix.Signal]string{
		unix.SIGSEGV: "segmentation fault", unix.SIGBUS: "bus error", unix.SIGFPE: "arithmetic error", unix.SIGILL: "illegal instruction",
		unix.SIGABRT: "aborted", unix.SIGKILL: "killed",
	}[s]
	if meaning != "" {
		name += " (" + meaning + ")"
	}
	return name
}

// sentence bounds a text that comes from runsc.
func sentence(s string) string {
	const most = 500
	if len(s) > most {
		s = s[:most]
	}
	b, _ := json.Marshal(s) // makes it valid UTF-8
	_ = json.Unmarshal(b, &s)
	return s
}
