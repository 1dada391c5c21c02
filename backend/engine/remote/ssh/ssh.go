// Package ssh sets up places on computers that are reached by ssh, and dials their agents. It runs
// the system's own ssh, with its configuration, agent and known hosts, and keeps nothing of them.
//
// At the other end everything lies in one folder of the user's, ~/.local/share/forevervm-place: the
// programs and the image in bin, the machines in data.
package ssh

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Folder is where everything of a place lies, under the home of the user there.
const Folder = ".local/share/forevervm-place"

// Host is a computer, as ssh takes it: HOST, USER@HOST, or a name of ssh's configuration.
type Host string

// address is what a host may be called: nothing that ssh takes for an option, and nothing that a
// shell would read.
var address = regexp.MustCompile(`^([A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9._][A-Za-z0-9._-]{0,200}$`)

// Parse checks the address of a host.
func Parse(text string) (Host, error) {
	if !address.MatchString(text) {
		return "", machine.Invalid("%q cannot be the address of a computer. Give it as for ssh: HOST, USER@HOST, or a name from your ssh configuration.", naming.Clip(text, 80))
	}
	return Host(text), nil
}

// command is ssh, running a script of the shell there. The script must have no single quotes.
func (h Host) command(script string) []string {
	return []string{
		"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=2",
		"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "PermitLocalCommand=no", "-o", "ControlMaster=no",
		"--", string(h), "exec sh -c '" + script + "'",
	}
}

// Dialer dials the agent there.
func (h Host) Dialer(log *slog.Logger) *remote.Command {
	return &remote.Command{
		Args: h.command(`d="$HOME/` + Folder + `"; exec "$d/bin/agent" -data "$d/data"`), Log: log,
		Explain: h.explain,
	}
}

// begun is what a script says first: a shell's start files may print something before.
const begun = "forevervm-begins"

// run runs a script there, and returns what it printed. What it reads comes from in; nil for
// nothing.
func (h Host) run(ctx context.Context, script string, in io.Reader) ([]byte, error) {
	args := h.command("echo " + begun + "; " + script)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the address was checked
	var out, said iox.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	cmd.WaitDelay = 5 * time.Second
	remote.Detach(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if why := h.explain(said.String()); why != nil {
			return nil, why
		}
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("ssh %s failed: %v.", h, err), Cause: err}
	}
	_, after, found := bytes.Cut([]byte(out.String()), []byte(begun+"\n"))
	if !found {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: string(h) + " has no shell that runs programs."}
	}
	return after, nil
}

// reasons are what ssh says, as far as there is something to do about it.
var reasons = []struct{ said, sentence string }{
	{"Host key verification failed", "This computer does not know %[1]s yet, or its key has changed. Run `ssh %[1]s` in a terminal and answer the question, then try again."},
	{"Permission denied", "%[1]s does not let you in without a password. Set up a key (`ssh-copy-id %[1]s`), or add it to your ssh agent, then try again."},
	{"Could not resolve hostname", "No computer is called %[1]s. Check the address, and that you are connected to its network."},
	{"Connection refused", "%[1]s does not answer to ssh. Check that its ssh server runs."},
	{"timed out", "%[1]s does not answer. Check that it is switched on, and that you are connected to its network."},
	{"No route to host", "%[1]s does not answer. Check that it is switched on, and that you are connected to its network."},
	{"Network is unreachable", "This computer has no connection to the network of %[1]s."},
	{"No such file", "ForeverVM is not at %[1]s any more. Add the place again."},
	{"not found", "ForeverVM is not at %[1]s any more. Add the place again."},
	{"No space left", "The disk of %[1]s is full."},
}

// explain makes a sentence of what ssh said; nil where it said nothing.
func (h Host) explain(said string) error {
	said = strings.TrimSpace(said)
	if said == "" {
		return nil
	}
	for _, r := range reasons {
		if strings.Contains(said, r.said) {
			return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf(r.sentence, h), Cause: fmt.Errorf("ssh: %s", naming.CleanLine(said))}
		}
	}
	lines := strings.Split(said, "\n")
	return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("ssh %s says: %s", h, naming.Unturned(naming.CleanLine(lines[len(lines)-1])))}
}

// Facts are what is known of a host before anything is put there.
type Facts struct {
	System    string // "Linux"
	Processor string // as Go calls its architecture, or as the system does
	Home      string
	Free      int64  // bytes, on the disk of the home
	Installed string // digest of the parts that are there; empty for none
}

const look = `uname -s; uname -m; echo "$HOME"; df -Pk "$HOME" | tail -n 1; cat "$HOME/` + Folder + `/bin/digest" 2>/dev/null || true`

// processors are what uname calls those that Go has other names for.
var processors = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Look finds out whether machines can run there. It changes nothing.
func (h Host) Look(ctx context.Context) (Facts, error) {
	out, err := h.run(ctx, look, nil)
	if err != nil {
		return Facts{}, err
	}
	var lines []string
	for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan() && len(lines) < 8; {
		lines = append(lines, naming.Unturned(naming.CleanLine(scan.Text())))
	}
	if len(lines) < 4 {
		return Facts{}, &machine.Error{Kind: machine.ErrUnavailable, Message: string(h) + " did not say what it is."}
	}
	f := Facts{System: lines[0], Processor: lines[1], Home: lines[2], Free: -1}
	if name, ok := processors[f.Processor]; ok {
		f.Processor = name
	}
	if fields := strings.Fields(lines[3]); len(fields) >= 4 { // file system, blocks, used, available
		if free, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
			f.Free = free << 10
		}
	}
	if len(lines) > 4 {
		f.Installed = lines[4]
	}
	return f, nil
}

// Fits says why machines cannot run there with these parts; nil where they can, as far as is known.
func (h Host) Fits(f Facts, p *Parts) error {
	switch need := 2*p.Size + 1<<30; {
	case f.System != "Linux":
		return machine.Invalid("%s runs %s. Machines need a computer with Linux.", h, f.System)
	case f.Processor != p.Processor:
		return machine.Invalid("%s has another kind of processor (%s) than this computer (%s). ForeverVM here has no parts for it.", h, f.Processor, p.Processor)
	case f.Free >= 0 && f.Free < need:
		return &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("%s has %d MB free. ForeverVM needs %d MB there.", h, f.Free>>20, need>>20)}
	}
	return nil
}

// Leave removes what an owner (see remote.Config) has there, who has no machines there any more,
// and everything where nobody else has an owner's file. The agents must have ended.
func (h Host) Leave(ctx context.Context, owner string) error {
	_, err := h.run(ctx, `set -e; d="$HOME/`+Folder+`"; rm -f "$d/data/owners/`+owner+`"; if test -z "$(ls -A "$d/data/owners" 2>/dev/null)"; then rm -rf "$d"; fi`, nil)
	return err
}
