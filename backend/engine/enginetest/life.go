package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

var lifeTests = []test{
	{"Ready", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		if r := m.box.Ready(); r.LastSeq != -1 || r.Running != nil || len(r.Queued) != 0 || !strings.HasPrefix(r.Python, "3.") {
			t.Errorf("a new machine is ready with %+v", r)
		}
		m.expect("6*7", "42")
		if got := m.value("None"); got != "" {
			t.Errorf("None has the value %q", got)
		}
		m.expect("import sys; [n for n in ('numpy', 'pandas', 'matplotlib') if n not in sys.modules]", "[]")
	}},
	{"Numbers", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		for range 3 {
			seq := m.execute("for i in range(200): print(i, flush=True)")
			m.result(seq)
			frames := m.frames(seq)
			if frames[0].Type != machine.FrameStarted || time.Since(frames[0].At).Abs() > time.Hour {
				t.Errorf("the first frame is %+v", frames[0])
			}
			for i, f := range frames {
				if f.Index != i {
					t.Fatalf("frame %d has the index %d", i, f.Index)
				}
				if last := i == len(frames)-1; (f.Type == machine.FrameResult) != last {
					t.Fatalf("frame %d of %d is of the type %v", i, len(frames), f.Type)
				}
			}
			var want strings.Builder
			for i := range 200 {
				fmt.Fprintln(&want, i)
			}
			if got := m.stdout(seq); got != want.String() {
				t.Errorf("wrote %q", got)
			}
		}
	}},
	{"OutputOrder", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		_, out := m.run(`
			import ctypes, os, subprocess, sys
			libc = ctypes.CDLL(None)
			for i in range(5):
				print("python", i)
				os.write(1, f"raw {i}\n".encode())
				subprocess.run(["echo", f"child {i}"])
				libc.puts(f"c {i}".encode()); libc.fflush(None)
		`)
		var want strings.Builder
		for i := range 5 {
			fmt.Fprintf(&want, "python %d\nraw %d\nchild %d\nc %d\n", i, i, i, i)
		}
		if out != want.String() {
			t.Errorf("wrote %q", out)
		}
	}},
	{"FirstByte", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("import time")
		seq := m.execute("print('now', end='', flush=True); time.sleep(3); print(' later')")
		m.awaitOutput(seq, "now")
		if strings.Contains(m.stdout(seq), "later") {
			t.Error("the output came only at the end")
		}
		m.result(seq)
	}},
	{"Queue", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("import time; ran = []")
		first := m.execute("time.sleep(1); ran.append('first')")
		second := m.execute("ran.append('second')")
		third := m.execute("ran.append('third')")
		if err := m.box.Cancel(m.ctx(), second); err != nil {
			t.Fatal(err)
		}
		if err := m.box.Execute(m.ctx(), third, "ran.append('again')", nil); err != nil {
			t.Fatal(err)
		}
		m.result(first)
		m.result(third)
		m.expect("ran", "['first', 'third']")
		if frames := m.frames(second); len(frames) != 0 {
			t.Errorf("a cancelled instruction said %+v", frames)
		}
	}},
	{"Error", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 5")
		r, _ := m.run("print('before')\n1/0")
		if r.OK || r.ErrorName != "ZeroDivisionError" || !strings.Contains(r.Error, "division by zero") || !strings.Contains(r.ErrorANSI, "\x1b[") || strings.Contains(r.Error, "\x1b[") {
			t.Errorf("failed with %+v", r)
		}
		m.expect("x", "5")
	}},
	{"Rich", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		r, _ := m.run("import pandas as pd; pd.DataFrame({'a': [1, 2]})")
		if !r.OK || r.Value == nil || !hasMIME(r.Data, "text/html") {
			t.Errorf("a table comes as %+v", r)
		}
		seq := m.execute("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
		m.result(seq)
		var png []byte
		for _, f := range m.frames(seq) {
			for _, r := range f.Item.Representations {
				if r.MIME == "image/png" {
					png = r.Data
				}
			}
		}
		if !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("no plot among %d frames", len(m.frames(seq)))
		}
	}},
	{"OddDisplaysAndErrors", func(t *testing.T, s Subject) {
		// What the runner sends of them is within what we accept: otherwise the machine would be
		// ended.
		m := s.fresh(t)
		m.value("x = 'kept'; S = type('S', (str,), {})")
		for _, code := range []string{
			"display({'': 'x'}, raw=True)",
			"display({'a\\nb': 'x', '\\ud800': 'x', 'y' * 300: 'x'}, raw=True)",
			"type('R', (), {'_repr_mimebundle_': lambda *a, **k: {'': 'x', S('text/html'): S('x')}})()",
			"from IPython.display import Image; display(Image(b'\\x89PNG', width=float('nan')))",
			"deep = {}\nfor _ in range(30): deep = {'a': [deep]}\ndisplay('x', metadata=deep, display_id='\\ud800' * 5000)",
		} {
			if r, _ := m.run(code); !r.OK {
				t.Errorf("%s: %s", code, r.Error)
			}
		}
		for _, raised := range []string{
			"type('E' * 300, (Exception,), {})", "type('E', (Exception,), {'__qualname__': 'Q' * (2 << 20)})",
			"type('E', (Exception,), {'__qualname__': S('Q')})", "SystemExit('x' * (2 << 20))", "Exception('x' * (2 << 20))",
			"type('E', (SystemExit,), {'__str__': lambda e: (_ for _ in ()).throw(e)})()",
		} {
			if r, _ := m.run("raise " + raised); r.OK || r.ErrorName == "" {
				t.Errorf("%s ends with %+v", raised, r)
			}
		}
		m.expect("x", "'kept'")
	}},
	{"Interrupt", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 7")
		for _, code := range []string{"while True: pass", "import time; time.sleep(1000)", "import subprocess; subprocess.run(['sleep', '1000'])"} {
			seq := m.execute("print('on', flush=True)\n" + code)
			m.awaitOutput(seq, "on")
			start := time.Now()
			if err := m.box.Interrupt(m.ctx(), seq); err != nil {
				t.Fatal(err)
			}
			r := m.result(seq)
			if r.OK || r.ErrorName != "KeyboardInterrupt" {
				t.Errorf("%s: ended with %+v", code, r)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s: it took %v", code, took)
			}
		}
		m.expect("x", "7")
	}},
	{"InterruptHarder", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute(`
			print('on', flush=True)
			caught = 0
			while caught < 3:
				try:
					while True: pass
				except KeyboardInterrupt:
					caught += 1
					print('caught', caught, flush=True)
		`)
		m.awaitOutput(seq, "on")
		for i := 1; i <= 3; i++ {
			if err := m.box.Interrupt(m.ctx(), seq); err != nil {
				t.Fatal(err)
			}
			m.await("another interrupt", func() bool {
				return strings.Contains(m.out(seq, "stdout"), fmt.Sprint("caught ", i)) || m.said[seq].result != nil
			})
		}
		m.result(seq)
		m.expect("1+1", "2")
	}},
	{"InterruptOfAnother", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute("import time; time.sleep(1.5); 'undisturbed'")
		if err := m.box.Interrupt(m.ctx(), seq+1); err != nil {
			t.Fatal(err)
		}
		if r := m.result(seq); !r.OK {
			t.Errorf("interrupting another number ended this with %+v", r)
		}
	}},
	{"Kill", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute("print('on', flush=True)\nwhile True:\n\ttry:\n\t\twhile True: pass\n\texcept BaseException: pass")
		m.awaitOutput(seq, "on")
		m.box.Kill()
		if cause := m.awaitEnd(); cause.Kind != machine.EndedKilled || cause.Checkpoint != nil {
			t.Errorf("killed, but the cause is %+v", cause)
		}
		if err := m.box.Execute(m.ctx(), 100, "1", nil); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("executing on a dead machine gives %v", err)
		}
		if _, err := m.box.Checkpoint(m.ctx(), nil); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("saving a dead machine gives %v", err)
		}
	}},
	{"Questions", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("import numpy as np; table = np.zeros((3, 4)); greeting = 'hello'")
		// Where the computer has no time for an answer within its bound, the machine says so: one
		// asks again.
		patiently := func(ask func() error) {
			t.Helper()
			for deadline := time.Now().Add(patience); ; {
				err := ask()
				if err == nil {
					return
				}
				if !errors.Is(err, machine.ErrBusy) || time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
		}
		complete := func(code string, cursor int) (c machine.Completions) {
			t.Helper()
			patiently(func() (err error) { c, err = m.box.Complete(m.ctx(), code, cursor); return err })
			return c
		}
		inspect := func(code string, cursor int) (i machine.Inspection) {
			t.Helper()
			patiently(func() (err error) { i, err = m.box.Inspect(m.ctx(), code, cursor, 0); return err })
			return i
		}
		if c := complete("greet", 5); len(c.Matches) == 0 || c.Matches[0] != "greeting" || c.Start != 0 || c.End != 5 {
			t.Errorf("completion: %+v", c)
		}
		if i := inspect("print(", 3); !i.Found || !strings.Contains(i.Text, "sep") {
			t.Errorf("inspection: %+v", i)
		}
		// At the very beginning there is something to say, too.
		if c := complete("greet", 0); len(c.Matches) == 0 || c.Start != 0 || c.End != 0 {
			t.Errorf("completion at the beginning: %+v", c)
		}
		complete("", 0)
		if i := inspect("print(", 0); !i.Found {
			t.Errorf("inspection at the beginning: %+v", i)
		}
		vars, err := m.box.Variables(m.ctx(), 100)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]machine.Variable{}
		for _, v := range vars {
			found[v.Name] = v
		}
		if v := found["table"]; v.Type != "ndarray" || v.Shape != "(3, 4)" || v.Size != 96 {
			t.Errorf("table is listed as %+v", v)
		}
		var page machine.Table
		patiently(func() (err error) {
			page, err = m.box.Table(m.ctx(), machine.TableQuery{Name: "table", Limit: 2, FirstColumn: 1, Columns: 2})
			return err
		})
		if page.Rows != 3 || page.Width != 4 || len(page.Cells) != 2 || len(page.Columns) != 2 || !page.Columns[0].Number {
			t.Errorf("a page of table is %+v", page)
		}
		if _, err := m.box.Table(m.ctx(), machine.TableQuery{Name: "greeting", Limit: 2, Columns: 2}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("a greeting as a table: %v", err)
		}
		if v := found["greeting"]; v.Type != "str" || v.Preview != "'hello'" {
			t.Errorf("greeting is listed as %+v", v)
		}
	}},
	{"Stats", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		before := m.stats()
		m.value("block = bytearray(200 << 20); block[::4096] = b'x' * len(block[::4096])")
		after := m.stats()
		if grown := after.MemoryBytes - before.MemoryBytes; grown < 190<<20 || grown > 320<<20 {
			t.Errorf("200 MiB more show as %d MiB", grown>>20)
		}
		if grown := after.UsedBytes - before.UsedBytes; grown < 190<<20 || grown > 320<<20 {
			t.Errorf("200 MiB more show as %d MiB of the limit", grown>>20)
		}
		// A machine's own clock of its work goes on while it waits for a processor that others
		// have.
		for worked := 1; ; worked++ {
			m.value("t = __import__('time').process_time\nend = t() + 1\nwhile t() < end: pass")
			spent := m.stats().CPUSeconds - after.CPUSeconds
			if spent >= 0.5 {
				break
			}
			if worked == 10 {
				t.Fatalf("%d seconds of work show as %v s", worked, spent)
			}
		}
	}},
	{"StartIsCancelled", func(t *testing.T, s Subject) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Engine.Start(ctx, machine.StartSpec{ID: s.newID(t), Name: "x", Image: "base", MemoryMB: 512}); err == nil {
			t.Error("a cancelled start succeeded")
		}
	}},
	{"NoSuchImage", func(t *testing.T, s Subject) {
		for _, image := range []string{"no-such", "../base", ""} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			_, err := s.Engine.Start(ctx, machine.StartSpec{ID: s.newID(t), Name: "x", Image: image, MemoryMB: 512})
			cancel()
			if err == nil {
				t.Errorf("the image %q was found", image)
			}
		}
	}},
}

func (s *session) stats() machine.Stats {
	s.t.Helper()
	stats, err := s.box.Stats(s.ctx())
	if err != nil {
		s.t.Fatalf("stats: %v", err)
	}
	return stats
}

func hasMIME(list []machine.Representation, mime string) bool {
	for _, r := range list {
		if r.MIME == mime {
			return true
		}
	}
	return false
}
