package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/engine/remote/wsl"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/version"
)

// inWSL is the engine of machines in a WSL distribution of ours: the usual one on Windows.
const inWSL = "wsl"

// wslPlace is the place in WSL on this computer, as an engine that sets itself up.
type wslPlace struct {
	*remote.Place
	news

	wsl *wsl.Place
	bin string // folder of the parts
	// mark is a file that says which version has been set up: to look into WSL starts it.
	mark string
	log  *slog.Logger

	turn  chan struct{}   // full while it is set up
	whole context.Context // ends with Close
	stop  context.CancelFunc
	mu    sync.Mutex
	// problem is what kept it from being set up the last time; nil for nothing.
	problem *machine.Problem
}

// distribution is the one of a home.
func distribution(dirs home.Dirs, log *slog.Logger) *wsl.Place {
	name := wsl.Name
	if dirs.Root != "" {
		name += dirs.Instance()
	}
	return wsl.New(wsl.Config{Name: name, Folder: dirs.WSLDir(), Free: freeDisk, Log: log})
}

// openWSL makes the engine of machines in WSL. It starts nothing.
func (d *daemon) openWSL(bin string) *wslPlace {
	p := &wslPlace{wsl: distribution(d.dirs, d.log), bin: bin, mark: filepath.Join(d.dirs.Data, "wsl.txt"), log: d.log, turn: make(chan struct{}, 1)}
	p.whole, p.stop = context.WithCancel(context.Background())
	p.Place = remote.New(remote.Config{
		Name: inWSL, Owner: oneOwner, Dialer: guarded{p.wsl.Dialer(), p}, Patience: wsl.Patience, Idle: ownIdle, Costly: true,
	})
	return p
}

// settingUp marks a context of what sets the place up.
type settingUp struct{}

// guarded dials nothing that is not set up: wsl.exe of a Windows without WSL would download it, and
// an old agent would be in the way of an update.
type guarded struct {
	*remote.Command
	place *wslPlace
}

// Dial is remote.Dialer's.
func (g guarded) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if ctx.Value(settingUp{}) == nil && (g.place.isBusy() || !g.place.isSetUp()) {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(notSetUp.What, notSetUp.Do)}
	}
	return g.Command.Dial(ctx)
}

// notSetUp is what is wrong with a place that nobody has set up.
var notSetUp = machine.Problem{What: "Linux is not set up in Windows yet.", Do: "Start it."}

// RemoveDistribution removes what machines in WSL have left, which lies in no folder of the home's.
func RemoveDistribution(ctx context.Context, dirs home.Dirs, log *slog.Logger) error {
	if _, err := os.Stat(dirs.WSLDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return distribution(dirs, log).Remove(ctx)
}

// isSetUp says whether this version was set up.
func (p *wslPlace) isSetUp() bool {
	content, err := os.ReadFile(p.mark)
	return err == nil && string(content) == marked()
}

// wasSetUp says whether any version was. Then this one is as soon as it is needed.
func (p *wslPlace) wasSetUp() bool {
	_, err := os.Stat(p.mark)
	return err == nil
}

// marked is the content of the mark.
func marked() string { return version.Version + " " + version.Commit + "\n" }

func (p *wslPlace) lacking() *machine.Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// lacks notes what keeps it from being set up; nil for nothing any more.
func (p *wslPlace) lacks(problem *machine.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = problem
}

// Check says what is wrong. It starts nothing.
func (p *wslPlace) Check(ctx context.Context) []machine.Problem {
	switch problem := p.lacking(); {
	case problem != nil:
		return []machine.Problem{*problem}
	case p.isSetUp():
		return p.Place.Check(ctx)
	case p.wasSetUp():
		return nil
	case p.isBusy():
		return []machine.Problem{{What: "Linux is being set up in Windows, by WSL.", Do: "Wait until it is done."}}
	}
	return []machine.Problem{notSetUp}
}

// Start brings a machine into memory there, once the place is set up.
func (p *wslPlace) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	if p.isBusy() || p.lacking() == nil && p.wasSetUp() && !p.isSetUp() {
		if err := p.setUp(ctx, false); err != nil {
			return nil, err
		}
	}
	if problems := p.Check(ctx); len(problems) > 0 {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(problems[0].What, problems[0].Do)}
	}
	return p.Place.Start(ctx, spec)
}

// StartUp starts the place for a person who has asked for that. Before the first time it sets it
// up.
func (p *wslPlace) StartUp(ctx context.Context) error {
	if p.lacking() == nil && p.isSetUp() {
		err := p.Place.StartUp(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		p.log.Warn("the place in WSL does not start, and is set up again", "err", err)
	}
	return p.setUp(ctx, true)
}

// Prepare sets up what was not. What takes an administrator waits until a person asks for it.
func (p *wslPlace) Prepare(ctx context.Context) error {
	if p.isSetUp() {
		return nil
	}
	return p.setUp(ctx, false)
}

// setUp brings the distribution up to date, and runs a first machine. Whoever gives up waiting, it
// goes on. asked says that a person waits, whom Windows may ask for an administrator.
func (p *wslPlace) setUp(ctx context.Context, asked bool) error {
	meanwhile := p.isBusy()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if problem := p.lacking(); meanwhile && (problem == nil && p.isSetUp() || problem != nil && !asked) {
		<-p.turn
		if problem != nil {
			return &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(problem.What, problem.Do)}
		}
		return nil
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-p.turn }()
		defer p.tell(nil)
		err := p.bring(context.WithValue(p.whole, settingUp{}, true), asked)
		if err != nil {
			var told *machine.Error
			if problem := (machine.Problem{What: "Linux could not be set up in Windows.", Do: "Try again."}); p.lacking() == nil {
				if errors.As(err, &told) {
					problem = machine.Problem{What: told.Message}
				}
				p.lacks(&problem)
			}
			p.log.Warn("the place in WSL is not set up", "err", err)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bring is setUp, once it is its turn.
func (p *wslPlace) bring(ctx context.Context, asked bool) error {
	p.tell(&machine.Preparation{What: "Looking for WSL"})
	p.lacks(nil)
	facts, err := p.wsl.Look(ctx)
	if err == nil && facts.Problem != nil && facts.Problem.Step != "" && asked {
		p.tell(&machine.Preparation{What: "Windows asks for an administrator: look in the taskbar"})
		var restart bool
		restart, err = p.wsl.Enable(ctx, facts.Problem.Step)
		switch {
		case err != nil:
		case restart:
			facts.Problem = &wsl.Restart
		default:
			facts, err = p.wsl.Look(ctx)
		}
	}
	if err != nil {
		return err
	}
	if facts.Problem != nil {
		p.lacks(&facts.Problem.Problem)
	}
	made, err := parts.Own(p.bin)
	if err == nil {
		err = p.wsl.Fits(facts, made)
	}
	if err != nil {
		return err
	}
	what := "Copying ForeverVM into WSL"
	p.tell(&machine.Preparation{What: what, Total: made.Size})
	told := time.Now()
	p.Reset() // an agent must not find new programs beside it; machines there are saved
	err = p.wsl.Install(ctx, made, func(sent int64) {
		if time.Since(told) > tellEvery {
			told = time.Now()
			p.tell(&machine.Preparation{What: what, Done: sent, Total: made.Size})
		}
	})
	if err != nil {
		return err
	}
	p.tell(&machine.Preparation{What: "Starting a first machine"})
	if err := runFirst(ctx, p.Place); err != nil {
		return err
	}
	return home.WritePrivate(p.mark, []byte(marked()))
}

// Close ends the place, and a set-up, which the next one mends.
func (p *wslPlace) Close() error {
	p.stop()
	p.turn <- struct{}{} // for good: none begins any more
	return p.Place.Close()
}
