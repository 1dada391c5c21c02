package update

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/version"
)

// What a release's build sets (-ldflags "-X github.com/forevervm/desktop/backend/update.Feed=…"):
// where releases are announced, and the public keys that may sign for them, parted by commas. A
// build without them looks nowhere.
var (
	Feed       = ""
	SigningKey = ""
)

// FeedVariable names the environment variable with another address in place of Feed. The keys stay.
const FeedVariable = "FOREVERVM_UPDATE_FEED"

// ErrOff says that this build looks for no releases.
var ErrOff = errors.New("this build of ForeverVM does not look for updates: get a newer one where you got this one")

// Config says what an Updater is of; zero fields mean what this build says.
type Config struct {
	Folder  string // where downloads and what is known of releases are kept, for the user alone
	Bin     string // the folder of the program that is to be replaced
	Version string // of it
	Feed    string
	Keys    Keys
	Now     func() time.Time
	// Metered says whether the connection is paid for by what goes over it.
	Metered func(context.Context) bool
}

// Updater knows what is newer and brings it here. Its methods may be called by several goroutines;
// one thing is done at a time.
type Updater struct {
	config Config
	feed   *feed

	work  sync.Mutex // held while something is done
	mu    sync.Mutex // guards what follows
	known known
	bytes int64 // of the package that are here, while it is downloaded
}

// known is what is kept between runs.
type known struct {
	LookedAt time.Time `json:"looked_at"` // last, with success
	LookNext time.Time `json:"look_next"` // when it is due to look on its own
	IssuedAt time.Time `json:"issued_at"` // of the newest manifest ever believed: an older one is a replay
	Version  string    `json:"version"`   // of that manifest
	Notes    string    `json:"notes"`
	Size     int64     `json:"size"` // of the package for this computer, in bytes; 0 where there is none
	Ready    bool      `json:"ready"`
}

// Release is what is newer than the version that runs.
type Release struct { // in the order of api.Release, which it is converted to
	Bytes   int64  // of Size that are here, while it is downloaded
	Notes   string // plain text
	Ready   bool   // it can be installed
	Size    int64  // bytes to download; 0 where there is no package for this computer
	Version string
}

// New returns the updater of this computer. The error is ErrOff, or says what is wrong with the
// configuration.
func New(config Config) (*Updater, error) {
	if config.Feed == "" {
		config.Feed = Feed
		if other := os.Getenv(FeedVariable); other != "" {
			config.Feed = other
		}
	}
	if config.Keys == nil {
		keys, err := ParseKeys(SigningKey)
		if err != nil {
			return nil, err
		}
		config.Keys = keys
	}
	if config.Version == "" {
		config.Version = version.Version
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Metered == nil {
		config.Metered = metered
	}
	if config.Feed == "" || len(config.Keys) == 0 || compare(config.Version, "0.0.0") < 0 { // such as "dev"
		return nil, ErrOff
	}
	feed, err := newFeed(config.Feed)
	if err != nil {
		return nil, err
	}
	u := &Updater{config: config, feed: feed}
	data, err := os.ReadFile(u.knownFile())
	if err == nil {
		err = json.Unmarshal(data, &u.known)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		u.known = known{} // nothing of it cannot be found out again, but for the last manifest's date
	}
	return u, nil
}

func (u *Updater) knownFile() string { return filepath.Join(u.config.Folder, "known.json") }

// Staged is where what was downloaded lies.
func (u *Updater) Staged() Staged { return Staged(u.config.Folder) }

// LookedAt is when it was last looked, with success.
func (u *Updater) LookedAt() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known.LookedAt
}

// Newer is what is known of a newer release, or nil.
func (u *Updater) Newer() *Release {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known.Version == "" || compare(u.known.Version, u.config.Version) <= 0 {
		return nil
	}
	return &Release{Version: u.known.Version, Notes: u.known.Notes, Size: u.known.Size, Bytes: u.bytes, Ready: u.known.Ready}
}

// Look asks the feed what is newer; nil where nothing is. Where that cannot be told the error is
// ErrUnreachable, where the answer is not to be believed one of the manifest's errors; what was
// known stays.
func (u *Updater) Look(ctx context.Context) (*Release, error) {
	u.work.Lock()
	defer u.work.Unlock()
	_, _, err := u.look(ctx)
	return u.Newer(), err
}

func (u *Updater) look(ctx context.Context) (m Manifest, file File, err error) {
	defer func() {
		again := lookEvery
		if errors.Is(err, ErrUnreachable) {
			again = tryEvery
		}
		err = errors.Join(err, u.note(func(k *known) { k.LookNext = u.config.Now().Add(again) }))
	}()
	document, signatures, err := u.feed.manifest(ctx)
	if err != nil {
		return Manifest{}, File{}, err
	}
	m, err = u.config.Keys.open(document, signatures, u.config.Version, u.config.Now())
	if err != nil {
		return Manifest{}, File{}, refused(err)
	}
	u.mu.Lock()
	replayed := m.IssuedAt.Before(u.known.IssuedAt)
	u.mu.Unlock()
	if replayed {
		return Manifest{}, File{}, refused(ErrReplayed)
	}
	file, _ = m.file(packageOf(u.config.Bin), runtime.GOOS, runtime.GOARCH)
	if err := os.MkdirAll(u.config.Folder, 0o700); err != nil {
		return Manifest{}, File{}, err
	}
	for name, data := range map[string][]byte{ManifestName: document, SignaturesName: signatures} {
		if err := home.WritePrivate(filepath.Join(u.config.Folder, name), data); err != nil {
			return Manifest{}, File{}, err
		}
	}
	return m, file, u.note(func(k *known) {
		*k = known{LookedAt: u.config.Now(), IssuedAt: m.IssuedAt, Version: m.Version, Notes: m.Notes, Size: file.Size, Ready: k.Ready && k.Version == m.Version}
	})
}

// note changes what is known and keeps it.
func (u *Updater) note(change func(*known)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(&u.known)
	data, err := json.Marshal(u.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(u.config.Folder, 0o700); err != nil {
		return err
	}
	return home.WritePrivate(u.knownFile(), data)
}

// Download brings the newest release here, after looking once more what that is. An interrupted
// download is gone on with. Nothing is executed.
func (u *Updater) Download(ctx context.Context) (*Release, error) {
	u.work.Lock()
	defer u.work.Unlock()
	m, file, err := u.look(ctx)
	if err != nil {
		return nil, err
	}
	if compare(m.Version, u.config.Version) == 0 {
		return nil, fmt.Errorf("version %s, which runs here, is the newest", m.Version)
	}
	if file.Name == "" {
		return nil, noPackage(m, packageOf(u.config.Bin))
	}
	u.clean(file)
	_, err = u.feed.download(ctx, u.config.Folder, file, func(n int64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.bytes = n
	})
	if err := errors.Join(err, u.note(func(k *known) { k.Ready = err == nil })); err != nil {
		return nil, err
	}
	return u.Newer(), nil
}

// clean removes what was downloaded of other releases.
func (u *Updater) clean(file File) {
	keep := map[string]bool{filepath.Base(u.knownFile()): true, ManifestName: true, SignaturesName: true, file.Name: true, file.SHA256[:16] + ".part": true}
	entries, _ := os.ReadDir(u.config.Folder)
	for _, entry := range entries {
		if !keep[entry.Name()] {
			os.Remove(filepath.Join(u.config.Folder, entry.Name()))
		}
	}
}

// Install installs what was downloaded, on the person's word. Where this takes the administrator's
// rights, the system asks the person, and the installed program does it then (`forevervm update
// apply`).
func (u *Updater) Install(ctx context.Context, program string, in io.Reader, say io.Writer) error {
	u.work.Lock()
	defer u.work.Unlock()
	_, file, err := u.Staged().open(u.config.Bin, u.config.Version, u.config.Keys, u.config.Now())
	if err != nil {
		return err
	}
	if !installers[file.Package].root || os.Geteuid() == 0 {
		return u.Staged().Apply(ctx, u.config.Bin, u.config.Version, u.config.Keys, say)
	}
	command, err := rootCommand(program, "update", "apply", u.config.Folder)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, say, say
	if err := cmd.Run(); err != nil {
		return notInstalled(u.config.Version, filepath.Base(command[0]), say != nil, err)
	}
	return nil
}

// notInstalled says what came of asking for the administrator's rights; heard is whether the person
// has read what the installer said.
func notInstalled(running, way string, heard bool, err error) error {
	var exit *exec.ExitError
	if way == "pkexec" && errors.As(err, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127) { // as its manual has it
		return fmt.Errorf("the rights of the administrator were not given, and version %s is still here", running)
	}
	err = fmt.Errorf("it could not be installed, and version %s is still here: %w", running, err)
	if !heard {
		err = fmt.Errorf("%w; `forevervm update install` in a terminal says why", err)
	}
	return err
}

const (
	lookEvery = 24 * time.Hour
	tryEvery  = time.Hour // while the feed cannot be reached
)

// Watch looks once a day, until ctx ends, while wanted says so and nobody pays for the connection
// by what goes over it. A computer that is offline is no news: told is only called when the service
// has answered, if only with an announcement that is not to be believed; nil stands for nothing
// newer.
func (u *Updater) Watch(ctx context.Context, wanted func() bool, told func(*Release, error)) {
	const wakes = 10 * time.Minute // a computer that slept has no fewer days
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(wakes)
		if !u.due() || !wanted() || u.config.Metered(ctx) {
			continue
		}
		if newer, err := u.Look(ctx); err == nil || !errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
			told(newer, err)
		}
	}
}

// due says whether it is time to look. A time further off than any look sets comes from a clock
// that was wrong then.
func (u *Updater) due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	until := u.known.LookNext.Sub(u.config.Now())
	return until <= 0 || until > lookEvery
}
