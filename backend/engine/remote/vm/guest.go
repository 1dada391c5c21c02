//go:build linux || darwin

package vm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// In the folder.
const (
	ordersSocket = "orders.sock"
	agentSocket  = "agent.sock"
	dataFile     = "data.img"
	consoleFile  = "console.log"
	saidFile     = "hypervisor.log" // what the hypervisor itself says
	// heldFile is locked by the hypervisor, which inherits it, until its end. It has the number of
	// its process, and a digest of all that it was started with.
	heldFile = "machine"
	earlier  = ".old" // follows the name of the log of the start before
)

const (
	// mostLog is how large a log may become, in bytes, until it begins anew.
	mostLog = 1 << 20
	// leastFree is how much room the computer's disk must have for a guest to start, in bytes.
	leastFree = 1 << 30
)

// guest is a virtual machine that runs, or did.
type guest struct {
	v     *VM
	pid   int
	kill  func()
	begun time.Time
	// patience bounds how long it may take, from begun on, to be ready.
	patience time.Duration
	ended    chan struct{} // closed when its process is gone

	mu     sync.Mutex
	orders *orders       // nil until there is a line
	ready  bool          // it was
	lined  chan struct{} // closed then
}

func (v *VM) newGuest(pid int) *guest {
	return &guest{v: v, pid: pid, begun: time.Now(), patience: bootPatience, ended: make(chan struct{}), lined: make(chan struct{})}
}

func (g *guest) gone() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// dies says whether a guest that was ready has died, or is just about to.
func (g *guest) dies(ctx context.Context) bool {
	g.mu.Lock()
	ready := g.ready
	g.mu.Unlock()
	if !ready {
		return false
	}
	select {
	case <-g.ended:
		return true
	case <-time.After(2 * hangUpPatience): // watch sees to it
	case <-ctx.Done():
	}
	return false
}

// find returns the guest that an earlier daemon has left, if it is the one that is wanted, or
// starts one.
func (v *VM) find() (*guest, error) {
	m, err := v.prepare()
	if err != nil {
		return nil, err
	}
	for {
		held, err := os.OpenFile(v.path(heldFile), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return v.launch(held, m)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			held.Close()
			return nil, err
		}
		left, setup := v.left(held)
		switch {
		case setup == m.setup:
			return left, nil
		case left.pid <= 1: // its daemon died between its start and the note of that
			return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "A virtual machine runs that an earlier daemon has started. It ends by itself in a few minutes. Try again then."}
		}
		left.stop() // it is of another version, or of other settings
		left.hangUp()
	}
}

// left is a guest that holds the file. An earlier daemon has started it.
func (v *VM) left(held *os.File) (g *guest, setup string) {
	b := make([]byte, 256)
	n, _ := held.ReadAt(b, 0)
	pid := 0
	_, _ = fmt.Sscanf(string(b[:n]), "%d %s", &pid, &setup)
	g = v.newGuest(pid)
	g.patience = answerPatience
	g.kill = func() {
		if !g.gone() && pid > 1 { // else the number may be another's
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	v.running.Go(func() {
		defer close(g.ended)
		defer held.Close()
		for errors.Is(unix.Flock(int(held.Fd()), unix.LOCK_EX), unix.EINTR) {
		}
	})
	return g, setup
}

// made is what a hypervisor is started with.
type made struct {
	Machine
	diskBytes int64 // of the data disk, at least
	args      []string
	setup     string // digest of all of it
}

// prepare makes what a guest needs, but for copies.
func (v *VM) prepare() (made, error) {
	parts, err := v.cfg.Parts.disk(v.cfg.Folder, v.cfg.Digest)
	if err != nil {
		return made{}, err
	}
	m := made{Machine: Machine{
		Kernel: v.cfg.Kernel, Initramfs: v.cfg.Initramfs,
		// A kernel whose memory is damaged (the taint) must not go on writing to the disk: a power
		// cut does no harm. Without hardware help, on a computer that is busy, Linux may find that
		// its timer does not work, and panic.
		Parameters: fmt.Sprintf("console=hvc0 panic=-1 oops=panic panic_on_taint=0xa0 no_timer_check quiet %s=%d", control.Alone, int(v.cfg.Alone.Seconds())),
		Disks:      []string{parts, v.cfg.Parts.Image, v.path(dataFile)},
		Orders:     v.socket(ordersSocket), Agent: v.socket(agentSocket), Console: v.path(consoleFile),
		Processors: v.cfg.Processors,
	}}
	m.MemoryMB, m.diskBytes = v.cfg.Limits()
	if v.cfg.Hypervisor.Copies {
		m.Disks[control.PartsDisk], m.Disks[control.ImageDisk] = v.path("parts.copy"), v.path("image.copy")
	}
	for _, path := range append([]string{m.Kernel, m.Initramfs, m.Orders, m.Console}, m.Disks...) {
		if !speakable(path) {
			return made{}, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s cannot use the path %s, which has a comma. Choose another folder.", v.cfg.Hypervisor.Name, path)}
		}
	}
	if v.cfg.Hypervisor.URLs && (&url.URL{Path: m.Orders}).EscapedPath() != m.Orders {
		return made{}, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s cannot use the path %s for a socket. Choose another folder, without spaces and accents.", v.cfg.Hypervisor.Name, m.Orders)}
	}
	if most := len(unix.RawSockaddrUnix{}.Path); len(m.Orders) >= most {
		return made{}, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The path %s is too long for a socket. Choose another folder, with a shorter path.", m.Orders)}
	}
	m.args = v.cfg.Hypervisor.Command(m.Machine)
	all := sha256.New()
	for _, path := range []string{m.Kernel, m.Initramfs} {
		sum, err := v.cfg.Digest(path)
		if err != nil {
			return made{}, &machine.Error{Kind: machine.ErrUnavailable, Message: "This installation of ForeverVM lacks a part of the virtual machine: " + filepath.Base(path) + ". Install ForeverVM again.", Cause: err}
		}
		fmt.Fprintln(all, sum)
	}
	fmt.Fprintf(all, "%q %s\n", m.args, filepath.Base(parts))
	m.setup = hex.EncodeToString(all.Sum(nil))
	return m, nil
}

// launch starts a guest, which holds the file from then on.
func (v *VM) launch(held *os.File, m made) (*guest, error) {
	defer held.Close()
	if err := v.room(); err != nil {
		return nil, err
	}
	if v.cfg.Hypervisor.Copies {
		parts, err := v.cfg.Parts.disk(v.cfg.Folder, v.cfg.Digest)
		if err == nil {
			err = errors.Join(clone(parts, m.Disks[control.PartsDisk]), clone(v.cfg.Parts.Image, m.Disks[control.ImageDisk]))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := v.growData(m.diskBytes); err != nil {
		return nil, err
	}
	for _, name := range []string{consoleFile, saidFile} {
		if err := os.Rename(v.path(name), v.path(name)+earlier); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, path := range []string{m.Orders, m.Agent} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	said, err := os.OpenFile(v.path(saidFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd := exec.Command(m.args[0], m.args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = v.cfg.Folder, said, said
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.Getenv("TMPDIR")}
	cmd.ExtraFiles = []*os.File{held}
	remote.Detach(cmd)
	if err := held.Truncate(0); err != nil { // else an earlier number might be taken for this one's
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The program %s cannot be started, which runs the virtual machine. Install it, and try again.", m.args[0]), Cause: err}
	}
	g := v.newGuest(cmd.Process.Pid)
	g.kill = func() { _ = cmd.Process.Kill() }
	v.cfg.Log.Info("the virtual machine starts", "process", g.pid)
	v.running.Go(func() {
		defer close(g.ended)
		err := cmd.Wait()
		v.cfg.Log.Info("the virtual machine has ended", "process", g.pid, "err", err, "said", v.lastSaid())
	})
	if _, err := held.WriteAt(fmt.Appendf(nil, "%d %s\n", g.pid, m.setup), 0); err != nil {
		g.kill()
		<-g.ended
		return nil, err
	}
	return g, nil
}

// room refuses a start on a disk on which there is no room: the guest would stop at its first
// write.
func (v *VM) room() error {
	var st unix.Statfs_t
	if err := unix.Statfs(v.cfg.Folder, &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < leastFree { //nolint:unconvert // its type differs
		return &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("The disk of this computer is full: %d MB are free, and the virtual machine needs %d MB. Free some room and try again.", free>>20, leastFree>>20)}
	}
	return nil
}

// growData makes the data disk as large as it may be. It takes no room for what was never written.
func (v *VM) growData(size int64) error {
	file, err := os.OpenFile(v.path(dataFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	found, err := file.Stat()
	if err != nil || found.Size() >= size {
		return err
	}
	return file.Truncate(size / partsBlock * partsBlock)
}

// ask gives an order.
func (g *guest) ask(ctx context.Context, order control.Order) (control.Report, error) {
	g.mu.Lock()
	o := g.orders
	g.mu.Unlock()
	if o == nil {
		return control.Report{}, errHungUp
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	return o.ask(ctx, order)
}

// line connects, unless there is a line that works.
func (g *guest) line(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.orders != nil {
		select {
		case <-g.orders.ended:
		default:
			return nil
		}
		if g.ready {
			return errHungUp // it has started anew, or ends; see watch
		}
		g.orders.close()
		g.orders = nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", g.v.socket(ordersSocket))
	if err == nil {
		g.orders = newOrders(conn, g.v.told)
	}
	return err
}

// await waits until the guest is ready. It asks again and again: a guest that has just noticed that
// an earlier daemon is gone passes over what has come since.
func (g *guest) await(ctx context.Context) error {
	patience := firstAnswer
	for {
		var r control.Report
		err := g.line(ctx)
		if err == nil {
			soon, cancel := context.WithTimeout(ctx, patience)
			r, err = g.ask(soon, control.Order{Type: control.Tell})
			cancel()
		}
		if errors.Is(err, context.DeadlineExceeded) { // one that is slow answers late
			patience = min(2*patience, answerPatience)
		}
		switch {
		case r.Failed != "":
			return failed(r)
		case r.Ready:
			g.mu.Lock()
			if !g.ready {
				g.ready = true
				close(g.lined)
			}
			g.mu.Unlock()
			return nil
		case g.gone():
			return fmt.Errorf("it ended while it started: %s", g.v.lastSaid())
		case ctx.Err() != nil:
			return ctx.Err()
		}
		g.mu.Lock()
		ready := g.ready
		g.mu.Unlock()
		if ready && errors.Is(err, errHungUp) {
			return err
		}
		select {
		case <-time.After(tryAgain):
		case <-g.ended:
		case <-ctx.Done():
		}
	}
}

// failed is the error of a report. A guest is not believed to say what is fit to show.
func failed(r control.Report) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: plain(r.Failed)}
}

func plain(text string) string { return naming.Clip(naming.Unturned(naming.CleanLine(text)), 500) }

// lastSaid is the end of what the hypervisor and the guest have said.
func (v *VM) lastSaid() string {
	var all []string
	for _, name := range []string{saidFile, consoleFile} {
		b, _ := os.ReadFile(v.path(name))
		if text := plain(string(b[max(0, len(b)-300):])); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// watch looks after a guest until its end: it tells the time, ends what hangs or is not used, and
// keeps its log short.
func (v *VM) watch(g *guest) {
	defer g.hangUp()
	lined := g.lined
	for {
		var hungUp <-chan struct{}
		if lined == nil {
			hungUp = g.orders.ended // which stays what it is once it was ready
		}
		select {
		case <-g.ended:
			return
		case <-lined:
			lined = nil
		case <-hungUp:
			select {
			case <-g.ended:
			case <-time.After(hangUpPatience):
				g.kill()
				<-g.ended
			}
			return
		case <-time.After(min(askEvery, v.cfg.Alone/4, max(v.unused(), tryAgain))): // the guest must hear of us
		}
		v.shorten()
		switch {
		case lined != nil:
			if time.Since(g.begun) > g.patience {
				v.cfg.Log.Error("the virtual machine does not start, and is ended", "said", v.lastSaid())
				g.kill()
			}
		case !g.answers():
			v.cfg.Log.Error("the virtual machine does not answer any more, and is ended")
			g.kill()
		case v.unused() <= 0:
			v.stopUnused(g)
		}
	}
}

// hangUp closes the line.
func (g *guest) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.orders != nil {
		g.orders.close()
	}
}

// answers says whether the guest still answers.
func (g *guest) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	_, err := g.ask(ctx, control.Order{Type: control.Tell})
	return err == nil || g.gone()
}

// stopUnused ends a guest that nobody uses, unless somebody is just about to.
func (v *VM) stopUnused(g *guest) {
	select {
	case v.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-v.turn }()
	if v.unused() <= 0 {
		g.stop()
	}
}

// stop ends the guest in order, and waits for its end. One that does not end is killed.
func (g *guest) stop() {
	if g.gone() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	soon, end := context.WithTimeout(ctx, answerPatience)
	_ = g.await(soon) // one that cannot be used ends in order, too
	_, err := g.ask(soon, control.Order{Type: control.Stop})
	end()
	if err == nil {
		select {
		case <-g.ended:
			return
		case <-ctx.Done():
		}
	}
	g.v.cfg.Log.Warn("the virtual machine does not end in order, and is killed", "err", err)
	g.kill()
	<-g.ended
}

// shorten empties logs that are long, which the hypervisor appends to.
func (v *VM) shorten() {
	for _, name := range []string{consoleFile, saidFile} {
		path := v.path(name)
		if found, err := os.Stat(path); err != nil || found.Size() < mostLog {
			continue
		}
		if err := os.Truncate(path, 0); err != nil {
			v.cfg.Log.Warn("a log of the virtual machine stays long", "err", err)
		}
	}
}

// copyFile copies a file's content.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
