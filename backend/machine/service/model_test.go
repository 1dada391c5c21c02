//go:build !race

package service_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/machine"
)

// TestWhateverHappensRecordAndEffectAgree does random things to a machine and then compares what
// its memory holds with what the records say: the effects are those of the instructions that ended
// well, or of which is told that they got to their end after they had been broken off, and that are
// not marked as rolled back, no more, no fewer, each once, in order. Every acknowledged instruction
// has its record, and everyone who waits gets an answer.
//
// It takes a second a time with the race detector; `make soak` does it a thousand times.
func TestWhateverHappensRecordAndEffectAgree(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	stories := 30
	if now := checks.String(); now != flag.Lookup("rapid.checks").DefValue {
		var err error
		if stories, err = strconv.Atoi(now); err != nil {
			t.Fatal(err)
		}
	}
	defer func(before string) { _ = checks.Set(before) }(checks.String())
	base := t.TempDir()
	n := 0
	// rapid ends after a day, which on the clock of synctest is 150 stories.
	for left := stories; left > 0 && !t.Failed(); left -= 50 {
		if err := checks.Set(strconv.Itoa(min(left, 50))); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // without a deadline, which would be in real time
				n++
				tellStory(rt, fmt.Sprintf("%s/%d", base, n))
			})
		})
	}
	if n < stories {
		t.Errorf("%d of %d stories", n, stories)
	}
}

// tellStory has random things happen to a machine whose records lie in dir, which it removes.
func tellStory(t *rapid.T, dir string) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w := &world{t: t, ctx: context.Background(), dir: dir, engine: newScript()}
	w.open()
	defer w.engine.endAll()
	m := &model{world: w, id: w.create("m").ID}
	defer func() {
		if !m.down {
			w.die()
		}
	}()
	t.Repeat(m.actions())
	m.settle()
	m.check(t)
}

type model struct {
	*world
	id    machine.ID
	acked []string // code by number
	down  bool
}

func (m *model) actions() map[string]func(*rapid.T) {
	codes := rapid.SampledFrom([]string{"print a", "print b", "print c", "list", "wait", "hang", "stubborn", "handle", "die", "background"})
	return map[string]func(*rapid.T){
		"execute": func(t *rapid.T) {
			code := codes.Draw(t, "code")
			opts := machine.ExecuteOptions{Code: code, Interrupt: rapid.IntRange(0, 9).Draw(t, "interrupt") == 0}
			if rapid.Bool().Draw(t, "limited") {
				opts.Timeout = 3 * time.Second
			}
			if in := m.execWith("m", opts); in.Seq != len(m.acked) {
				t.Fatalf("number %d, want %d", in.Seq, len(m.acked))
			}
			m.acked = append(m.acked, code)
		},
		"time":      func(t *rapid.T) { m.pass(time.Duration(rapid.IntRange(0, 15000).Draw(t, "ms")) * time.Millisecond) },
		"long":      func(*rapid.T) { m.pass(11 * time.Minute) },
		"settle":    func(*rapid.T) { synctest.Wait() },
		"interrupt": func(*rapid.T) { m.ok(m.at("m").Interrupt(m.ctx)) },
		"release": func(*rapid.T) {
			if b := m.engine.box(m.id); b != nil {
				go b.poke("release")
				synctest.Wait()
			}
		},
		"cancel": func(t *rapid.T) {
			if len(m.acked) > 0 {
				_ = m.at("m").Cancel(m.ctx, rapid.IntRange(0, len(m.acked)-1).Draw(t, "seq"))
			}
		},
		"swap": func(*rapid.T) { _ = m.at("m").Swap(m.ctx) },
		"wake": func(*rapid.T) { m.ok(m.at("m").Wake(m.ctx)) },
		"checkpoint": func(*rapid.T) {
			if _, err := m.at("m").Checkpoint(m.ctx, "c"); err != nil {
				m.t.Fatal(err)
			}
		},
		"rewind": func(t *rapid.T) {
			all, err := m.at("m").Checkpoints(m.ctx)
			m.ok(err)
			if len(all) > 0 {
				c := all[rapid.IntRange(0, len(all)-1).Draw(t, "checkpoint")]
				if _, err := m.at("m").Rewind(m.ctx, c.ID, ""); err != nil && !errors.Is(err, machine.ErrNotFound) { // it may just have been replaced
					t.Fatal(err)
				}
			}
		},
		"there and back": func(t *rapid.T) {
			synctest.Wait()
			all, err := m.at("m").Checkpoints(m.ctx)
			m.ok(err)
			before := m.get("m")
			if len(all) == 0 || before.RunningSeq != nil || before.Queued > 0 {
				return
			}
			effects := m.inEffect()
			there, err := m.at("m").Rewind(m.ctx, all[rapid.IntRange(0, len(all)-1).Draw(t, "checkpoint")].ID, "")
			if errors.Is(err, machine.ErrNotFound) || err == nil && there.Undo == before.Undo { // it was there already
				return
			}
			m.ok(err)
			if there.Undo == "" { // it had never been saved
				return
			}
			_, err = m.at("m").Rewind(m.ctx, there.Undo, "")
			m.ok(err)
			if back := m.inEffect(); before.RunningSeq == nil && back != effects {
				t.Fatalf("a rewind that was undone has made of %s %s", effects, back)
			}
		},
		"branch": func(t *rapid.T) {
			branches, err := m.at("m").Branches(m.ctx)
			m.ok(err)
			if len(branches) == 0 {
				return
			}
			b := branches[rapid.IntRange(0, len(branches)-1).Draw(t, "branch")]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				m.ok(m.at("m").DeleteBranch(m.ctx, b.Name))
			case 1:
				if err := m.at("m").RenameBranch(m.ctx, b.Name, "renamed"); err != nil && !errors.Is(err, machine.ErrNameTaken) {
					t.Fatal(err)
				}
			default:
				_, err := m.at("m").Rewind(m.ctx, b.Name, "")
				m.ok(err)
			}
		},
		"": func(t *rapid.T) { // after each of the others
			all, err := m.at("m").Checkpoints(m.ctx)
			m.ok(err)
			branches, err := m.at("m").Branches(m.ctx)
			m.ok(err)
			found, names := map[string]bool{"": true}, map[string]bool{m.get("m").Branch: true}
			for _, c := range all {
				found[c.ID] = true
			}
			for _, b := range branches {
				if !found[b.Checkpoint] || names[b.Name] {
					t.Fatalf("branches %+v of %+v", branches, all)
				}
				names[b.Name] = true
			}
			if undo := m.get("m").Undo; !found[undo] {
				t.Fatalf("the last rewind is undone with %s: %+v", undo, all)
			}
			for _, c := range all {
				if !found[c.Parent] {
					t.Fatalf("%s comes from %s: %+v", c.ID, c.Parent, all)
				}
			}
		},
		"crash": func(*rapid.T) {
			if b := m.engine.box(m.id); b != nil {
				b.crash()
			}
		},
		"memory runs short": func(t *rapid.T) {
			ownLimit := rapid.Bool().Draw(t, "own limit")
			if b := m.engine.box(m.id); b != nil && !b.over() {
				b.starve(ownLimit)
			}
		},
		"daemon dies": func(*rapid.T) {
			m.die()
			m.down = true
			if b := m.engine.box(m.id); b != nil && !b.over() {
				m.engine.orphan(m.id)
			}
			m.open()
			m.down = false
		},
		"both die": func(*rapid.T) {
			m.die()
			m.down = true
			if b := m.engine.box(m.id); b != nil {
				b.crash()
			}
			m.open()
			m.down = false
		},
		"daemon restarts": func(*rapid.T) {
			m.close()
			m.open()
		},
		"bin": func(*rapid.T) {
			if err := m.at("m").Delete(m.ctx); err == nil {
				m.ok(m.at("m").Restore(m.ctx))
			}
		},
	}
}

// inEffect are the numbers of the instructions whose effect the records say is there.
func (m *model) inEffect() string {
	var seqs []int
	for seq := range m.acked {
		if in, err := m.at("m").Instruction(m.ctx, seq); err == nil && tookEffect(in) {
			seqs = append(seqs, seq)
		}
	}
	return fmt.Sprint(seqs)
}

func tookEffect(in machine.Instruction) bool {
	return (in.Status == machine.StatusOK || strings.Contains(in.Notice, "It went on when the machine was next in memory, and got to its end")) && !in.RolledBack
}

// settle stops what runs until nothing does.
func (m *model) settle() {
	for range 100 {
		synctest.Wait()
		got := m.get("m")
		if got.RunningSeq == nil && got.Queued == 0 {
			return
		}
		m.ok(m.at("m").Interrupt(m.ctx))
		m.pass(6 * time.Second)
	}
	m.t.Fatalf("it never comes to rest: %+v", m.get("m"))
}

func (m *model) check(t *rapid.T) {
	held := strings.Fields(value(m.run("m", "list")))
	var want, records []string
	for seq, code := range m.acked {
		in := m.wait("m", seq)
		if in.Code != code || !in.Status.Done() {
			t.Fatalf("the record of %d: %+v", seq, in)
		}
		if in.Status == machine.StatusError && in.Error == "" {
			t.Fatalf("an error without words: %+v", in)
		}
		records = append(records, fmt.Sprintf("%d %q: %s, rolled back: %v, %s", seq, code, in.Status, in.RolledBack, in.Error+" "+in.Notice))
		if tookEffect(in) {
			want = append(want, strconv.Itoa(seq))
		}
		if text, ok := strings.CutPrefix(code, "print "); ok && in.Status == machine.StatusOK {
			items, err := m.at("m").Items(m.ctx, seq, 0, 10)
			m.ok(err)
			items = slices.DeleteFunc(items, func(it machine.Item) bool { return it.Background })
			if len(items) != 1 || string(items[0].Text) != text {
				t.Fatalf("output of %d: %+v", seq, items)
			}
		}
	}
	if !slices.Equal(held, want) {
		all, err := m.at("m").Checkpoints(m.ctx)
		m.ok(err)
		t.Fatalf("the machine holds the effects of %q, its records say %q:\n%s\ncheckpoints %+v", held, want, strings.Join(records, "\n"), all)
	}
}
