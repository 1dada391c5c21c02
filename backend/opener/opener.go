// Package opener opens files and addresses as a double click does: in whatever program the person
// has for them.
package opener

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// ErrNoDisplay says that nothing can be shown from here, as this program belongs to no desktop
// session.
var ErrNoDisplay = errors.New("there is no display to open anything on")

// failsWithin is how soon a program that cannot open something says so. One that still runs then
// shows it: some stay as long as it is shown.
const failsWithin = 5 * time.Second

// Open opens a file, by its path, or an address. Other users can read it among this computer's
// programs, except on Windows.
func Open(ctx context.Context, what string) error {
	program, before := "xdg-open", []string(nil)
	switch {
	case runtime.GOOS == "windows":
		program, before = "rundll32", []string{"url.dll,FileProtocolHandler"}
	case runtime.GOOS == "darwin":
		program = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return ErrNoDisplay
	}
	cmd := exec.Command(program, append(before, what)...)
	alone(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(failsWithin):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
