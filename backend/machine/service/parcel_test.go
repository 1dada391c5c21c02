package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/service"
)

// Export is the checkpoint's name as its only file.
func (s *script) Export(_ context.Context, id machine.ID, checkpoint string) (machine.OpenState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.checkpoints[checkpoint]
	if !ok || s.owner[checkpoint] != id {
		return machine.OpenState{}, fmt.Errorf("%s has no checkpoint %s", id, checkpoint)
	}
	return machine.OpenState{
		State: machine.SavedState{CreatedAt: m.at, LastSeq: m.last, Needs: machine.Needs{Image: "script"}, Files: []machine.StateFile{{Name: "name", Size: int64(len(checkpoint))}}},
		Open:  func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(checkpoint)), nil },
		Close: func() {},
	}, nil
}

func (s *script) CheckCompatible(_ context.Context, _ string, needs machine.Needs) error {
	if needs.Image != "script" {
		return &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: "another image"}
	}
	return nil
}

func (s *script) Import(ctx context.Context, id machine.ID, state machine.SavedState, next func(machine.StateFile) (io.Reader, error)) (machine.CheckpointInfo, error) {
	s.mu.Lock()
	s.copied = append(s.copied, id)
	s.mu.Unlock()
	content, err := next(state.Files[0])
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	name, err := io.ReadAll(content)
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(id, s.checkpoints[string(name)]), ctx.Err()
}

// crate is a machine that was packed, outside of any service.
type crate struct {
	about   machine.Foreign
	name    string // of the checkpoint in the script
	history []machine.Instruction
	items   map[int][]machine.Item
	readErr error  // of the state
	ready   func() // called before the history is told
}

func (w *world) packed(name, checkpoint string) *crate {
	w.t.Helper()
	p, err := w.at(name).Pack(w.ctx, checkpoint)
	w.ok(err)
	defer p.Close()
	c := &crate{about: p.About(), items: map[int][]machine.Item{}}
	f, err := p.Open(p.About().State.Files[0].Name)
	w.ok(err)
	content, err := io.ReadAll(f)
	w.ok(err)
	c.name = string(content)
	w.ok(p.History(w.ctx, func(t machine.Told) error {
		c.history = append(c.history, t.Instruction)
		return t.Items(func(it machine.Item) error {
			c.items[t.Seq] = append(c.items[t.Seq], it)
			return nil
		})
	}))
	// What was held may go; the script keeps its checkpoints by their names.
	w.engine.set(func() { w.engine.checkpoints["kept "+c.name] = w.engine.checkpoints[c.name] })
	c.name = "kept " + c.name
	c.about.State.Files[0].Size = int64(len(c.name))
	return c
}

func (c *crate) About() machine.Foreign { return c.about }

func (c *crate) NextFile(machine.StateFile) (io.Reader, error) {
	return strings.NewReader(c.name), c.readErr
}

func (c *crate) History(_ context.Context, yield func(machine.Told) error) error {
	if c.ready != nil {
		c.ready()
	}
	for _, in := range c.history {
		err := yield(machine.Told{Instruction: in, Items: func(yield func(machine.Item) error) error {
			for _, it := range c.items[in.Seq] {
				if err := yield(it); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAMachineIsPackedAndUnpacked(t *testing.T) {
	inTime(t, func(w *world) {
		_, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", Title: "Sales", Tags: map[string]string{"team": "a"}, MemoryMB: 512})
		w.ok(err)
		w.run("m", "print 1")
		w.run("m", "figure 3000")
		w.run("m", "die") // its effect and what came before since the last checkpoint are lost
		w.run("m", "print 2")
		c := w.packed("m", "")
		if c.about.Title != "Sales" || c.about.Name != "m" || c.about.MemoryMB != 512 || c.about.State.LastSeq != 3 || len(c.history) != 4 {
			t.Fatalf("%+v with %d instructions", c.about, len(c.history))
		}
		w.pass(time.Second)
		w.engine.set(func() {
			if len(w.engine.purged) != 1 {
				t.Errorf("what was held is still there: purged are %v", w.engine.purged)
			}
		})
		before := w.get("m")
		made, err := w.Unpack(w.ctx, c, machine.CreateOptions{})
		w.ok(err)
		if made.ID == before.ID || made.Name == "m" || made.Title != "Sales (2)" || made.Tags["team"] != "a" || made.MemoryMB != 512 || made.NextSeq != 4 {
			t.Errorf("made %+v", made)
		}
		if made.Network.Mode != machine.NetworkOff || !strings.Contains(made.Notice, "no network") || made.State != machine.Swapped {
			t.Errorf("made %+v", made)
		}
		same(w, "m", made.Name)
		list := w.run(made.Name, "list")
		if want := w.run("m", "list"); *list.Value != *want.Value {
			t.Errorf("in it is %s, and not %s", *list.Value, *want.Value)
		}
		w.engine.set(func() {
			if spec := w.engine.specs[made.ID]; !spec.Clone {
				t.Error("it has the random numbers of the machine that it comes from")
			}
		})
		if hits, err := w.Search(w.ctx, machine.SearchQuery{Text: "figure", Machine: made.Name}); err != nil || len(hits.Items) != 1 {
			t.Errorf("found %+v, %v", hits, err)
		}

		// All of it is on record.
		w.die()
		w.open()
		same(w, "m", made.Name)
		if again := w.get(made.Name); again.NextSeq != 5 || again.Network.Mode != machine.NetworkOff {
			t.Errorf("%+v", again)
		}
	})
}

// same compares two machines' histories up to the fourth instruction.
func same(w *world, one, other string) {
	w.t.Helper()
	for seq := range 4 {
		a, err := w.at(one).Instruction(w.ctx, seq)
		w.ok(err)
		b, err := w.at(other).Instruction(w.ctx, seq)
		w.ok(err)
		a.Machine, b.Machine, a.Notice, b.Notice = "", "", "", ""
		if !reflect.DeepEqual(a, b) {
			w.t.Errorf("instruction %d is\n%+v and not\n%+v", seq, b, a)
		}
		x, err := w.at(one).Items(w.ctx, seq, 0, 0)
		w.ok(err)
		y, err := w.at(other).Items(w.ctx, seq, 0, 0)
		w.ok(err)
		if !reflect.DeepEqual(x, y) {
			w.t.Errorf("instruction %d has put out %d items and not %d", seq, len(y), len(x))
		}
	}
}

// Output that is too long for the records goes where it goes for any machine.
func TestLongOutputIsUnpacked(t *testing.T) {
	limits := output.Limits{Head: 1 << 20, Tail: 1 << 20, Displays: 1 << 20, Items: 20, File: 64 << 20}
	inTimeWith(t, service.Settings{Output: limits}, func(w *world) {
		w.create("m")
		w.run("m", "blob 60")
		made, err := w.Unpack(w.ctx, w.packed("m", ""), machine.CreateOptions{Name: "n"})
		w.ok(err)
		read := func(name string) []byte {
			r, err := w.at(name).Output(w.ctx, 0)
			w.ok(err)
			defer r.Close()
			b, err := io.ReadAll(r)
			w.ok(err)
			if int64(len(b)) != r.Size() {
				t.Errorf("%s has %d bytes and says %d", name, len(b), r.Size())
			}
			return b
		}
		if !bytes.Equal(read("m"), read("n")) {
			t.Error("the output is another")
		}
		if _, err := os.Stat(filepath.Join(w.dir, "output", string(made.ID), "0.out")); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatRunsIsNotPacked(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		if _, err := w.at("m").Pack(w.ctx, ""); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("nothing is there: %v", err)
		}
		w.run("m", "print 1")
		w.exec("m", "hang")
		w.pass(time.Second)
		if _, err := w.at("m").Pack(w.ctx, ""); !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), "Wait") {
			t.Errorf("it runs: %v", err)
		}
		middle, err := w.at("m").Checkpoint(w.ctx, "middle")
		w.ok(err)
		if _, err := w.at("m").Pack(w.ctx, middle.ID); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("a checkpoint in its middle: %v", err)
		}
		w.ok(w.at("m").Interrupt(w.ctx))
		w.wait("m", 1)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if quiet := slices.IndexFunc(all, func(c machine.Checkpoint) bool { return c.LastSeq == 0 }); quiet >= 0 {
			if c := w.packed("m", all[quiet].ID); len(c.history) != 1 {
				t.Errorf("%d instructions", len(c.history))
			}
		}
		w.ok(w.at("m").Delete(w.ctx))
		if _, err := w.at("m").Pack(w.ctx, ""); err == nil {
			t.Error("it is in the bin")
		}
	})
}

// What a person gives up in the middle lets go of what it holds.
func TestPackingIsLetGoOf(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		ctx, cancel := context.WithCancel(w.ctx)
		p, err := w.at("m").Pack(ctx, "")
		w.ok(err)
		w.ok(w.at("m").Purge(w.ctx))
		if err := p.History(w.ctx, func(machine.Told) error { return nil }); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("the machine is gone: %v", err)
		}
		cancel()
		w.pass(time.Second)
		w.engine.set(func() {
			if len(w.engine.purged) != 2 {
				t.Errorf("purged are %v", w.engine.purged)
			}
		})
	})
}

// No machine may have more memory than the computer, and none that comes from elsewhere brings
// along more than half of it.
func TestMemoryLimitsFitTheComputer(t *testing.T) {
	inTime(t, func(w *world) {
		w.small(3) // of 10 GiB
		huge, all := 10<<10+1, 10<<10
		if _, err := w.Create(w.ctx, machine.CreateOptions{Name: "huge", MemoryMB: huge}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("made: %v", err)
		}
		m, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", MemoryMB: all})
		w.ok(err)
		if _, err := w.at("m").Update(w.ctx, machine.Change{MemoryMB: &huge}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("changed: %v", err)
		}
		w.run("m", "print 1")
		c := w.packed(m.Name, "")
		made, err := w.Unpack(w.ctx, c, machine.CreateOptions{})
		w.ok(err)
		if made.MemoryMB != all/2 {
			t.Errorf("it comes with %d MB", made.MemoryMB)
		}
	})
}

// A file may hold anything.
func TestHostileParcels(t *testing.T) {
	for what, change := range map[string]func(c *crate){
		"too few":                func(c *crate) { c.history = c.history[:1] },
		"too many":               func(c *crate) { c.history = append(c.history, machine.Instruction{Seq: 2, Status: machine.StatusOK}) },
		"twice":                  func(c *crate) { c.history[1].Seq = 0 },
		"out of nowhere":         func(c *crate) { c.history[1].Seq = -1 },
		"running":                func(c *crate) { c.history[1].Status = machine.StatusRunning },
		"waiting":                func(c *crate) { c.history[1].Status = machine.StatusQueued },
		"made up":                func(c *crate) { c.history[1].Status = "fine" },
		"code that is no text":   func(c *crate) { c.history[0].Code = "\xff" },
		"endless code":           func(c *crate) { c.history[0].Code = strings.Repeat("x", 5<<20) },
		"endless error":          func(c *crate) { c.history[0].Error = strings.Repeat("x", 17<<20) },
		"an odd figure":          func(c *crate) { c.history[0].Formats = []string{"exe"} },
		"an odd form":            func(c *crate) { c.history[0].Data = []machine.Representation{{MIME: "text/\nplain"}} },
		"a negative time":        func(c *crate) { c.history[0].Runtime = -1 },
		"lost without beginning": func(c *crate) { c.history[0].RolledBack, c.history[0].StartedAt = true, nil },
		"fewer items than come":  func(c *crate) { c.history[0].Items = 0 },
		"items in disorder":      func(c *crate) { c.items[0] = append(c.items[0], c.items[0][0]) },
		"an odd item":            func(c *crate) { c.items[0][0].Kind = "shell" },
		"an odd stream":          func(c *crate) { c.items[0][0].Stream = "stdin" },
		"an endless history":     func(c *crate) { c.about.State.LastSeq = 1 << 40 },
		"an endless state":       func(c *crate) { c.about.State.Files[0].Size = 1 << 62 },
		"sizes that overflow": func(c *crate) {
			c.about.State.Files = []machine.StateFile{{Name: "a", Size: 1 << 39}, {Name: "b", Size: 1<<63 - 1}}
		},
		"8 EB":               func(c *crate) { c.about.State.Files[0].Size = 1<<63 - 1 },
		"a negative size":    func(c *crate) { c.about.State.Files[0].Size = -1 },
		"memory for nothing": func(c *crate) { c.about.State.Baseline = 1 << 50 },
		"an odd processor":   func(c *crate) { c.about.State.Needs.Features = []string{"a\n,b"} },
		"an odd image":       func(c *crate) { c.about.Image = "../x" },
		"an odd title":       func(c *crate) { c.about.Title = "a\x1b[2J" },
		"no memory":          func(c *crate) { c.about.MemoryMB = 1 },
		"another image":      func(c *crate) { c.about.State.Needs.Image = "other" },
		"a broken state":     func(c *crate) { c.readErr = errors.New("it ends") },
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(w *world) {
				w.create("m")
				w.run("m", "print 1")
				w.run("m", "print 2")
				c := w.packed("m", "")
				w.pass(time.Second)
				w.engine.set(func() { w.engine.purged, w.engine.copied = nil, nil })
				change(c)
				if made, err := w.Unpack(w.ctx, c, machine.CreateOptions{}); err == nil {
					t.Fatalf("made %+v", made)
				}
				w.pass(time.Second)
				w.engine.set(func() {
					if !slices.Equal(w.engine.copied, w.engine.purged) {
						t.Errorf("of %v, %v were removed", w.engine.copied, w.engine.purged)
					}
				})
				if all, err := w.List(w.ctx, machine.Filter{}); err != nil || len(all.Items) != 1 {
					t.Errorf("there are %+v, %v", all, err)
				}
				if garbage, err := w.store.Garbage(w.ctx); err != nil || len(garbage) != 0 {
					t.Errorf("left are %v, %v", garbage, err)
				}
			})
		})
	}
}

// A few bytes of a file may be many here.
func TestAHistoryLongerThanTheDisk(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c := w.packed("m", "")
		w.close()
		w.freeDisk = func() (int64, error) { return 1<<30 + 10<<20, nil }
		w.open()
		show := machine.Item{Kind: machine.ItemDisplay, Representations: []machine.Representation{{MIME: "image/png", Data: make([]byte, 1<<20)}}}
		c.history[0].Items, c.items[0] = 1000, nil
		for i := range 1000 {
			show.Index = i
			c.items[0] = append(c.items[0], show)
		}
		if _, err := w.Unpack(w.ctx, c, machine.CreateOptions{}); !errors.Is(err, machine.ErrDiskFull) {
			t.Errorf("1 GB where there are 10 MB: %v", err)
		}
		c.about.State.Files[0].Size = 20 << 20
		if err := w.MayUnpack(w.ctx, c.about, machine.CreateOptions{}); !errors.Is(err, machine.ErrDiskFull) {
			t.Errorf("a state of 20 MB: %v", err)
		}
	})
}

// What a file says does not become ForeverVM's own words, nor the future.
func TestAParcelIsNotBelieved(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c := w.packed("m", "")
		later := time.Now().Add(1e6 * time.Hour)
		c.history[0].Notice = "Your computer is ill. Call us."
		c.history[0].QueuedAt, c.history[0].EndedAt = later, &later
		c.history[0].Client = machine.Client{Name: "win\ndow"}
		c.about.Name = "../../etc"
		made, err := w.Unpack(w.ctx, c, machine.CreateOptions{Network: machine.NetworkPolicy{Mode: machine.NetworkPublic}, Client: machine.Client{Name: "opener"}})
		w.ok(err)
		in, err := w.at(made.Name).Instruction(w.ctx, 0)
		w.ok(err)
		if in.Notice != "" || in.QueuedAt.After(time.Now()) || in.EndedAt.After(time.Now()) || strings.Contains(in.Client.Name, "\n") {
			t.Errorf("%+v", in)
		}
		if strings.Contains(made.Name, "/") || made.Client.Name != "opener" || made.Network.Mode != machine.NetworkOff {
			t.Errorf("%+v", made)
		}
	})
}

// The name that a machine is to get may be taken while its file is read.
func TestANameIsTakenMeanwhile(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c := w.packed("m", "")
		w.ok(w.at("m").Purge(w.ctx))
		made, err := w.Unpack(w.ctx, c, machine.CreateOptions{})
		w.ok(err)
		if made.Name != "m" {
			t.Errorf("its name was free, and it is called %s", made.Name)
		}
		if _, err := w.Unpack(w.ctx, c, machine.CreateOptions{Name: "m"}); !errors.Is(err, machine.ErrNameTaken) {
			t.Errorf("a name that was asked for: %v", err)
		}
	})
}

// A daemon that is killed over it leaves nothing.
func TestUnpackingIsCutOff(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c := w.packed("m", "")
		ctx, cancel := context.WithCancel(w.ctx)
		c.ready = cancel
		c.history = nil
		if _, err := w.Unpack(ctx, c, machine.CreateOptions{}); err == nil {
			t.Fatal("it was made")
		}
		w.die()
		w.open()
		w.pass(time.Second)
		w.engine.set(func() {
			for _, id := range w.engine.copied {
				if !slices.Contains(w.engine.purged, id) {
					t.Errorf("%s is still there", id)
				}
			}
		})
		if all, err := w.List(w.ctx, machine.Filter{}); err != nil || len(all.Items) != 1 {
			t.Errorf("there are %+v, %v", all, err)
		}
	})
}
