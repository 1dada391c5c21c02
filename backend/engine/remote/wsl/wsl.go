// Package wsl has a place in a WSL 2 distribution of ours on Windows, and dials its agent. It runs
// wsl.exe, as a person would, and needs no administrator but to install WSL.
//
// The distribution is nothing but the parts of a place and a few files of text: there is no shell,
// and no other program. It sees no drive of Windows and starts no program there. All runs as one
// user without privileges. The programs and the image lie in its home, in bin, the machines in
// data.
package wsl

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Name is what the distribution is called where Config names none.
const Name = "ForeverVM"

// Patience is what remote.Config.Patience should be: WSL's virtual machine may have to start.
const Patience = 2 * time.Minute

const (
	user   = "forevervm"
	userID = 1000
	home   = "/home/" + user
	agent  = home + "/bin/agent"
	data   = home + "/data"
)

const (
	// askPatience bounds how long a question to wsl.exe may take. It may start the virtual machine.
	askPatience = 2 * time.Minute
	// endPatience bounds how long wsl.exe may go on when nobody waits for it any more.
	endPatience = 5 * time.Second
	// mostSaid bounds how many bytes are kept of what wsl.exe says.
	mostSaid = 64 << 10
	// disk is the file that WSL makes in the folder of a distribution.
	disk = "ext4.vhdx"
	// importing is a file there, from the beginning of the import until what was imported has
	// answered. Without it, a distribution may have machines.
	importing = "importing"
	// ownCode begins the codes that an installed wsl.exe says.
	ownCode = "Wsl/"
	// ownFailure is the exit code of wsl.exe where it fails itself, and no program in it. It is -1.
	ownFailure = 0xffffffff
)

// Config says where the place is.
type Config struct {
	Program string // wsl.exe; empty for the one of Windows
	Name    string // of the distribution: letters and digits; empty for Name
	// Folder is where its disk lies: an absolute path, which the daemon uses for nothing else.
	// Install makes it.
	Folder string
	// Free says how many bytes can still be written where a folder lies.
	Free func(folder string) (int64, error)
	Log  *slog.Logger
}

// Place is a distribution of ours, whether it is there or not. It may be used from any goroutine,
// but Install and Remove one at a time.
type Place struct{ cfg Config }

// New makes the place. It runs nothing yet.
func New(cfg Config) *Place {
	cfg.Program = cmp.Or(cfg.Program, filepath.Join(cmp.Or(os.Getenv("SystemRoot"), `C:\Windows`), "System32", "wsl.exe"))
	cfg.Name = cmp.Or(cfg.Name, Name)
	return &Place{cfg}
}

// inside are the arguments with which wsl.exe runs the agent.
func (p *Place) inside(args ...string) []string {
	return append([]string{"-d", p.cfg.Name, "--user", user, "--cd", "/", "--exec", agent}, args...)
}

// Dialer dials the agent there.
func (p *Place) Dialer() *remote.Command {
	return &remote.Command{
		Args: append([]string{p.cfg.Program}, p.inside("-data", data)...), Env: []string{plainText}, Log: p.cfg.Log,
		Explain: explain, Talks: true,
	}
}

// head keeps the first bytes that are written to it.
type head struct{ text []byte }

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), mostSaid-len(h.text))]...)
	return len(b), nil
}

// failed is the error of a wsl.exe that ended with a code.
type failed struct {
	code uint32
	said string
	told error // for people
}

func (f *failed) Error() string { return f.told.Error() }

func (f *failed) Unwrap() error { return f.told }

// run runs wsl.exe, and returns what it said. What it reads comes from in; nil for nothing.
func (p *Place) run(ctx context.Context, in io.Reader, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, p.cfg.Program, args...) //nolint:gosec // the arguments are ours
	var out head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
	cmd.Env = append(cmd.Environ(), plainText)
	cmd.WaitDelay = endPatience
	remote.Detach(cmd)
	err = cmd.Run()
	said = text(out.text)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return said, ctx.Err()
	case errors.As(err, &exit):
		code := uint32(exit.ExitCode()) //nolint:gosec // Windows' codes have 32 bits
		told := explain(said)
		if told == nil {
			told = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("wsl.exe failed with the code %#x and said nothing. Run `wsl --status` in a terminal to see what is wrong.", code), Cause: err}
		}
		return said, &failed{code, said, told}
	case errors.Is(err, exec.ErrWaitDelay): // it ended well, and something else holds its output
		p.cfg.Log.Info("wsl.exe has ended, and its output has not", "args", args)
	case err != nil:
		return said, notStarted(err)
	}
	return said, nil
}

// ask is run for what takes no long time.
func (p *Place) ask(ctx context.Context, args ...string) (string, error) {
	short, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	said, err := p.run(short, nil, args...)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return said, silent.err(err)
	}
	return said, err
}

// notStarted says why wsl.exe does not even start.
func notStarted(err error) error {
	var code syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing.err(err)
	case errors.As(err, &code) && code == 1260: // ERROR_ACCESS_DISABLED_BY_POLICY
		return forbidden.err(err)
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "wsl.exe, the program of Windows for Linux, cannot be started: " + naming.CleanLine(err.Error()) + ".", Cause: err}
}

// Facts are what is known of a place.
type Facts struct {
	// Problem keeps machines from running there, also when the parts are there; nil for none.
	Problem *Problem
	// Installed is the digest of the parts that are there; empty for none.
	Installed string
	Free      int64 // bytes, where the distribution's disk lies; -1 where nobody knows
}

// Look finds out whether machines can run there, and what to do first if not. It changes nothing,
// but starts WSL where there is a distribution of ours. The error is one that no step is known for.
func (p *Place) Look(ctx context.Context) (Facts, error) {
	f := Facts{Free: -1}
	if free, err := p.free(); err == nil {
		f.Free = free
	} else {
		p.cfg.Log.Warn("nobody knows how much room there is", "folder", p.cfg.Folder, "err", err)
	}
	err := p.usable(ctx)
	var found state
	if err == nil {
		found, err = p.state(ctx)
	}
	if err == nil && found.listed && !found.ours {
		err = foreign(p.cfg.Name).err(nil)
	}
	if told := problemOf(err); told != nil {
		f.Problem, err = told, nil
	}
	f.Installed = found.digest
	return f, err
}

// free is how much room there is where the folder is, or will be.
func (p *Place) free() (int64, error) {
	folder := p.cfg.Folder
	for {
		_, err := os.Stat(folder)
		up := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || up == folder {
			return p.cfg.Free(folder)
		}
		folder = up
	}
}

// usable says what keeps WSL 2 from being used; nil for nothing that is known.
func (p *Place) usable(ctx context.Context) error {
	// Other questions make the wsl.exe of a Windows without WSL download it, or wait for a key.
	said, err := p.ask(ctx, "--status")
	var code *failed
	switch {
	case errors.As(err, &code) && recognize(said) == nil && !strings.Contains(said, ownCode):
		return notInstalled.err(err)
	case err != nil:
		return err
	}
	if known := recognize(said); known != nil {
		return known.err(nil)
	}
	// The one that came with older Windows does not know this question, and much that is needed.
	if _, err := p.ask(ctx, "--version"); errors.As(err, &code) && recognize(code.said) == nil {
		return outdated.err(err)
	} else if err != nil {
		return err
	}
	return nil
}

// Fits says why machines cannot run there with these parts; nil where they can, as far as is known.
func (p *Place) Fits(f Facts, made *parts.Parts) error {
	if f.Problem != nil {
		return f.Problem.err(nil)
	}
	if need := 2*made.Size + 1<<30; f.Free >= 0 && f.Free < need {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("The disk with %s has %d MB free. ForeverVM needs %d MB there. Remove something else from it, and try again.", p.cfg.Folder, f.Free>>20, need>>20)}
	}
	return nil
}

// state is what there is under the place's name.
type state struct {
	listed bool   // a distribution has that name
	half   bool   // it is only being imported, or was, when something ended that
	ours   bool   // it was made by Install
	digest string // of the parts in it; empty for none
}

// state finds out what there is under the place's name.
func (p *Place) state(ctx context.Context) (s state, err error) {
	if s.listed, err = p.isListed(ctx, "--all"); err != nil || !s.listed {
		return s, err
	}
	whole, err := p.isListed(ctx)
	if err != nil {
		return s, err
	}
	_, err = os.Stat(filepath.Join(p.cfg.Folder, importing))
	begun := err == nil
	if !whole {
		s.half, s.ours = begun, begun
		if _, err := os.Stat(p.cfg.Folder); err == nil && !begun { // it is exported, converted or removed
			return s, busy.err(nil)
		}
		return s, nil
	}
	_, err = os.Stat(filepath.Join(p.cfg.Folder, disk))
	s.ours = err == nil
	said, err := p.ask(ctx, p.inside("-digest")...)
	var code *failed
	if errors.As(err, &code) && code.code != ownFailure {
		s.half = begun // else it runs, and its agent does not
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if _, digest, ok := strings.Cut(said, parts.Mark); ok {
		s.ours = true
		s.digest, _, _ = strings.Cut(digest, "\n")
		s.digest = strings.TrimSuffix(s.digest, "\r")
		if b, err := hex.DecodeString(s.digest); err != nil || len(b) != 32 {
			s.digest = ""
		}
	}
	return s, nil
}

// isListed says whether wsl.exe knows the place's name. Without an option it lists those alone that
// can be used.
func (p *Place) isListed(ctx context.Context, option ...string) (bool, error) {
	said, err := p.ask(ctx, append([]string{"--list", "--quiet"}, option...)...)
	if strings.Contains(said, noDistribution) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
		return strings.EqualFold(strings.TrimSpace(line), p.cfg.Name)
	}), nil
}

// Remove removes the distribution, with all machines in it. The agent must have ended. One that is
// not of ForeverVM stays, which is an error.
func (p *Place) Remove(ctx context.Context) error {
	found, err := p.state(ctx)
	if err != nil && !found.ours {
		return err
	}
	if found.listed {
		if !found.ours {
			return foreign(p.cfg.Name).err(nil)
		}
		if _, err := p.run(ctx, nil, "--unregister", p.cfg.Name); err != nil {
			return err
		}
	}
	left, err := os.ReadDir(p.cfg.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range left { // folders have others made
		if gone := os.Remove(filepath.Join(p.cfg.Folder, file.Name())); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return errors.Join(err, os.Remove(p.cfg.Folder))
}
