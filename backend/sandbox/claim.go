//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// restoreName is the folder of a spare that its sandbox is restored from: the checkpoint's files
// are linked into it, so that the private root, which cannot be changed any more, shows them
// read-only.
const restoreName = "restore"

// home is the folder that the outer supervisor holds.
type home struct {
	folder string
	lock   *os.File
	spare  bool // it is nobody's yet
	group  *cgroup.Group
	memory *os.File // the control group's limit; nil where there is none
}

// settle takes the folder that a supervisor begins in, and removes what a killed predecessor left
// there.
func settle(cfg Config) (*home, error) {
	h := &home{folder: cfg.Folder(), spare: cfg.Spare != ""}
	if err := h.enter(); err != nil {
		return nil, err
	}
	if left := groupOf(h.lock); left != "" { // of a supervisor that was killed
		cgroup.Remove(left)
	}
	err := errors.Join(
		h.noteGroup(cgroup.Name(cfg.Folder())),
		os.Mkdir(filepath.Join(h.folder, filepath.Base(scratchPath)), 0o700),
	)
	if h.spare {
		err = errors.Join(err, os.Mkdir(filepath.Join(h.folder, restoreName), 0o700))
	}
	if err != nil {
		return nil, errors.Join(err, h.lock.Close())
	}
	return h, nil
}

func (h *home) enter() (err error) {
	if h.lock, err = Lock(h.folder); err != nil {
		return err
	}
	if err := tidy(h.folder); err != nil {
		return errors.Join(err, h.lock.Close())
	}
	return nil
}

// leave removes what is not to outlive the supervisor: all of a spare's folder, as nothing else
// would.
func (h *home) leave() {
	err := tidy(h.folder)
	if h.spare {
		err = os.RemoveAll(h.folder)
	}
	if err != nil {
		failed(err)
	}
	h.lock.Close()
}

// move makes the machine's folder the home.
func (h *home) move(machine string) error {
	next := &home{folder: machine}
	if err := next.enter(); err != nil {
		return err
	}
	if left := groupOf(next.lock); left != "" {
		h.group.RemoveBeside(left) // of a supervisor that was killed
	}
	err := next.noteGroup(groupOf(h.lock))
	entries, readErr := os.ReadDir(h.folder)
	err = errors.Join(err, readErr)
	for _, e := range entries {
		if e.Name() != lockName && err == nil {
			err = os.Rename(filepath.Join(h.folder, e.Name()), filepath.Join(machine, e.Name()))
		}
	}
	if err != nil {
		return errors.Join(err, next.lock.Close())
	}
	err = os.RemoveAll(h.folder)
	h.lock.Close()
	h.folder, h.lock, h.spare = next.folder, next.lock, false
	return err
}

// noteGroup writes the control group's name into the lock's file, so that what a killed supervisor
// leaves can be found.
func (h *home) noteGroup(name string) error {
	if err := h.lock.Truncate(0); err != nil {
		return err
	}
	_, err := h.lock.WriteAt([]byte(name), 0)
	return err
}

// groupOf reads the name that noteGroup wrote; empty when there is none.
func groupOf(lock *os.File) string {
	b := make([]byte, 64)
	n, _ := lock.ReadAt(b, 0)
	if name := string(b[:n]); cgroup.IsName(name) {
		return name
	}
	return ""
}

// serve hands the inner supervisor its machine, at once or when it is claimed. The function that it
// returns ends that; the home is the caller's again then.
func (h *home) serve(cfg Config, socket *os.File) (end func()) {
	if cfg.Spare == "" {
		how := byte(restoring)
		if cfg.Restore == "" {
			how = afresh
		}
		if err := errors.Join(h.hand(socket, how), h.confine()); err != nil {
			failed(err)
		}
		return func() { socket.Close() }
	}
	claims, ended, done := make(chan Claim, 1), make(chan struct{}), make(chan struct{})
	var from *os.File
	if cfg.ClaimOnStdin {
		from = os.Stdin
	} else {
		_ = unix.SetNonblock(claimFD, true) // so that closing it ends the reading
		from = os.NewFile(claimFD, "claim")
	}
	go func() {
		defer close(done)
		defer socket.Close()
		if _, err := socket.Read(make([]byte, 1)); err != nil { // it has ended
			return
		}
		go func() {
			defer close(claims)
			if c, err := readClaim(from); err == nil {
				claims <- c
			} else if !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.EOF) {
				failed(err)
			}
		}()
		select {
		case c, ok := <-claims:
			if !ok {
				return // nobody wants it
			}
			if err := h.take(cfg, c, socket); err != nil {
				failed(err)
			}
		case <-ended:
		}
	}()
	return func() {
		if !cfg.ClaimOnStdin {
			from.Close()
		}
		close(ended)
		<-done
	}
}

// readClaim reads one line and not a byte more: on standard input the link follows.
func readClaim(from io.Reader) (c Claim, err error) {
	const most = 64 << 10
	line := make([]byte, 0, 256)
	for b := make([]byte, 1); len(line) < most; line = append(line, b[0]) {
		_, err := io.ReadFull(from, b)
		if err == nil && b[0] == '\n' || errors.Is(err, io.EOF) && len(line) > 0 {
			return c, json.Unmarshal(line, &c)
		}
		if err != nil {
			return c, err
		}
	}
	return c, errors.New("a claim is too long")
}

// take makes a spare the machine's.
func (h *home) take(cfg Config, c Claim, socket *os.File) error {
	if !filepath.IsAbs(c.Machine) || !filepath.IsAbs(c.Restore) {
		return errors.New("a claim must name a machine's folder and a checkpoint's, as absolute paths")
	}
	how := byte(restoring)
	if c.Restore == cfg.Template {
		how = restoringTemplate
	} else if err := linkAll(c.Restore, filepath.Join(h.folder, restoreName)); err != nil {
		return err
	}
	if err := h.move(c.Machine); err != nil {
		return err
	}
	if h.memory != nil {
		limitMemory(h.memory, c.MemoryMax)
	}
	return errors.Join(h.hand(socket, how), h.confine())
}

func linkAll(from, to string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if err == nil {
			err = os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
	return err
}

// What hand says beside the descriptors.
const (
	afresh = iota
	restoring
	restoringTemplate
)

// hand gives the inner supervisor the machine's folder, and the lock, to be held until the last of
// both is gone.
func (h *home) hand(socket *os.File, how byte) error {
	fd, err := unix.Open(h.folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", h.folder, err)
	}
	defer unix.Close(fd)
	return unix.Sendmsg(int(socket.Fd()), []byte{how}, unix.UnixRights(int(h.lock.Fd()), fd), nil, 0)
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "claim"), os.NewFile(uintptr(fds[1]), "claim"), nil
}

// place is the machine's folder as the inner supervisor has it, whose root does not show it: only
// this process can get at it, and not those of the sandbox, which runsc runs in a user name space
// below, from where the kernel lets nobody look into this process's descriptors.
type place struct {
	folder   string // a path that is good in this process
	restored string // from the checkpoint in that folder of the private root; empty where it is started afresh
}

// awaitPlace waits for the outer supervisor to hand over a machine. That may move our folder from
// now on: it must be where it is needed.
func awaitPlace() (place, error) {
	_, _ = unix.Write(claimFD, []byte{0}) // nobody listens where there is no claim to wait for
	how, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(2*4))
	var n, rn int
	for again := true; again; {
		var err error
		n, rn, _, _, err = unix.Recvmsg(claimFD, how, rights, unix.MSG_CMSG_CLOEXEC)
		if again = errors.Is(err, unix.EINTR); err != nil && !again {
			return place{}, fmt.Errorf("wait for a machine: %w", err)
		}
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(rights[:rn]); err == nil && n > 0 && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	if len(fds) != 2 {
		return place{}, &told{protocol.KindUnavailable, "The machine's folder cannot be used."}
	}
	// The first is the lock, which is only to be kept.
	from := map[byte]string{restoring: checkpointPath, restoringTemplate: templatePath}[how[0]]
	return place{folder: fmt.Sprintf("/proc/self/fd/%d", fds[1]), restored: from}, nil
}

// release removes the links to the checkpoint once the sandbox has its files open: they would keep
// it on the disk when it is deleted, and the sandbox has ended.
func (p place) release() error { return os.RemoveAll(filepath.Join(p.folder, restoreName)) }
