package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/relocate"
	"github.com/forevervm/desktop/backend/server"
	"github.com/forevervm/desktop/backend/version"
	"github.com/forevervm/desktop/frontend"
)

// movedName is the folder that the files get in the folder that the person chooses.
const movedName = "ForeverVM"

// spare is how much more than the files a disk must have free to take them, in bytes.
const spare = 1 << 30

// moves is what becomes of the wish to move our files. It outlives the parts, which end for it.
type moves struct {
	mu  sync.Mutex
	to  string // where to, until they are on their way; "" for nowhere
	now api.Move
}

func (m *moves) wanted() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.to
}

func (m *moves) change(to func(*api.Move)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to(&m.now)
}

// Moving tells how a move goes, or went.
func (d *daemon) Moving() api.Move {
	d.moves.mu.Lock()
	defer d.moves.mu.Unlock()
	now := d.moves.now
	now.Folder, now.Usual = d.dirs.Data, !d.dirs.Moved()
	return now
}

// Move has the daemon end its parts, move its files to a folder ("" for their usual place) and go
// on there.
func (d *daemon) Move(_ context.Context, folder string) (api.Move, error) {
	to, err := d.target(folder)
	if err != nil {
		return api.Move{}, err
	}
	d.moves.mu.Lock()
	busy := d.moves.to != ""
	if !busy {
		d.moves.to = to
		d.moves.now = api.Move{State: api.MoveUnderWay, To: to}
	}
	d.moves.mu.Unlock()
	if busy {
		return api.Move{}, fmt.Errorf("%w: ForeverVM is moving its files already", machine.ErrBusy)
	}
	d.log.Info("the files are to move", "from", d.dirs.Data, "to", to)
	d.stop()
	return d.Moving(), nil
}

// target checks where the files are to go. It changes nothing there that stays.
func (d *daemon) target(folder string) (string, error) {
	invalid := func(format string, args ...any) (string, error) {
		return "", machine.Invalid(format, args...)
	}
	to, parent := d.dirs.Usual, d.dirs.Usual
	if folder == "" && !d.dirs.Moved() {
		return invalid("ForeverVM's files are in their usual place already, %s.", d.dirs.Usual)
	}
	if folder != "" {
		if !filepath.IsAbs(folder) {
			return invalid("Give the whole path of the folder, not %q.", folder)
		}
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return invalid("The folder %s cannot be used: %v.", folder, err)
		}
		parent, to = real, filepath.Join(real, movedName)
		for _, own := range []string{d.dirs.Usual, d.dirs.Data, d.dirs.Config, d.dirs.Folder()} {
			if inside, err := filepath.EvalSymlinks(own); err == nil && (within(inside, to) || within(to, inside)) {
				return invalid("%s holds files of ForeverVM. Choose a folder on another disk.", own)
			}
		}
		if found, err := os.ReadDir(to); err == nil && len(found) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
			return invalid("There is something at %s already. Move it away, or choose another folder.", to)
		}
	}
	if err := relocate.Able(parent); err != nil {
		return invalid("The folder %s cannot be used: %v.", parent, err)
	}
	used, err := usedDisk(d.dirs.Data)
	if err != nil {
		return "", err
	}
	free, err := freeDisk(parent)
	if err != nil {
		return "", err
	}
	if free < used.all+spare {
		return "", fmt.Errorf("%w: ForeverVM's files take %s, and %s has %s free", machine.ErrDiskFull, sizeText(used.all), parent, sizeText(free))
	}
	return to, nil
}

// sizeText is a number of bytes for people, in gigabytes.
func sizeText(bytes int64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/1e9) }

// relocate moves the files while the parts are down, and answers those who ask how far it is. Where
// they cannot be copied, they stay where they are, and Moving says why. Where it is not known which
// copy counts, the daemon ends: the next one reads it.
func (d *daemon) relocate(ctx context.Context, to string) (after home.Dirs, again bool, err error) {
	copying, end := context.WithCancel(ctx)
	defer end()
	told := d.answerMeanwhile(copying, end)
	after = d.dirs
	failed := d.unsaved
	if failed == nil {
		failed = d.copyTo(copying, to)
	}
	if failed == nil {
		after, err = d.dirs.MoveTo(to)
	}
	told() // the next parts tell that it is done, with the new folder
	if err != nil {
		return d.dirs, false, fmt.Errorf("the files were copied to %s, but that cannot be noted; start ForeverVM again: %w", to, err)
	}
	d.moves.mu.Lock()
	defer d.moves.mu.Unlock()
	d.moves.to = ""
	d.moves.now.State = api.MoveDone
	if failed != nil {
		d.log.Error("the files stay where they are", "to", to, "err", failed)
		d.moves.now.State, d.moves.now.Problem = api.MoveFailed, fmt.Sprintf("The files stay where they are: %v.", failed)
	}
	return after, copying.Err() == nil, nil
}

// copyTo copies the files, or leaves nothing.
func (d *daemon) copyTo(ctx context.Context, to string) error {
	if err := d.dirs.Begin(to); err != nil {
		return err
	}
	all, err := relocate.Size(d.dirs.Data, d.dirs.Stays()...)
	d.moves.change(func(now *api.Move) { now.TotalBytes = all })
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err == nil {
		err = relocate.Copy(ctx, d.dirs.Data, to, func(done int64) {
			d.moves.change(func(now *api.Move) { now.DoneBytes = done })
		}, d.dirs.Stays()...)
	}
	if err != nil {
		err = errors.Join(err, d.dirs.RemoveLeft())
	}
	return err
}

// answerMeanwhile has requests answered until the function it returns is called: how far the move
// is, and to all else that it goes on. Shutdown ends the daemon.
func (d *daemon) answerMeanwhile(ctx context.Context, shutdown func()) (end func()) {
	nothing := func() {}
	token, err := d.dirs.ReadOwnerToken()
	if err != nil {
		d.log.Warn("nobody can ask how far the move is", "err", err)
		return nothing
	}
	listener, address, err := d.listen()
	if err != nil {
		d.log.Warn("nobody can ask how far the move is", "err", err)
		return nothing
	}
	answers := server.New(server.Config{
		Moves: d, Moving: true, Token: token, Version: version.Version, Page: frontend.Dist, URL: address.url, Host: address.host,
		Logger: d.log, Shutdown: shutdown,
	})
	self := home.Daemon{URL: address.url, PID: os.Getpid(), Version: version.Version, StartedAt: time.Now().UTC()}
	if err := d.dirs.WriteDaemon(self); err != nil {
		d.log.Warn("where the daemon is cannot be told", "err", err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- answers.Serve(serving, nil, listener) }()
	return func() {
		if err := d.dirs.RemoveDaemon(self); err != nil {
			d.log.Warn("the discovery file is left behind", "err", err)
		}
		stop()
		if err := <-served; err != nil {
			d.log.Warn("the listener ended badly", "err", err)
		}
	}
}
