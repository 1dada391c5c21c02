package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/update"
	"github.com/forevervm/desktop/backend/version"
)

const updateCheckKey = "update_check"

// updateCheck says whether newer releases are looked for on their own, "daily" or "off".
func updateCheck(dirs home.Dirs) string {
	file, _ := dirs.ReadSettings() // what is wrong with it was told at the start
	var value string
	if json.Unmarshal(file[updateCheckKey], &value) == nil && value == "off" {
		return value
	}
	return "daily"
}

// dailyOrOff is the rule of a setting that is none of the machines'.
func dailyOrOff(value json.RawMessage, _ *service.Settings) error {
	var text string
	if json.Unmarshal(value, &text) != nil || text != "daily" && text != "off" {
		return fmt.Errorf("%q or %q", "daily", "off")
	}
	return nil
}

// updates are the newer releases, for the server.
type updates struct {
	d       *daemon
	ctx     context.Context // until the daemon ends
	updater *update.Updater // nil where off says why
	off     error
	program string // forevervm

	mu     sync.Mutex // guards what follows
	busy   bool
	unseen string // why the last look told nothing that can be believed
	failed string // why the last installation was none
}

func (d *daemon) updates(ctx context.Context) *updates {
	u := &updates{d: d, ctx: ctx}
	if u.program, u.off = d.executable(); u.off == nil {
		u.updater, u.off = update.New(update.Config{Folder: d.dirs.UpdatesDir(), Bin: filepath.Dir(u.program)})
	}
	if u.off != nil && !errors.Is(u.off, update.ErrOff) {
		d.log.Warn("newer releases are not looked for", "err", u.off)
	}
	return u
}

// watch looks once a day, unless the person wants no such thing.
func (u *updates) watch(ctx context.Context) {
	if u.updater == nil {
		return
	}
	u.updater.Watch(ctx, func() bool { return updateCheck(u.d.dirs) == "daily" }, func(newer *update.Release, err error) {
		if err != nil {
			u.d.log.Warn("looking for newer releases", "err", err)
			u.looked(inWords(err))
			return
		}
		u.looked("")
		if newer != nil {
			u.d.log.Info("there is a newer release", "version", newer.Version)
		}
	})
}

// Update implements server.Updates.
func (u *updates) Update() api.Update {
	now := api.Update{Version: version.Version}
	if u.updater == nil {
		now.Problem = inWords(u.off)
		return now
	}
	if at := u.updater.LookedAt(); !at.IsZero() {
		now.LookedAt = &at
	}
	if newer := u.updater.Newer(); newer != nil {
		release := api.Release(*newer)
		now.Newer = &release
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now.Busy, now.Problem = u.busy, cmp.Or(u.failed, u.unseen)
	return now
}

// Look implements server.Updates.
func (u *updates) Look(ctx context.Context) (api.Update, error) {
	if u.updater == nil {
		return api.Update{}, errors.New(inWords(u.off))
	}
	if _, err := u.updater.Look(ctx); err != nil {
		return api.Update{}, errors.New(inWords(err))
	}
	u.looked("")
	return u.Update(), nil
}

// installWithin bounds a download and an installation.
const installWithin = 3 * time.Hour

// Install implements server.Updates.
func (u *updates) Install() (api.Update, error) {
	if u.updater == nil {
		return api.Update{}, errors.New(inWords(u.off))
	}
	u.mu.Lock()
	if u.busy {
		u.mu.Unlock()
		return u.Update(), nil
	}
	u.busy, u.failed = true, ""
	u.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(u.ctx, installWithin)
		defer cancel()
		_, err := u.updater.Download(ctx)
		if err == nil {
			// The installer ends this daemon, and outlives it: so it is given nothing of ours to
			// read from or to write to.
			err = u.updater.Install(context.WithoutCancel(ctx), u.program, nil, nil)
		}
		if err != nil {
			u.d.log.Error("a newer release is not installed", "err", err)
		}
		u.mu.Lock()
		u.busy = false
		if err != nil {
			u.failed = inWords(err)
		}
		u.mu.Unlock()
		if err == nil && runtime.GOOS == "windows" {
			u.d.stop() // the installer waits for that
		}
	}()
	return u.Update(), nil
}

// looked notes what came of a look.
func (u *updates) looked(problem string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unseen = problem
}

// inWords is an error as a person reads it: each line of it a sentence.
func inWords(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		first, n := utf8.DecodeRuneInString(line)
		line = string(unicode.ToUpper(first)) + strings.TrimRight(line[n:], ".") + "."
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
