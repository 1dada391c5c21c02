//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// minFree is how much room the data folder's disk must have for machines to be of use, in bytes.
const minFree = 2 << 30

// Check says what keeps this engine from working here.
func (e *Engine) Check(ctx context.Context) []machine.Problem {
	var problems []machine.Problem
	add := func(what, do string) { problems = append(problems, machine.Problem{What: what, Do: do}) }
	place := e.store.Config()
	for _, program := range []string{e.cfg.Supervisor, place.Runsc} {
		if unix.Access(program, unix.X_OK) != nil {
			add(fmt.Sprintf("The program %s is missing.", filepath.Base(program)), "Install ForeverVM again.")
		}
	}
	if images, _ := filepath.Glob(filepath.Join(place.Images, "*.erofs")); len(images) == 0 {
		add("There is no sandbox image.", "Install ForeverVM again.")
	}
	if err := os.MkdirAll(place.Data, 0o700); err != nil {
		add(fmt.Sprintf("The data folder cannot be used: %v.", err), "Give yourself the right to write there, or choose another folder with FOREVERVM_HOME.")
	} else if free := freeBytes(place.Data); free >= 0 && free < minFree {
		add(fmt.Sprintf("Only %d MiB are free on the disk where machines are saved.", free>>20), "Free at least 2 GiB.")
	}
	var exit *exec.ExitError
	switch err := tryNamespaces(ctx, e.cfg.Supervisor); {
	case errors.As(err, &exit) && exit.ExitCode() == sandbox.ExitNoProc:
		add("The system does not let programs mount a /proc of their own, which the sandbox needs: this is a container that hides parts of it.",
			"Run ForeverVM outside of the container, or use Docker.")
	case err != nil:
		problems = append(problems, namespaceProblem(err))
	}
	return problems
}

func freeBytes(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return -1
	}
	return int64(st.Bavail) * st.Bsize
}

// tryNamespaces starts the supervisor, which then only says that it lives, the way it starts its
// sandbox.
func tryNamespaces(ctx context.Context, supervisor string) error {
	cmd := exec.CommandContext(ctx, supervisor, "probe")
	cmd.Env = []string{}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// namespaceProblem says why user name spaces are refused, as far as the system tells.
func namespaceProblem(err error) machine.Problem {
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	what := "The system does not let programs make user name spaces, which the sandbox is built from."
	switch {
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && os.Getuid() != 0:
		return machine.Problem{
			What: what + " Ubuntu's AppArmor allows it only to programs that a profile names.",
			Do:   "Install ForeverVM's package, which brings a profile for its supervisor (in a source checkout: run `build/allow-namespaces.sh`), and try again.",
		}
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return machine.Problem{What: what, Do: "Run `sudo sysctl -w kernel.unprivileged_userns_clone=1`, and put that setting into /etc/sysctl.d to keep it."}
	case read("/proc/sys/user/max_user_namespaces") == "0":
		return machine.Problem{What: what, Do: "Run `sudo sysctl -w user.max_user_namespaces=10000`, and put that setting into /etc/sysctl.d to keep it."}
	default:
		return machine.Problem{What: fmt.Sprintf("%s (%v)", what, err), Do: "Allow user name spaces on this computer, then try again."}
	}
}
