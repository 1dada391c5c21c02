// Package sandbox is the supervisor: it keeps one machine in a gVisor sandbox and speaks for it on
// its stdin and stdout, as PROTOCOL.md beside it lays down. Linux only.
//
// It is two processes. The outer one (outer.go) takes the machine's lock, makes the limits that the
// system offers and starts the inner one in name spaces of its own: user, mount, PID, network, IPC,
// UTS. The inner one (inner.go) is process 1 in there, so whatever dies, nothing is left behind;
// its root (root.go) holds runsc, the image and what this machine writes, and nothing else of the
// computer, so an escape from gVisor finds nothing. It drives runsc (runsc.go), talks to the runner
// (runner.go) and to the daemon (link.go), saves (save.go) and watches (watch.go).
package sandbox

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
)

// ExitNoProc is a supervisor's exit status where a /proc may not be mounted for a PID name space of
// one's own, as in containers that hide parts of theirs. Only process 1 of a container can do
// without.
const ExitNoProc = 3

// AllSaved is the last line of the list of saved states that a supervisor program gives out.
const AllSaved = "."

// ExitForbidden is a supervisor's exit status where the system forbids it a user name space, or
// mounts in one.
const ExitForbidden = 4

// errForbidden is wrapped by what makes a supervisor end with ExitForbidden.
var errForbidden = errors.New("the system forbids what building the sandbox takes")

// Config is what a supervisor is told on its command line. Nothing in it is secret: command lines
// can be read by others.
type Config struct {
	Runsc         string // the program
	Image         string // the sandbox image, an EROFS file
	ImageDigest   string // SHA-256 of it, hexadecimal
	RuntimeDigest string // SHA-256 of runsc, hexadecimal
	Machine       string // the machine's own folder
	Spare         string // in its place: the folder that a spare waits in (see Claim)
	Template      string // of a spare: folder of a checkpoint that may be restored from where it lies, also on another disk; empty for none
	ClaimOnStdin  bool   // of a spare: it is claimed on standard input, before the link; else on descriptor 3
	Listen        string // socket that the link comes over, once, in place of standard input and output; empty for those
	Restore       string // folder of the checkpoint to restore; empty to start afresh
	Shared        string // folder of the person's that the machine is to see, without a link in its path; empty for none
	Writable      bool   // of Shared: the machine may change what is in it
	MemoryMax     int64  // hard limit of the sandbox's memory in bytes, where the system offers one; 0 for none
	PidsMax       int64  // limit of processes and threads outside, where the system offers one; 0 for none
}

// Claim is what a spare is told, as one line of JSON, when a machine wants it. A spare is a
// supervisor whose sandbox was made ahead: that saves a third of the time in which a machine comes
// into memory. It lives in a folder of its own until then, moves into the machine's, and from there
// on is as any other. One that nobody claims ends with the daemon.
type Claim struct {
	Machine   string `json:"machine"`    // the machine's own folder
	Restore   string `json:"restore"`    // folder of the checkpoint to restore: the spare's template, or one on the disk of its own folder
	MemoryMax int64  `json:"memory_max"` // hard limit of memory in bytes, where the system offers one; 0 for none
}

// flags are the command line: the outer supervisor reads them and gives them to the inner one.
func (c *Config) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("supervisor", flag.ContinueOnError)
	fs.StringVar(&c.Runsc, "runsc", "", "the runsc program")
	fs.StringVar(&c.Image, "image", "", "the sandbox image")
	fs.StringVar(&c.ImageDigest, "image-digest", "", "SHA-256 of the image")
	fs.StringVar(&c.RuntimeDigest, "runtime-digest", "", "SHA-256 of runsc")
	fs.StringVar(&c.Machine, "machine", "", "the machine's own folder")
	fs.StringVar(&c.Spare, "spare", "", "in its place, a folder to wait in until a machine is claimed")
	fs.StringVar(&c.Template, "template", "", "folder of a checkpoint that a spare may restore from where it lies")
	fs.BoolVar(&c.ClaimOnStdin, "claim-on-stdin", false, "a spare is claimed on standard input, before the link")
	fs.StringVar(&c.Listen, "listen", "", "a socket that the link comes over, in place of standard input and output")
	fs.StringVar(&c.Restore, "restore", "", "folder of the checkpoint to restore; empty to start afresh")
	fs.StringVar(&c.Shared, "shared", "", "a folder that the machine is to see; empty for none")
	fs.BoolVar(&c.Writable, "writable", false, "the machine may change what is in that")
	fs.Int64Var(&c.MemoryMax, "memory-max", 0, "hard limit of memory in bytes, 0 for none")
	fs.Int64Var(&c.PidsMax, "pids-max", 0, "limit of processes and threads, 0 for none")
	return fs
}

// Parse reads a supervisor's arguments.
func Parse(args []string) (Config, error) {
	var c Config
	fs := c.flags()
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("the argument %q means nothing", fs.Arg(0))
	}
	for _, p := range []string{c.Runsc, c.Image, c.Folder()} {
		if !filepath.IsAbs(p) {
			return c, errors.New("-runsc, -image and -machine or -spare must be given, as absolute paths")
		}
	}
	for name, p := range map[string]string{"-listen": c.Listen, "-restore": c.Restore, "-template": c.Template, "-shared": c.Shared} {
		if p != "" && (!filepath.IsAbs(p) || p != filepath.Clean(p)) {
			return c, errors.New(name + " must be an absolute path as short as it can be")
		}
	}
	if c.Spare != "" && c.Machine+c.Restore+c.Shared != "" {
		return c, errors.New("what a spare restores, and for which machine, it is told later; it shows no folder")
	}
	if c.Spare == "" && (c.Template != "" || c.ClaimOnStdin) {
		return c, errors.New("-template and -claim-on-stdin are for a spare")
	}
	return c, nil
}

// Folder is where the supervisor lives: the machine's, or the spare's until it is claimed.
func (c Config) Folder() string {
	if c.Spare != "" {
		return c.Spare
	}
	return c.Machine
}

// Args is the inverse of Parse.
func (c Config) Args() []string {
	return []string{
		"-runsc=" + c.Runsc,
		"-image=" + c.Image,
		"-image-digest=" + c.ImageDigest,
		"-runtime-digest=" + c.RuntimeDigest,
		"-machine=" + c.Machine,
		"-spare=" + c.Spare,
		"-template=" + c.Template,
		"-claim-on-stdin=" + strconv.FormatBool(c.ClaimOnStdin),
		"-listen=" + c.Listen,
		"-restore=" + c.Restore,
		"-shared=" + c.Shared,
		"-writable=" + strconv.FormatBool(c.Writable),
		"-memory-max=" + strconv.FormatInt(c.MemoryMax, 10),
		"-pids-max=" + strconv.FormatInt(c.PidsMax, 10),
	}
}
