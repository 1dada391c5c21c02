package wsltest

import (
	"archive/tar"
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/forevervm/desktop/backend/engine/native/nativetest"
)

// Answer is what WSL says to a question, and its exit code.
type Answer struct {
	Says string
	Code int32
}

// WSL is one that is played: what it has lies in folders of this computer.
type WSL struct {
	Address string
	// Root is the folder of the one distribution that it can have.
	Root string
	// Drive is the folder of the C drive of the Windows that uses it; empty for none.
	Drive string

	mu      sync.Mutex
	answers map[string]Answer // by the first argument
	name    string            // of the distribution; empty for none
	half    bool              // it is being imported
	disk    string            // the file that WSL keeps it in
	asked   []string          // all arguments of each call, with spaces
	calls   sync.WaitGroup
}

// Serve plays a WSL that is installed and has no distribution. When the test ends, all that runs in
// it is killed.
func Serve(t *testing.T) *WSL {
	t.Helper()
	root, err := os.MkdirTemp("", "wsltest-") // not t.TempDir, which other users may not look into
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &WSL{Address: l.Addr().String(), Root: filepath.Join(root, "root"), answers: map[string]Answer{}}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		w.kill(t)
		w.calls.Wait()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.calls.Go(func() { w.serve(t, conn) })
		}
	}()
	return w
}

// Build builds the stand-in and, if asked to, the other programs of this package, for an operating
// system, and returns their folder.
func Build(t *testing.T, system string, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range append(names, "standin") {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, map[bool]string{true: "wsl.exe", false: name + ".exe"}[name == "standin"]), "github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest/"+name)
		build.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return folder
}

// Answer sets what it answers to a first argument; nil for what it does by itself.
func (w *WSL) Answer(to string, a *Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.answers, to); a != nil {
		w.answers[to] = *a
	}
}

// Has says that there is a distribution of that name; half, that it is only being imported.
func (w *WSL) Has(name string, half bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.name, w.half = name, half
}

// Distribution is the name of the one that there is.
func (w *WSL) Distribution() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.name
}

// Asked says whether it was called with these arguments.
func (w *WSL) Asked(args string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.asked, args)
}

// serve is one call of wsl.exe.
func (w *WSL) serve(t *testing.T, conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	var call Call
	if err := errors.Join(err, json.Unmarshal(line, &call)); err != nil || len(call.Args) == 0 {
		t.Errorf("a call of wsl.exe: %v", err)
		return
	}
	w.mu.Lock()
	w.asked = append(w.asked, strings.Join(call.Args, " "))
	a, set := w.answers[call.Args[0]]
	name, half := w.name, w.half
	w.mu.Unlock()
	if !set {
		switch call.Args[0] {
		case "--status", "--version":
			a.Says = "All is well.\r\n"
		case "--list":
			if name != "" && (!half || slices.Contains(call.Args, "--all")) {
				a.Says = name + "\r\n"
			}
			a.Says += "docker-desktop\r\n"
		case "--install":
			w.Answer("--status", nil)
		case "--import":
			a = w.extract(call.Args, in)
		case "--terminate":
			w.kill(t)
		case "--unregister":
			w.kill(t)
			if err := errors.Join(os.RemoveAll(w.Root), os.RemoveAll(w.Disk())); err != nil {
				t.Error(err)
			}
			w.Has("", false)
		case "-d":
			if call.Args[1] == name && !half {
				a.Code = w.exec(t, call.Args, in, conn)
				break
			}
			a = Answer{"Es gibt keine solche Verteilung.\r\nFehlercode: Wsl/Service/WSL_E_DISTRO_NOT_FOUND\r\n", -1}
		default:
			t.Errorf("wsl.exe was called with %q", call.Args)
		}
	}
	said := []byte(a.Says)
	if !call.UTF8 {
		said = nil
		for _, unit := range utf16.Encode([]rune(a.Says)) {
			said = binary.LittleEndian.AppendUint16(said, unit)
		}
	}
	if len(said) > 0 { // who is started by ShellExecute has no output
		_ = Say(conn, ToOutput, said) // who called may be killed
	}
	_ = Say(conn, Exit, binary.BigEndian.AppendUint32(nil, uint32(int32(a.Code)))) //nolint:gosec,unconvert // as Windows has it
}

// extract takes a distribution.
func (w *WSL) extract(args []string, in io.Reader) Answer {
	failed := func(err error) Answer {
		return Answer{fmt.Sprintf("%v\r\nFehlercode: Wsl/Service/RegisterDistro/WSL_E_IMPORT_FAILED\r\n", err), -1}
	}
	if len(args) != 6 || args[3] != "-" || args[4] != "--version" || args[5] != "2" {
		return failed(fmt.Errorf("called with %q", args))
	}
	w.Has(args[1], true)
	err := extract(in, w.Root)
	if err == nil {
		err = w.Keep(args[2])
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(w.Root)) // before it is said to be gone
		w.Has("", false)
		return failed(err)
	}
	w.Has(args[1], false)
	return Answer{}
}

// Disk is the file that it keeps the distribution in.
func (w *WSL) Disk() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.disk
}

// Keep makes the file in which it keeps a distribution. The folder may be as Wine calls it.
func (w *WSL) Keep(folder string) error {
	if drive, path, ok := strings.Cut(folder, ":"); ok { // of a Windows under Wine, where Z: is this computer's root
		folder = strings.ReplaceAll(path, `\`, "/")
		if drive != "Z" {
			folder = filepath.Join(w.Drive, folder)
		}
	}
	w.mu.Lock()
	w.disk = filepath.Join(folder, "ext4.vhdx")
	w.mu.Unlock()
	return os.WriteFile(w.Disk(), nil, 0o600)
}

// extract unpacks a tar file of a root, as root with its owners.
func extract(r io.Reader, root string) error {
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, 0o755)
		} else {
			err = write(path, t)
		}
		if err == nil {
			err = os.Chmod(path, h.FileInfo().Mode())
		}
		if err == nil && os.Getuid() == 0 {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err != nil {
			return err
		}
	}
}

func write(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// teller says what is written to it.
type teller struct {
	w    io.Writer
	what byte
	mu   *sync.Mutex
}

func (t teller) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(b), Say(t.w, t.what, b)
}

// exec runs a program of the distribution, and returns its exit code.
func (w *WSL) exec(t *testing.T, args []string, in io.Reader, out io.Writer) int32 {
	at := slices.Index(args, "--exec")
	if want := "--user forevervm --cd / --exec"; at < 0 || strings.Join(args[2:at+1], " ") != want {
		t.Errorf("wsl.exe was called with %q", args)
		return -1
	}
	args = slices.Clone(args[at+1:])
	for i, arg := range args {
		if strings.HasPrefix(arg, "/") {
			args[i] = w.Root + arg
		}
	}
	var mu sync.Mutex
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=" + w.Root + "/home/forevervm", "PATH=/usr/bin:/bin"}
	cmd.Stdout, cmd.Stderr = teller{out, ToOutput, &mu}, teller{io.MultiWriter(out), ToErrors, &mu}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if of, err := os.Stat(args[0]); err == nil && os.Getuid() == 0 {
		user := of.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user.Uid, Gid: user.Gid}
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = Say(out, ToErrors, []byte("<3>WSL ERROR: execvpe failed 2\n"))
		return 1
	}
	go func() {
		_, _ = io.Copy(stdin, in)
		stdin.Close()
	}()
	_ = cmd.Wait()
	return int32(cmd.ProcessState.ExitCode()) //nolint:gosec // small
}

// kill kills all that runs in the distribution, until nothing does: what is killed may just have
// started something.
func (w *WSL) kill(t *testing.T) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := w.Processes(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("still running are %v", left)
			return
		}
		for _, p := range left {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

// Processes are those that run programs of the distribution.
func (w *WSL) Processes(t *testing.T) (all []nativetest.Process) {
	for _, p := range nativetest.All(t) {
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
		if strings.HasPrefix(program, w.Root+"/") {
			all = append(all, p)
		}
	}
	return all
}
