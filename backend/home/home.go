// Package home knows where the program's files live, and keeps the small ones: the local token, the
// settings, and the file in which a running daemon says where it is.
package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

// Variable names the environment variable that moves every file under one folder.
const Variable = "FOREVERVM_HOME"

// Dirs are the folders of one installation. Make creates them.
type Dirs struct {
	Config string // the token and the settings
	Data   string // the database and the machines; on a disk that is not roamed or synced
	Usual  string // where Data is unless it was moved; the lock is always there
	Run    string // what only means something while a daemon runs
	// Root is the one folder that holds the others, where they were moved by an override; else "".
	Root string
	id   string // of moved data
}

// Resolve says where the files live: under override, else under $FOREVERVM_HOME, else in the
// operating system's usual places. It creates nothing.
func Resolve(override string) (Dirs, error) {
	root := override
	if root == "" {
		root = os.Getenv(Variable)
	}
	if root != "" {
		absolute, err := filepath.Abs(root)
		if err != nil {
			return Dirs{}, fmt.Errorf("the folder %q for ForeverVM's files cannot be used: %w", root, err)
		}
		dirs := under(absolute)
		dirs.Root = absolute
		return dirs.withPlace()
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		// LocalAppData (which is not roamed) and Application Support.
		return under(filepath.Join(xdg.DataHome, "ForeverVM")).withPlace()
	}
	data := filepath.Join(xdg.DataHome, "forevervm")
	dirs := Dirs{
		Config: filepath.Join(xdg.ConfigHome, "forevervm"),
		Data:   data,
		// Not in XDG_RUNTIME_DIR: a program started by cron, su or a service has another one, or
		// none, and would then miss the daemon that runs.
		Run: filepath.Join(data, "run"),
	}
	return dirs.withPlace()
}

func under(root string) Dirs {
	return Dirs{
		Config: filepath.Join(root, "config"),
		Data:   filepath.Join(root, "data"),
		Run:    filepath.Join(root, "run"),
	}
}

// WSLDir is where WSL has the disk of our distribution, on Windows. It never moves.
func (d Dirs) WSLDir() string { return filepath.Join(filepath.Dir(d.Run), "wsl") }

// SocketsDir is for sockets of programs that take no path with spaces or accents.
func (d Dirs) SocketsDir() string {
	if runtime.GOOS == "darwin" && d.Root == "" {
		return filepath.Join(xdg.Home, ".forevervm")
	}
	return d.Run
}

// Window is the name of the program with the window.
const Window = "forevervm-desktop"

// Instance names this home among others on this computer, in 16 letters and digits.
func (d Dirs) Instance() string {
	digest := sha256.Sum256([]byte(d.Usual))
	return hex.EncodeToString(digest[:8])
}

// LoginEntry is the id under which the window may be started at login: with another home it is
// another program to start.
func (d Dirs) LoginEntry() string {
	if d.Root == "" {
		return Window
	}
	return Window + "-" + d.Instance()
}

// Make creates the folders, for the user alone. Data that was moved must be there: ErrAway.
func (d Dirs) Make() error {
	if err := d.there(); err != nil {
		return err
	}
	dirs := []string{d.Config, d.Usual, d.Data, d.Run}
	if d.Root != "" {
		dirs = append([]string{d.Root}, dirs...)
	}
	for _, dir := range dirs {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeDir creates a folder of mode 0700. One that was there keeps its mode where it is the person's
// own choice (an override's root may be a folder that is used for more), but it is theirs, and
// nobody else may write to it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("ForeverVM keeps its files in %s, but that folder cannot be made: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return ownAlone(dir, info)
}

// Remove deletes everything that was ever kept. Other programs' files in the same folders stay: the
// official command line has its settings in the folder of ours. So does what the person has in
// theirs.
func (d Dirs) Remove() error {
	failures := []error{removeAll(d.Data), removeAll(d.Usual), removeAll(d.Run), removeAll(d.SocketsDir())}
	for _, file := range []string{d.placeFile(), d.OwnerTokenFile(), d.OwnerTokenFile() + ".lock", d.TokenFile(), d.TokenFile() + ".lock", d.TokensFile(), d.PeopleFile(), d.MakerKeyFile(), d.MakerKeyFile() + ".lock", d.MakersFile(), d.SettingsFile(), d.AccountsFile(), d.SecretsFile(), d.PlacesFile(), d.WindowFile()} {
		if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, err)
		}
	}
	_ = os.Remove(d.Config)   // if nothing else is in it
	_ = os.Remove(d.Folder()) // nor in the person's own: what lies there is theirs
	if together := filepath.Dir(d.Usual); together == filepath.Dir(d.Config) {
		_ = os.Remove(together)
	}
	return errors.Join(failures...)
}

// OwnerTokenFile holds the token of the window and the command line.
func (d Dirs) OwnerTokenFile() string { return filepath.Join(d.Config, "owner-token") }

// TokenFile holds the token that people give to SDKs and programs.
func (d Dirs) TokenFile() string { return filepath.Join(d.Config, "token") }

// TokensFile says which AI apps and programs have a token of their own.
func (d Dirs) TokensFile() string { return filepath.Join(d.Config, "tokens.json") }

// PeopleFile says who is in the team that uses this daemon, with hashes of their tokens.
func (d Dirs) PeopleFile() string { return filepath.Join(d.Config, "people.json") }

// RecordFile holds the record of what crossed the line between machines and the rest.
func (d Dirs) RecordFile() string { return filepath.Join(d.Data, "record.jsonl") }

// MakerKeyFile holds the key with which machines are signed that are saved as files.
func (d Dirs) MakerKeyFile() string { return filepath.Join(d.Config, "maker.key") }

// MakersFile holds whose machines the person has accepted.
func (d Dirs) MakersFile() string { return filepath.Join(d.Config, "makers.json") }

// ParcelsDir holds machines that come from files, until they are made.
func (d Dirs) ParcelsDir() string { return filepath.Join(d.Data, "parcels") }

// SettingsFile holds the settings.
func (d Dirs) SettingsFile() string { return filepath.Join(d.Config, "settings.json") }

// AccountsFile says which accounts of the hosted service are used here. Their tokens are in the
// keyring.
func (d Dirs) AccountsFile() string { return filepath.Join(d.Config, "accounts.json") }

// SecretsFile says which secrets machines may use. Their values are in the keyring.
func (d Dirs) SecretsFile() string { return filepath.Join(d.Config, "secrets.json") }

// PlacesFile says where machines can be beside this computer.
func (d Dirs) PlacesFile() string { return filepath.Join(d.Config, "places.json") }

// WindowFile holds what the window remembers.
func (d Dirs) WindowFile() string { return filepath.Join(d.Config, "window.json") }

// DaemonFile is where a running daemon says where it is.
func (d Dirs) DaemonFile() string { return filepath.Join(d.Run, "daemon.json") }

// LockFile is locked by the one daemon of this data, wherever that is.
func (d Dirs) LockFile() string { return filepath.Join(d.Usual, "daemon.lock") }

// LogFile is the daemon's log; older ones lie beside it.
func (d Dirs) LogFile() string { return filepath.Join(d.Data, "logs", "daemon.log") }

// DatabaseFile is the daemon's database.
func (d Dirs) DatabaseFile() string { return filepath.Join(d.Data, "forevervm.db") }

// MachinesDir holds a folder for each machine.
func (d Dirs) MachinesDir() string { return filepath.Join(d.Data, "machines") }

// UpdatesDir holds what is known of newer releases, and what was downloaded of them.
func (d Dirs) UpdatesDir() string { return filepath.Join(d.Data, "updates") }

// PackagesDir holds Python packages that machines have installed, for the next one that wants them.
func (d Dirs) PackagesDir() string { return filepath.Join(d.Data, "packages") }

// ExchangeDir holds what is remembered of the files that went between the person's folder and each
// machine.
func (d Dirs) ExchangeDir() string { return filepath.Join(d.Data, "exchange") }

// Folder is the person's own folder of ForeverVM, in their documents: what they put there, machines
// find in their inbox.
func (d Dirs) Folder() string {
	const name = "ForeverVM"
	if d.Root != "" {
		return filepath.Join(d.Root, name)
	}
	if info, err := os.Stat(xdg.UserDirs.Documents); err == nil && info.IsDir() {
		return filepath.Join(xdg.UserDirs.Documents, name)
	}
	return filepath.Join(xdg.Home, name)
}

// AppsDir holds what is kept about the AI apps that are connected: what was put into their files,
// and backups of those.
func (d Dirs) AppsDir() string { return filepath.Join(d.Data, "apps") }
