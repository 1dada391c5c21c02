//go:build linux && system

package docker

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/moby/profiles/seccomp"

	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/store"
)

// A machine that one engine saved is brought into memory by the other, to and fro.
func TestOtherEngine(t *testing.T) {
	data := t.TempDir()
	d := newEngine(t, data)
	n := native.New(native.Config{Supervisor: d.cfg.Supervisor, Store: d.store, Log: d.cfg.Log})
	t.Cleanup(func() { _ = n.Close() })
	id := enginetest.NewID(t, d)
	var checkpoint, value string
	for i, e := range []machine.Engine{n, d, n, d} {
		m := enginetest.Start(t, e, id, checkpoint)
		if i == 0 {
			m.Value("import pandas; x = []; f = open('/root/f', 'w')")
		}
		value += e.Name()
		m.Expect("x.append('"+e.Name()+"'); f.write(x[-1]); f.flush(); open('/root/f').read()", "'"+value+"'")
		info, err := m.Stop(enginetest.Bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if info.ID <= checkpoint {
			t.Errorf("%s after %s", info.ID, checkpoint)
		}
		checkpoint = info.ID
	}
}

// After an update a machine comes into memory by a copy of the runsc that saved it; its image and
// the installed one are both in Docker then.
func TestAMachineOutlivesItsSandbox(t *testing.T) {
	data := t.TempDir()
	d := newEngine(t, data)
	program, err := os.ReadFile(d.store.Config().Runsc)
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(older, append(program, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	before := d.store.Config()
	before.Runsc = older
	earlier := local.NewStore(before)
	n := native.New(native.Config{Supervisor: d.cfg.Supervisor, Store: earlier, Log: d.cfg.Log})
	t.Cleanup(func() { _ = n.Close() })
	id := enginetest.NewID(t, d)
	m := enginetest.Start(t, n, id, "")
	m.Expect("x = 42; x", "42")
	saved, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	// The image stays the installed one. As if it were kept already: to compress a gigabyte takes a
	// processor for ten seconds.
	image, err := d.store.Digest(filepath.Join(before.Images, "base.erofs"))
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(data, "parts", image)
	if err := errors.Join(os.MkdirAll(kept, 0o700), os.WriteFile(filepath.Join(kept, "base.erofs.zst"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	held := earlier.HoldParts()
	defer held.Close()
	if err := held.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Close(), os.Remove(older)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m = enginetest.Start(t, d, id, saved.ID)
		m.Expect("x", "42")
		if saved, err = m.Stop(enginetest.Bounded(t)); err != nil {
			t.Fatal(err)
		}
		other := enginetest.Start(t, d, enginetest.NewID(t, d), "")
		other.Expect("1", "1")
		if _, err := other.Stop(enginetest.Bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// A machine that is at home on one engine goes on as a fork on the other, with all that it has.
func TestForkToOtherEngine(t *testing.T) {
	d := newEngine(t, t.TempDir())
	n := native.New(native.Config{Supervisor: d.cfg.Supervisor, Store: d.store, Log: d.cfg.Log})
	t.Cleanup(func() { _ = n.Close() })
	ctx := enginetest.Bounded(t)
	records, err := store.Open(ctx, filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	s, err := service.New(ctx, service.Config{
		Engines: map[string]machine.Engine{n.Name(): n, d.Name(): d}, DefaultEngine: n.Name(), Checkpoints: d.store, Store: records, OutputDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	at := func(name string) machine.Handle {
		t.Helper()
		m, err := s.Find(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	value := func(name, code string) string {
		t.Helper()
		in, _, err := at(name).Execute(ctx, machine.ExecuteOptions{Code: code})
		if err == nil {
			in, err = at(name).Wait(ctx, in.Seq)
		}
		if err != nil || in.Value == nil {
			t.Fatalf("%s: %+v, %v", code, in, err)
		}
		return *in.Value
	}
	if _, err := s.Create(ctx, machine.CreateOptions{Name: "here"}); err != nil {
		t.Fatal(err)
	}
	value("here", "x = [1]; x")
	if there, err := at("here").Fork(ctx, "", machine.CreateOptions{Name: "there", Engine: Name}); err != nil || there.Engine != Name {
		t.Fatalf("%+v, %v", there, err)
	}
	if got := value("there", "x.append(2); x"); got != "[1, 2]" {
		t.Errorf("in Docker it has %s", got)
	}
	back, err := at("there").Fork(ctx, "", machine.CreateOptions{Name: "back", Engine: native.Name})
	if err != nil || back.Engine != native.Name {
		t.Fatalf("%+v, %v", back, err)
	}
	if got := value("back", "x.append(3); x"); got != "[1, 2, 3]" {
		t.Errorf("back from Docker it has %s", got)
	}
	for _, name := range []string{"here", "there", "back"} {
		if err := at(name).Delete(ctx); err != nil {
			t.Error(err)
		}
	}
}

// What a daemon that died left is taken over by the next: a machine that its container saved
// meanwhile, and rubbish. Another home's is left alone.
func TestReap(t *testing.T) {
	data, other := t.TempDir(), t.TempDir()
	first, stranger := newEngine(t, data), newEngine(t, other)
	strange := enginetest.Start(t, stranger, enginetest.NewID(t, stranger), "")
	strange.Value("x = 'theirs'")

	purged := enginetest.Start(t, first, enginetest.NewID(t, first), "")
	purged.Value("1")
	m := enginetest.Start(t, first, enginetest.NewID(t, first), "") // in the container that was made ahead, whose name alone says so
	if m.Sandbox.(*Sandbox).label(t, machineLabel) != string(spareID) {
		t.Error("the container was not made ahead: this tests less than it should")
	}
	m.Value("x = 'recorded'")
	known, err := m.Checkpoint(enginetest.Bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Value("x = 'newer'")
	// The daemon dies: nobody sees the containers off, and nobody makes one ahead.
	noSpares(first)
	for _, r := range []*enginetest.InMemory{m, purged} {
		box := r.Sandbox.(*Sandbox)
		box.d = &daemon{api: dead(t)}
		box.Disconnect()
	}
	for _, r := range []*enginetest.InMemory{m, purged} {
		r.AwaitEnd()
	}
	if err := os.RemoveAll(first.store.Machine(purged.ID)); err != nil {
		t.Fatal(err)
	}
	api := dockerd.Client(t)
	for _, e := range []*Engine{first, stranger} {
		home, err := e.homeID()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.VolumeCreate(t.Context(), volume.CreateOptions{Name: "forevervm-test-" + strings.ToLower(home), Labels: map[string]string{homeLabel: home}}); err != nil {
			t.Fatal(err)
		}
	}

	next := newEngine(t, data)
	if err := next.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, next); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	info, err := next.Reclaim(enginetest.Bounded(t), m.ID, m.Life, []string{known.ID})
	if err != nil || info == nil || info.ID <= known.ID {
		t.Fatalf("reclaimed %+v, %v", info, err)
	}
	enginetest.Start(t, next, m.ID, info.ID).Expect("x", "'newer'")
	if got := len(containers(t, stranger, "")); got != 1 {
		t.Errorf("the other home has %d containers", got)
	}
	strange.Expect("x", "'theirs'")
	home, _ := stranger.homeID()
	if err := api.VolumeRemove(t.Context(), "forevervm-test-"+strings.ToLower(home), false); err != nil {
		t.Errorf("the other home's volume: %v", err)
	}
}

// Somebody kills the container, or removes it: the machine ends with a word, and goes on from its
// last checkpoint.
func TestContainerIsTakenAway(t *testing.T) {
	e := newEngine(t, t.TempDir())
	api := dockerd.Client(t)
	for name, away := range map[string]func(id string) error{
		"killed": func(id string) error { return api.ContainerKill(t.Context(), id, "KILL") },
		"removed": func(id string) error {
			return api.ContainerRemove(t.Context(), id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		},
		"stopped": func(id string) error { return api.ContainerStop(t.Context(), id, container.StopOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
			m.Value("x = 'saved'")
			info, err := m.Checkpoint(enginetest.Bounded(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Value("x = 'newer'")
			if err := away(m.Sandbox.(*Sandbox).container); err != nil {
				t.Fatal(err)
			}
			cause, checkpoint, want := m.AwaitEnd(), info.ID, "'saved'"
			if name == "stopped" { // its supervisor was asked to end, and saved it
				if cause.Kind != machine.EndedStopped || cause.Checkpoint == nil {
					t.Fatalf("the cause is %+v", cause)
				}
				checkpoint, want = cause.Checkpoint.ID, "'newer'"
			} else if cause.Kind != machine.EndedBroken || cause.Detail == "" {
				t.Errorf("the cause is %+v", cause)
			}
			enginetest.Start(t, e, m.ID, checkpoint).Expect("x", want)
		})
	}
}

// Docker ends under a machine, or crashes, and comes back.
func TestDockerEnds(t *testing.T) {
	if !dockerd.Own() {
		t.Fatal("this test stops Docker: it needs one of its own, which only root can start")
	}
	for name, end := range map[string]func(*dockertest.Daemon) error{
		"Stopped": (*dockertest.Daemon).Terminate, "Crashed": (*dockertest.Daemon).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, t.TempDir())
			m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
			m.Value("x = 'saved'")
			known, err := m.Checkpoint(enginetest.Bounded(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Value("x = 'newer'")
			if err := end(dockerd); err != nil {
				t.Fatal(err)
			}
			if cause := m.AwaitEnd(); cause.Detail == "" {
				t.Errorf("the cause is %+v", cause)
			}
			// Anyone who wants the machine meanwhile is told what to do.
			_, err = enginetest.TryStart(t, e, m.ID, known.ID)
			if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "Start it") {
				t.Errorf("without Docker: %v", err)
			}
			if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, "Docker at "+dockerd.Host) {
				t.Errorf("the problems are %+v", problems)
			}
			if err := dockerd.Run(); err != nil {
				t.Fatal(err)
			}
			if problems := e.Check(t.Context()); len(problems) != 0 {
				t.Errorf("the problems are %+v", problems)
			}
			info, err := e.Reclaim(enginetest.Bounded(t), m.ID, m.Life, []string{known.ID})
			if err != nil {
				t.Fatal(err)
			}
			checkpoint, want := known.ID, "'saved'"
			if info != nil {
				checkpoint, want = info.ID, "'newer'"
			} else if name == "Stopped" {
				t.Error("Docker was stopped gently, and the machine was not saved")
			}
			enginetest.Start(t, e, m.ID, checkpoint).Expect("x", want)
		})
	}
}

// Docker hangs: anyone who wants something of it is told so after a while, and everything goes on
// when it answers again.
func TestDockerHangs(t *testing.T) {
	if !dockerd.Own() {
		t.Fatal("this test stops Docker: it needs one of its own, which only root can start")
	}
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 'kept'")
	info, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := dockerd.Freeze(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = enginetest.TryStart(t, e, m.ID, info.ID)
	if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("a start: %v", err)
	}
	if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, "does not answer") {
		t.Errorf("the problems are %+v", problems)
	}
	if took := time.Since(begun); took > 2*apiPatience {
		t.Errorf("that took %v", took)
	}
	if err := dockerd.Thaw(); err != nil {
		t.Fatal(err)
	}
	enginetest.Start(t, e, m.ID, info.ID).Expect("x", "'kept'")
}

// Everything that is not in use is pruned, the image too: it is loaded again, and nothing is lost.
func TestPruned(t *testing.T) {
	e := newEngine(t, t.TempDir())
	api := dockerd.Client(t)
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 'kept'")
	info, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	noSpares(e)
	if err := e.removeLeft(t.Context(), &daemon{api: api}, spareID); err != nil { // it would keep what it uses
		t.Fatal(err)
	}
	if _, err := api.ContainersPrune(t.Context(), filters.Args{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.VolumesPrune(t.Context(), filters.Args{}); err != nil {
		t.Fatal(err)
	}
	images, err := api.ImageList(t.Context(), image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", repository))})
	if err != nil || len(images) == 0 {
		t.Fatalf("images: %+v, %v", images, err)
	}
	for _, one := range images {
		if _, err := api.ImageRemove(t.Context(), one.ID, image.RemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	var news []machine.EngineNews
	e.Notify(func(n machine.EngineNews) { news = append(news, n) })
	// One of an earlier version goes when the present one is loaded.
	small := filepath.Join(t.TempDir(), "small.erofs")
	if err := os.WriteFile(small, []byte("small"), 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := e.homeID()
	if err != nil {
		t.Fatal(err)
	}
	earlier := repository + ":earlier" + homeSuffix(home)
	strangers := repository + ":earlier" + homeSuffix("STRANGER")
	for _, ref := range []string{earlier, strangers} {
		if err := load(t.Context(), api, local.Parts{Image: small, Runsc: small}, e.cfg.Supervisor, ref, func(r io.Reader, _ int64) io.Reader { return r }); err != nil {
			t.Fatal(err)
		}
	}
	enginetest.Start(t, e, m.ID, info.ID).Expect("x", "'kept'")
	e.Notify(nil)
	if last := len(news) - 2; last < 2 || news[last].Busy == nil || news[last].Busy.Done < 1<<20 || news[last].Busy.Total < 500<<20 || news[last+1].Busy != nil {
		t.Errorf("its loading is told as %+v", news)
	}
	enginetest.Start(t, e, enginetest.NewID(t, e), "").Expect("6*7", "42")
	if _, err := api.ImageInspect(t.Context(), earlier); !cerrdefs.IsNotFound(err) {
		t.Errorf("the image of an earlier version: %v", err)
	}
	if _, err := api.ImageRemove(t.Context(), strangers, image.RemoveOptions{}); err != nil {
		t.Errorf("another home's image: %v", err)
	}
}

// What a container gives out is taken for hostile: a checkpoint of another life, or of other parts,
// is not taken over.
func TestForeignCheckpointIsRefused(t *testing.T) {
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("1")
	box := m.Sandbox.(*Sandbox)
	box.stay.start.Life = "another"
	if _, err := m.Checkpoint(enginetest.Bounded(t), nil); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("a checkpoint of another life: %v", err)
	}
	if list, err := box.stay.folder.List(); err != nil || len(list) > 0 {
		t.Errorf("taken over were %v, %v", list, err)
	}
	box.stay.start.Life = m.Life
}

// Where containers may not make name spaces, as with Docker's default profile, that is what a
// person is told.
func TestNameSpacesAreForbidden(t *testing.T) {
	e := newEngine(t, t.TempDir())
	usual, err := json.Marshal(seccomp.DefaultProfile())
	if err != nil {
		t.Fatal(err)
	}
	defer func(ours string) { seccompProfile = ours }(seccompProfile)
	seccompProfile = string(usual)
	_, err = enginetest.TryStart(t, e, enginetest.NewID(t, e), "")
	if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "does not let its containers build the sandbox") {
		t.Errorf("it is told as %v", err)
	}
	if left := leftovers(t, e); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A checkpoint that lost a file is told as that; a template that did is made again, and nobody is
// told.
func TestDamaged(t *testing.T) {
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("1")
	info, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	templates, err := filepath.Glob(filepath.Join(e.store.Config().Data, "templates", "*", "checkpoints", "*"))
	if err != nil || len(templates) != 1 {
		t.Fatalf("templates: %q, %v", templates, err)
	}
	for _, dir := range []string{local.Checkpoints(e.store.Machine(m.ID)).Path(info.ID), templates[0]} {
		if err := os.Remove(filepath.Join(dir, "pages.img")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := enginetest.TryStart(t, e, m.ID, info.ID); !errors.Is(err, machine.ErrCheckpointUnusable) {
		t.Errorf("a damaged checkpoint: %v", err)
	}
	enginetest.Start(t, newEngineOn(t, e.cfg), enginetest.NewID(t, e), "").Expect("6*7", "42")
}

// The container's volume is full: the machine gets errors for its files, is told that it cannot be
// saved, goes on, and can be once there is room.
func TestVolumeIsFull(t *testing.T) {
	e := newEngine(t, t.TempDir())
	noSpares(e)
	e.driver = map[string]string{"type": "tmpfs", "device": "tmpfs", "o": "size=300m,uid=1000,gid=1000,mode=0700"}
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 'kept'")
	m.Expect("import errno\ntry:\n\twith open('/root/big', 'wb') as f:\n\t\twhile True: f.write(b'x' * (1 << 20))\nexcept OSError as e: caught = errno.errorcode[e.errno]\ncaught", "'ENOSPC'")
	if _, err := m.Checkpoint(enginetest.Bounded(t), nil); !errors.Is(err, machine.ErrDiskFull) || !strings.Contains(err.Error(), "could not be saved") {
		t.Errorf("saving on a full disk: %v", err)
	}
	m.Expect("import os; os.remove('/root/big'); x", "'kept'")
	saving := enginetest.Bounded(t)
	info, err := m.Checkpoint(saving, nil)
	for errors.Is(err, machine.ErrDiskFull) { // gVisor gives the room of a file back a little after the file is gone
		info, err = m.Checkpoint(saving, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Kill()
	m.AwaitEnd()
	e.driver = nil // a file system in memory forgets what is carried in before the container starts
	enginetest.Start(t, e, m.ID, info.ID).Expect("x, __import__('os').path.exists('/root/big')", "('kept', False)")
}

// Docker's disk is full: that is told, to who starts a machine and to who asks what is wrong, until
// there is room again.
func TestDiskFull(t *testing.T) {
	d, err := dockertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !d.Own() {
		t.Fatal("this test fills Docker's disk: it needs one of its own, which only root can start")
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("small", d.Data(), "tmpfs", 0, "size=96m"); err != nil {
		t.Fatal(err)
	}
	if err := d.Run(); err != nil {
		t.Fatal(err)
	}
	e := hostileEngineIn(t, d) // its image is small
	noSpares(e)
	says := func(want string) {
		t.Helper()
		if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, want) || !strings.Contains(problems[0].Do, "docker system df") {
			t.Errorf("the problems are %+v", problems)
		}
	}
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Kill()
	m.AwaitEnd()
	says("MiB are free on Docker's disk")

	big := filepath.Join(d.Data(), "big")
	filler, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 64<<10); err == nil; {
		_, err = filler.Write(block)
	}
	filler.Close()
	if _, err := enginetest.TryStart(t, e, enginetest.NewID(t, e), ""); !errors.Is(err, machine.ErrDiskFull) || !strings.Contains(err.Error(), "Docker's disk is full") {
		t.Errorf("a start: %v", err)
	}
	says("Only 0 MiB are free on Docker's disk")
	there, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there.root = "" // as if it were on another computer
	says("Docker's disk is full")
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	again := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	again.Kill()
	again.AwaitEnd()
	if problems := e.Check(t.Context()); len(problems) != 0 {
		t.Errorf("with room again the problems are %+v", problems)
	}
}

// The image is the same wherever it is made of the same parts, and there is nothing in it but
// these.
func TestImage(t *testing.T) {
	e := newEngine(t, t.TempDir())
	p, err := e.store.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(t.TempDir(), "small.erofs")
	if err := os.WriteFile(small, []byte("small"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Image, p.Runsc = small, small
	one, err := ociimage.Of(p, e.cfg.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ociimage.Of(p, e.cfg.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	a, err := one.Digest()
	b, _ := again.Digest()
	if err != nil || a != b {
		t.Errorf("made twice, it is %v and %v, %v", a, b, err)
	}
	layers, err := one.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || !strings.Contains(string(b), "small") {
		t.Errorf("the first layer has %d bytes, %v", len(b), err)
	}
	other := p
	other.ImageDigest = "another"
	if imageRef(p, "s", "h") == imageRef(other, "s", "h") || imageRef(p, "s", "h") == imageRef(p, "t", "h") {
		t.Error("the image's name does not follow its parts")
	}
}

// label reads a label of the machine's container.
func (b *Sandbox) label(t *testing.T, name string) string {
	t.Helper()
	info, err := dockerd.Client(t).ContainerInspect(t.Context(), b.container)
	if err != nil {
		t.Fatal(err)
	}
	return info.Config.Labels[name]
}

// noSpares has an engine make nothing ahead from now on, and leaves what it has made.
func noSpares(e *Engine) {
	for e.spares.ahead.Failed() {
	}
	e.spares.mu.Lock()
	making := e.spares.making
	e.spares.mu.Unlock()
	if making != nil {
		<-making.done
	}
}

// dead is a client of a Docker that does not answer.
func dead(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost("unix://" + filepath.Join(t.TempDir(), "no.sock")))
	if err != nil {
		t.Fatal(err)
	}
	return api
}
