package parcel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// Desk is where machines are made files of, and files taken in. All methods may be called from any
// goroutine.
type Desk struct {
	Makers   *Makers
	dir      string
	program  string
	freeDisk func() (int64, error)
}

// leaveFree is how many bytes of the disk a file that is being taken in must leave to others.
const leaveFree = 1 << 30

// Open returns the desk of an installation, and removes what a daemon that was killed has left
// there. freeDisk tells how many bytes are free where the data lies; program is the version of
// ForeverVM, which files tell.
func Open(dirs home.Dirs, program string, freeDisk func() (int64, error)) (*Desk, error) {
	d := &Desk{Makers: &Makers{dirs: dirs}, dir: dirs.ParcelsDir(), program: program, freeDisk: freeDisk}
	err := os.RemoveAll(d.dir)
	if err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder for machines that come from files: %w", err)
	}
	return d, nil
}

// Pack writes a machine as a file; see Write.
func (d *Desk) Pack(ctx context.Context, w io.Writer, p machine.Packed) error {
	key, err := d.Makers.key(ctx)
	if err != nil {
		return err
	}
	return Write(ctx, w, p.About(), p, key, d.program, time.Now())
}

// Trust is a person's word about a maker.
type Trust struct {
	Fingerprint string // of the maker whose file is opened though they are not known; "" for nobody
	Name        string // what the person calls them
}

// ErrUnknownMaker says that a file's maker is not known here, and that nobody has said to open it
// all the same.
var ErrUnknownMaker = errors.New("unknown maker")

// Receive takes in a file whose maker is known, or trusted now. check looks at its head before the
// rest is read, and may refuse it. The caller closes what is returned.
func (d *Desk) Receive(ctx context.Context, r io.Reader, trust Trust, check func(machine.Foreign) error) (*Parcel, error) {
	if err := checkMakerName(trust.Name); err != nil {
		return nil, err
	}
	p, err := receive(ctx, r, d.dir, func(h Head) error {
		standing, _, err := d.Makers.Standing(h.Maker)
		if err != nil {
			return err
		}
		if standing == Unknown && trust.Fingerprint != Fingerprint(h.Maker) {
			return &machine.Error{Kind: ErrUnknownMaker, Message: "This file was made by somebody whose files you have not opened before (" + Fingerprint(h.Maker) +
				"). What is in it may do whatever its maker wanted it to do. Open it only if you know who sent it to you, and say so."}
		}
		return check(h.About)
	}, d.room)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = diskFull(err)
	}
	return p, err
}

func (d *Desk) room() error {
	if free, err := d.freeDisk(); err == nil && free < leaveFree {
		return diskFull(nil)
	}
	return nil
}

func diskFull(cause error) error {
	return &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk has not enough room for the file. " + machine.FreeSpace, Cause: cause}
}

// Remember has the maker of a file that was opened be known from now on, where a person has trusted
// them.
func (d *Desk) Remember(p *Parcel, trust Trust) error {
	standing, _, err := d.Makers.Standing(p.Head.Maker)
	if err != nil || standing != Unknown {
		return err
	}
	return d.Makers.accept(p.Head.Maker, trust.Name)
}
