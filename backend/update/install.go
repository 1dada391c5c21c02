package update

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// packageFile lies beside the programs of a package and says which kind it is of. A build from a
// checkout has none.
const packageFile = "package"

// packageOf says how the program in a folder was installed: "deb", "msi" and so on, or "" for a
// build of one's own.
func packageOf(folder string) string {
	data, err := os.ReadFile(filepath.Join(folder, packageFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// installer is how a kind of package is installed.
type installer struct {
	root     bool                                 // it is for all users of this computer: the system's administrator does it
	before   []string                             // is run first: it finishes what an interrupted installation left, or says nothing
	commands func(path string) (tries [][]string) // the first one that is here is run
	by       string                               // the person, who does this where no command can
}

var installers = map[string]installer{
	"deb": {root: true, before: []string{"dpkg", "--configure", "--pending"}, commands: func(path string) [][]string {
		return [][]string{{"apt-get", "install", "--yes", path}, {"dpkg", "--install", path}}
	}},
	"rpm": {root: true, commands: func(path string) [][]string {
		return [][]string{{"dnf", "install", "--assumeyes", path}, {"rpm", "--upgrade", path}}
	}},
	"msi":     {commands: func(path string) [][]string { return [][]string{{"msiexec", "/i", path, "/passive"}} }},
	"dmg":     {commands: func(path string) [][]string { return [][]string{{"open", path}} }},
	"tarball": {by: "unpack it where the present version lies"},
}

// asRoot are the ways to do something as this computer's administrator, with the person's consent.
var asRoot = []string{"pkexec", "sudo"}

// Staged is a folder with a release that was downloaded: the manifest, its signatures, and the
// package. It may be anybody's.
type Staged string

// Apply installs what is staged for the program in folder bin, which is of version running.
// Everything is checked once more, and what was checked is what is executed: the package is copied,
// while its digest is taken, into a folder that only this user can change, and installed from
// there. As root it trusts nothing of the person who asked for it but the signature.
func (s Staged) Apply(ctx context.Context, bin, running string, keys Keys, say io.Writer) error {
	m, file, err := s.open(bin, running, keys, time.Now())
	if err != nil {
		return err
	}
	how := installers[file.Package]
	if how.commands == nil {
		return fmt.Errorf("version %s is in %s; %s", m.Version, filepath.Join(string(s), file.Name), how.by)
	}
	failed := func(err error) error {
		return fmt.Errorf("version %s could not be installed, and %s is still here: %w", m.Version, running, err)
	}
	removeOldCopies(time.Now())
	private, err := os.MkdirTemp("", copies) // mode 0700
	if err != nil {
		return failed(err)
	}
	copied := filepath.Join(private, file.Name)
	if err := copyChecked(filepath.Join(string(s), file.Name), copied, file); err != nil {
		return errors.Join(failed(err), os.RemoveAll(private))
	}
	command, err := firstHere(how.commands(copied))
	if err != nil {
		return errors.Join(failed(err), os.RemoveAll(private))
	}
	run := func(command []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = say, say
		cmd.Cancel = func() error { return nil } // an installer is not to be stopped half way
		return cmd
	}
	if runtime.GOOS == "windows" {
		// It replaces this program, which must have ended by then. The copy goes with the next
		// installation.
		return run(command).Start()
	}
	if how.before != nil {
		_ = run(how.before).Run() // what it cannot finish, the installer says
	}
	if err := run(command).Run(); err != nil {
		return errors.Join(failed(fmt.Errorf("%s: %w", command[0], err)), os.RemoveAll(private))
	}
	if file.Package == "dmg" {
		return nil // which is open now
	}
	return os.RemoveAll(private)
}

// copies begin the names of the folders that packages are installed from.
const copies = "forevervm-update-"

// removeOldCopies removes those that an interrupted installation, and Windows', have left: a
// package is large.
func removeOldCopies(now time.Time) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), copies+"*"))
	for _, folder := range left {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && now.Sub(info.ModTime()) > time.Hour { // from younger ones something may be installed
			os.RemoveAll(folder)
		}
	}
}

// open checks what is staged, but for the package's digest.
func (s Staged) open(bin, running string, keys Keys, now time.Time) (Manifest, File, error) {
	document, err := s.small(ManifestName)
	if err != nil {
		return Manifest{}, File{}, err
	}
	signatures, err := s.small(SignaturesName)
	if err != nil {
		return Manifest{}, File{}, err
	}
	m, err := keys.open(document, signatures, running, now)
	if err != nil {
		return Manifest{}, File{}, refused(err)
	}
	if compare(m.Version, running) == 0 {
		return Manifest{}, File{}, fmt.Errorf("version %s is installed already", running)
	}
	kind := packageOf(bin)
	file, ok := m.file(kind, runtime.GOOS, runtime.GOARCH)
	if !ok {
		return Manifest{}, File{}, noPackage(m, kind)
	}
	return m, file, nil
}

// small reads one of the small files. More than one of them may have makes it worthless, as its
// signature then fits nothing.
func (s Staged) small(name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(s), name))
	if err != nil {
		return nil, fmt.Errorf("nothing is ready to be installed: %w", err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, mostOfManifest))
}

func refused(err error) error {
	return fmt.Errorf("the announcement of a release was refused: %w. Nothing was changed", err)
}

func noPackage(m Manifest, kind string) error {
	if kind == "" {
		return fmt.Errorf("version %s is there, but this ForeverVM was built here: build the newer one in the same way", m.Version)
	}
	return fmt.Errorf("version %s has no %s for %s on %s; install it by hand", m.Version, kind, runtime.GOOS, runtime.GOARCH)
}

// copyChecked copies a file that somebody may change meanwhile. What is then at the other place is
// what was signed.
func copyChecked(from, to string, file File) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, file.Size+1))
	if err != nil {
		return err
	}
	if size != file.Size || hex.EncodeToString(sum.Sum(nil)) != file.SHA256 {
		return fmt.Errorf("the file %s: %w", file.Name, errNotSigned)
	}
	return nil
}

func firstHere(tries [][]string) ([]string, error) {
	var names []string
	for _, one := range tries {
		if _, err := exec.LookPath(one[0]); err == nil {
			return one, nil
		}
		names = append(names, one[0])
	}
	return nil, fmt.Errorf("the program that installs packages is missing here (%s)", strings.Join(names, ", "))
}

// rootCommand is a command line that runs a program as this computer's administrator.
func rootCommand(program string, args ...string) ([]string, error) {
	for _, way := range asRoot {
		if path, err := exec.LookPath(way); err == nil {
			return append([]string{path, program}, args...), nil
		}
	}
	return nil, fmt.Errorf("this takes the rights of the administrator, and neither of %s is here: run as root: %s %s", strings.Join(asRoot, ", "), program, strings.Join(args, " "))
}
