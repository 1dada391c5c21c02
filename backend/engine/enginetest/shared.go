package enginetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// folder is one of the person's, as a test sees it.
type folder struct {
	t    *testing.T
	path string
}

// newFolder makes one that machines may change where they are let: in Docker they are another user.
func newFolder(t *testing.T) folder {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(path), path} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return folder{t, path}
}

func (f folder) at(name string) string { return filepath.Join(f.path, name) }

func (f folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) write(name, text string) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.at(name)), 0o777))
	f.must(os.WriteFile(f.at(name), []byte(text), 0o666))
	f.must(os.Chmod(f.at(name), 0o666))
}

func (f folder) read(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(f.at(name))
	f.must(err)
	return string(b)
}

func (f folder) remove(name string) {
	f.t.Helper()
	f.must(os.RemoveAll(f.at(name)))
}

// all is everything that is in it, to be compared.
func (f folder) all() string {
	f.t.Helper()
	var b strings.Builder
	f.must(filepath.WalkDir(f.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%q\n", text)
			return err
		}
		return nil
	}))
	return b.String()
}

// shared starts a new machine with the folder.
func (s Subject) shared(t *testing.T, f folder, writable bool) *session {
	t.Helper()
	return s.sharedFrom(t, machine.StartSpec{ID: s.newID(t)}, f, writable)
}

func (s Subject) sharedFrom(t *testing.T, spec machine.StartSpec, f folder, writable bool) *session {
	t.Helper()
	spec.Shared = &machine.SharedFolder{Path: f.path, Writable: writable}
	m := s.start(t, spec)
	if why := m.box.Ready().Unshared; why != "" {
		t.Fatalf("the folder is not shared: %s", why)
	}
	return m
}

// again stops a machine, has something happen meanwhile, and starts it with the same folder.
func (s Subject) again(t *testing.T, m *session, f folder, writable bool, meanwhile func()) *session {
	t.Helper()
	info := m.stop()
	meanwhile()
	return s.sharedFrom(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}, f, writable)
}

// works is code that says which of some calls, counted from 0, do not fail as the use of a file
// does that may not be used.
const works = `
	def works(*calls):
		done = []
		for i, call in enumerate(calls):
			try:
				call()
				done.append(i)
			except OSError:
				pass
		return done
`

// apartTests take the place of sharedTests where machines are elsewhere: they are told that there
// is no folder, and work.
var apartTests = []test{
	{"NotHere", func(t *testing.T, s Subject) {
		folder := t.TempDir()
		m := s.start(t, machine.StartSpec{ID: s.newID(t), Shared: &machine.SharedFolder{Path: folder}})
		if m.box.Ready().Unshared == "" {
			t.Error("nobody is told that the folder is not there")
		}
		m.expect("import os; os.listdir('/mnt/shared')", "[]")
		if err := s.Engine.MayShow(t.Context(), m.id, "base", ""); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("it is refused as %v", err)
		}
	}},
}

var sharedTests = []test{
	{"Seen", func(t *testing.T, s Subject) {
		f := newFolder(t)
		f.write("in/a.txt", "one")
		m := s.shared(t, f, false)
		m.expect("open('/mnt/shared/in/a.txt').read()", "'one'")
		f.write("in/a.txt", "another")
		f.write("new.txt", "two")
		m.expect("open('/mnt/shared/in/a.txt').read()", "'another'")
		m.expect("import os; sorted(os.listdir('/mnt/shared'))", "['in', 'new.txt']")
		f.remove("in")
		m.expect("os.listdir('/mnt/shared')", "['new.txt']")
	}},
	{"ReadOnly", func(t *testing.T, s Subject) {
		f := newFolder(t)
		f.write("a.txt", "untouched")
		f.write("in/b.txt", "untouched")
		m := s.shared(t, f, false)
		before := f.all()
		m.value(works)
		m.expect(`
			import ctypes, mmap, os, shutil, socket
			os.chdir('/mnt/shared')
			held = os.open('a.txt', os.O_RDONLY)
			def mapped():
				mmap.mmap(held, 9, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 0
			def tried(path, flags):
				return lambda: os.write(os.open(path, flags, 0o777), b'x')
			def bound():
				socket.socket(socket.AF_UNIX).bind('/mnt/shared/socket')
			works(
				*[tried(p, os.O_WRONLY | more) for p in ('a.txt', '/proc/self/fd/%d' % held) for more in (0, os.O_TRUNC, os.O_APPEND, os.O_CREAT, os.O_RDWR)],
				tried('a.txt', os.O_RDONLY | os.O_TRUNC), tried('new.txt', os.O_WRONLY | os.O_CREAT), tried('.', os.O_RDWR | os.O_TMPFILE),
				lambda: os.truncate('a.txt', 0), lambda: os.ftruncate(held, 0), lambda: os.posix_fallocate(held, 0, 100), mapped,
				lambda: os.chmod('a.txt', 0o700), lambda: os.fchmod(held, 0o700), lambda: os.chown('a.txt', 7, 7), lambda: os.utime('a.txt', (1, 1)), lambda: os.utime('.'),
				lambda: os.setxattr('a.txt', 'user.x', b'x'), lambda: os.removexattr('a.txt', 'user.x'),
				lambda: os.link('a.txt', 'hard.txt'), lambda: os.link('a.txt', '/root/hard.txt'), lambda: os.link('/etc/hostname', 'hard.txt'),
				lambda: os.symlink('a.txt', 'soft.txt'), lambda: os.rename('a.txt', 'c.txt'), lambda: os.rename('in', 'out'), lambda: os.rename('a.txt', 'in/b.txt'),
				lambda: os.rename('/etc/hostname', 'a.txt'), lambda: os.remove('a.txt'), lambda: os.rmdir('in'), lambda: os.mkdir('new'), lambda: os.mknod('node'),
			)
		`, "[]")
		m.value(`
			os.mkfifo('pipe'), bound() # gVisor's own, which nobody sees outside
			libc = ctypes.CDLL(None, use_errno=True)
			libc.mount(b'none', b'/mnt/shared', None, 0x20 | 0x1000, None), libc.mount(None, b'/mnt/shared', None, 0x20, None), libc.umount2(b'/mnt/shared', 2)
		`)
		m.expect("works(tried('a.txt', os.O_WRONLY))", "[]")
		if after := f.all(); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	}},
	{"Writable", func(t *testing.T, s Subject) {
		f := newFolder(t)
		f.write("a.txt", "one")
		m := s.shared(t, f, true)
		m.value(`
			import os
			os.chdir('/mnt/shared')
			open('a.txt', 'a').write(' two')
			os.makedirs('deep/er')
			open('deep/er/b.txt', 'w').write('three')
			os.rename('deep/er/b.txt', 'deep/c.txt')
			os.rmdir('deep/er')
		`)
		if a, c := f.read("a.txt"), f.read("deep/c.txt"); a != "one two" || c != "three" {
			t.Errorf("%q, %q", a, c)
		}
		m.value("import shutil; shutil.rmtree('deep'); os.remove('a.txt')")
		if list, err := os.ReadDir(f.path); err != nil || len(list) > 0 {
			t.Errorf("left: %v, %v", list, err)
		}
	}},
	{"OnlyFilesAndFolders", func(t *testing.T, s Subject) {
		f := newFolder(t)
		outside := newFolder(t)
		outside.write("secret.txt", "not yours")
		f.must(os.Symlink(outside.at("secret.txt"), f.at("absolute")))
		f.must(os.Symlink(filepath.Join("..", "..", "..", "..", "..", outside.at("secret.txt")), f.at("relative")))
		f.must(os.Symlink("/etc/os-release", f.at("inside")))
		f.must(exec.Command("mkfifo", "-m", "666", f.at("pipe")).Run())
		server, err := net.Listen("unix", f.at("socket"))
		f.must(err)
		defer server.Close()
		f.must(os.Chmod(f.at("socket"), 0o777))
		waiting := exec.Command("sh", "-c", `exec 3>"$0"`, f.at("pipe")) // until somebody opens the pipe to read it
		f.must(waiting.Start())
		opened := make(chan struct{})
		go func() {
			defer close(opened)
			_ = waiting.Wait() // it is killed at the end
		}()
		for _, writable := range []bool{false, true} {
			m := s.shared(t, f, writable)
			m.value(works)
			m.expect(`
				import os, socket
				os.chdir('/mnt/shared')
				works(lambda: open('absolute').read(), lambda: open('relative').read(), lambda: os.open('pipe', os.O_RDONLY | os.O_NONBLOCK), lambda: os.open('pipe', os.O_RDWR),
					lambda: socket.socket(socket.AF_UNIX).connect('socket'), lambda: socket.socket(socket.AF_UNIX).connect('/mnt/shared/socket'), lambda: os.open('socket', os.O_RDONLY))
			`, "[]")
			m.expect("open('inside').read() == open('/etc/os-release').read()", "True")
			m.expect("sorted(e.name for e in os.scandir() if e.stat(follow_symlinks=False))", "['absolute', 'inside', 'pipe', 'relative', 'socket']")
			m.end()
		}
		select {
		case <-opened:
			t.Error("the pipe was opened")
		default:
			f.must(waiting.Process.Kill())
			<-opened
		}
	}},
	{"ChangedWhileSwapped", func(t *testing.T, s Subject) {
		f := newFolder(t)
		for _, name := range []string{"changed", "shorter", "removed", "folder", "link", "replaced", "dead", "before", "mapped", "in/deep", "same"} {
			f.write(name, "as it was: "+name)
		}
		m := s.shared(t, f, false)
		m.value(works)
		m.value(`
			import mmap, os
			os.chdir('/mnt/shared')
			names = ['changed', 'shorter', 'removed', 'folder', 'link', 'replaced', 'dead', 'before', 'mapped', 'in/deep', 'same']
			fds = {name: os.open(name, os.O_RDONLY) for name in names}
			mapped = mmap.mmap(fds['mapped'], 0, access=mmap.ACCESS_READ)
			root, dir = os.open('.', os.O_RDONLY), os.open('in', os.O_RDONLY)
			listed = os.listdir(root), os.listdir(dir), mapped[0]
			read = lambda name: os.pread(fds[name], 100, 0).decode()
		`)
		// Some are gone when it is saved, and known to be.
		f.remove("dead")
		f.must(os.Rename(f.at("same"), f.at("moved")))
		f.write("before", "new")
		f.remove("before")
		f.write("before", "new")
		m.expect("os.path.exists('dead'), os.path.exists('same'), open('before').read()", "(False, False, 'new')")
		m.checkpoint() // it goes on, and has them as before
		m.expect("read('dead'), read('same'), mapped[0] == ord('a')", "('as it was: dead', 'as it was: same', True)")
		m = s.again(t, m, f, false, func() {
			f.write("changed", "it is a good deal longer now")
			f.write("shorter", "")
			for _, gone := range []string{"removed", "folder", "link", "in", "mapped"} {
				f.remove(gone)
			}
			f.write("folder/x", "in the folder")
			f.must(os.Symlink("changed", f.at("link")))
			f.write("other", "another file")
			f.must(os.Rename(f.at("other"), f.at("replaced")))
		})
		m.expect("read('changed'), read('shorter'), read('replaced')", "('it is a good deal longer now', '', 'another file')")
		m.expect("works(*[lambda name=name: read(name) for name in ('removed', 'folder', 'link', 'dead', 'before', 'mapped', 'in/deep', 'same')])", "[]")
		m.expect("works(lambda: os.fstat(fds['folder']), lambda: os.listdir(dir), lambda: os.stat('deep', dir_fd=dir), lambda: os.open('/proc/self/fd/%d' % fds['folder'], os.O_RDONLY), lambda: os.fchmod(fds['link'], 0))", "[]")
		m.expect("sorted(os.listdir(root)) == sorted(os.listdir('/mnt/shared')), open('link').read(), open('folder/x').read()", "(True, 'it is a good deal longer now', 'in the folder')")
		// It is saved like others, also with what is lost, and can do with it what one does.
		m.checkpoint()
		m = s.again(t, m, f, false, func() { f.write("removed", "there again") })
		m.expect("open('removed').read(), read('changed')", "('there again', 'it is a good deal longer now')")
		m.value("mapped.close()\nfor fd in [*fds.values(), root, dir]: os.close(fd)")
		m.checkpoint()
	}},
	{"WritesGoToTheVeryFile", func(t *testing.T, s Subject) {
		f := newFolder(t)
		for _, name := range []string{"same", "touched", "replaced", "removed"} {
			f.write(name, name+": ")
		}
		m := s.shared(t, f, true)
		m.value(works)
		m.value(`
			import os
			os.chdir('/mnt/shared')
			fds = {name: os.open(name, os.O_RDWR | os.O_APPEND) for name in ('same', 'touched', 'replaced', 'removed')}
			os.mkfifo('pipe'); pipe = os.open('pipe', os.O_RDWR); os.remove('pipe')
			for fd in fds.values(): os.write(fd, b'one')
		`)
		m = s.again(t, m, f, true, func() {
			f.write("touched", "mine")
			f.write("other", "mine, too")
			f.must(os.Rename(f.at("other"), f.at("replaced")))
			f.remove("removed")
		})
		m.expect("os.write(fds['same'], b' two'), works(*[lambda name=name: os.write(fds[name], b'x') for name in ('touched', 'replaced', 'removed')])", "(4, [])")
		if same, touched, replaced := f.read("same"), f.read("touched"), f.read("replaced"); same != "same: one two" || touched != "mine" || replaced != "mine, too" {
			t.Errorf("%q, %q, %q", same, touched, replaced)
		}
		if _, err := os.Lstat(f.at("removed")); err == nil {
			t.Error("a file that was removed is there again")
		}
	}},
	{"Gone", func(t *testing.T, s Subject) {
		f := newFolder(t)
		f.write("a.txt", "one")
		m := s.shared(t, f, true)
		m.value(works + "\n\timport os\n\tos.chdir('/mnt/shared')\n\tfd = os.open('a.txt', os.O_RDWR)\n\tx = 41")
		info := m.stop()
		away := f.path + "-away"
		f.must(os.Rename(f.path, away))
		spec := machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks(), Shared: &machine.SharedFolder{Path: f.path, Writable: true}}
		empty := func(what string) {
			t.Helper()
			m := s.start(t, spec)
			if why := m.box.Ready().Unshared; why != machine.UnsharedGone {
				t.Errorf("%s: %q", what, why)
			}
			m.expect("x + 1, os.listdir('/mnt/shared'), works(lambda: os.read(fd, 1), lambda: os.write(fd, b'x'), lambda: open('/mnt/shared/a.txt', 'w'))", "(42, [], [])")
			m.end()
		}
		empty("the folder is gone")
		f.must(os.Symlink(away, f.path))
		empty("a link to a folder")
		f.remove("")
		f.must(os.WriteFile(f.path, nil, 0o600))
		empty("a file")
		f.remove("")
		f.must(os.Rename(away, f.path))
		back := s.sharedFrom(t, spec, f, true)
		back.expect("x + 1, os.read(fd, 9)", "(42, b'one')")
		back.end()
		spec.Shared = nil
		m = s.start(t, spec)
		m.expect("x + 1, os.listdir('/mnt/shared'), works(lambda: os.read(fd, 1))", "(42, [], [])")
	}},
	// Whatever happens to files while code uses them and while they are saved, the machine lives.
	{"Restless", func(t *testing.T, s Subject) {
		f := newFolder(t)
		m := s.shared(t, f, true)
		seq := m.execute(`
			import mmap, os, random
			os.chdir('/mnt/shared')
			held, rounds = [], 0
			def use(name):
				match random.randrange(9):
					case 0: held.append(os.open(name, os.O_RDONLY))
					case 1: held.append(os.open(name, os.O_RDWR | os.O_CREAT))
					case 2: held.append(mmap.mmap(os.open(name, os.O_RDONLY), 0, access=mmap.ACCESS_READ))
					case 3: os.listdir(name)
					case 4: os.rename(name, random.choice(names))
					case 5: os.remove(name)
					case 6: os.mkdir(name)
					case 7: held.append(os.open(name, os.O_PATH))
					case 8: os.link(name, random.choice(names))
			def touch(what):
				if isinstance(what, int):
					random.choice([lambda: os.fstat(what), lambda: os.pread(what, 10, 0), lambda: os.pwrite(what, b'x', 0), lambda: os.listdir(what),
						lambda: os.open('/proc/self/fd/%d' % what, random.choice([os.O_RDONLY, os.O_RDWR])), lambda: os.fchmod(what, 0o777), lambda: os.ftruncate(what, 3)])()
			names = [a + b for a in ('', 'd0/', 'd1/') for b in ('d0', 'd1', 'x', 'y')]
			while not os.path.lexists('stop'):
				for step in (lambda: use(random.choice(names)), lambda: touch(random.choice(held))):
					try:
						step()
					except (OSError, ValueError, IndexError):
						pass
				if len(held) > 200:
					for what in held:
						what.close() if isinstance(what, mmap.mmap) else os.close(what)
					held.clear()
				rounds += 1
				if rounds == 100:
					print('busy', flush=True)
			rounds > 100
		`)
		m.awaitOutput(seq, "busy")
		names := []string{"d0", "d1", "x", "y", "d0/x", "d0/y", "d1/x", "d1/d0"}
		stir := func() {
			for range 2000 {
				at, other := f.at(names[mathrand.IntN(len(names))]), f.at(names[mathrand.IntN(len(names))])
				switch mathrand.IntN(6) { // some of these cannot be done
				case 0:
					_ = os.WriteFile(at, []byte("some text"), 0o666)
				case 1:
					_ = os.RemoveAll(at)
				case 2:
					_ = os.Mkdir(at, 0o777)
				case 3:
					_ = os.Rename(at, other)
				case 4:
					_ = os.Symlink(other, at)
				case 5:
					_ = os.Link(at, other)
				}
			}
		}
		for range 4 {
			stir()
			m.checkpoint()
		}
		info := m.stop()
		stir()
		m = s.sharedFrom(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}, f, true)
		stir()
		m.checkpoint()
		f.remove("stop")
		f.must(os.WriteFile(f.at("stop"), nil, 0o666))
		if r := m.result(seq); !r.OK || *r.Value != "True" {
			t.Errorf("%+v", r)
		}
	}},
	{"NotInCheckpoints", func(t *testing.T, s Subject) {
		f := newFolder(t)
		marker, control := rand.Text(), rand.Text()
		for _, name := range []string{"open", "dead", "read"} {
			f.write(name, strings.Repeat(marker+"\n", 1000))
		}
		m := s.shared(t, f, true)
		// What code reads is its own: only that the files are in use is not to put them into a
		// checkpoint.
		m.value(`
			import mmap, os
			fds = [os.open('/mnt/shared/' + name, os.O_RDWR) for name in ('open', 'dead', 'read')]
			maps = [mmap.mmap(fd, 0) for fd in fds]
			seen = [m[0] for m in maps], [os.pread(fd, 1, 5000) for fd in fds]
			os.remove('/mnt/shared/dead')
		`)
		m.value(fmt.Sprintf("own = bytes(b + 1 for b in %v)", before([]byte(control))))
		info := m.stop()
		whole := s.content(t, m.id, info.ID)
		if !bytes.Contains(whole, []byte(control)) {
			t.Error("what the machine has of its own is not found in its checkpoint")
		}
		if bytes.Contains(whole, []byte(marker)) {
			t.Error("content of the shared folder is in the checkpoint")
		}
		if bytes.Contains(whole, []byte(f.path)) {
			t.Error("the shared folder's path is in the checkpoint")
		}
		to := s.newID(t)
		copied, err := s.Checkpoints.Copy(m.ctx(), m.id, info.ID, to)
		f.must(err)
		fork := s.start(t, machine.StartSpec{ID: to, Checkpoint: copied.ID, Clone: true, Acked: m.acks()})
		fork.value(works)
		fork.expect("os.listdir('/mnt/shared'), works(lambda: os.read(fds[0], 1))", "([], [])")
	}},
}

// before is a Python list of bytes that are each one less, so that what they stand for is nowhere
// but where code makes it.
func before(b []byte) string {
	var list []string
	for _, c := range b {
		list = append(list, fmt.Sprint(c-1))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// content is all files of a checkpoint, one after another.
func (s Subject) content(t *testing.T, id machine.ID, checkpoint string) []byte {
	t.Helper()
	state, err := s.Checkpoints.Export(t.Context(), id, checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	var whole bytes.Buffer
	for _, file := range state.State.Files {
		r, err := state.Open(file.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&whole, r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return whole.Bytes()
}
