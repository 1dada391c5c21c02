package service_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/machine"
)

// titled makes a machine without a title, sends it code, and returns the title that it then has.
func (w *world) titled(code string) string {
	w.t.Helper()
	m, err := w.Create(w.ctx, machine.CreateOptions{})
	w.ok(err)
	w.wait(m.Name, w.exec(m.Name, code).Seq)
	title := w.get(m.Name).DerivedTitle
	w.ok(w.at(m.Name).Purge(w.ctx))
	return title
}

func TestATitleIsTakenFromTheCode(t *testing.T) {
	inTime(t, func(w *world) {
		for code, want := range map[string]string{
			"# Load the sales of 2025\nimport pandas as pd":                              "Load the sales of 2025",
			"import pandas as pd\n\n# === Load the sales ===\ndf = pd.read_csv('x.csv')": "Load the sales",
			"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n####\n# %% Survey\nx = 1":   "Survey",
			"\n\"\"\"\nPrimes up to a limit.\n\nBy a sieve.\n\"\"\"\n# first\nn = 100":   "Primes up to a limit.",
			"'''Primes'''\nn = 100": "Primes",
			"import os, sys\nfrom a import (\n    b,\n    c,\n)\n%matplotlib inline\nn = 100": "Works out n",
			"import pandas as pd; df = pd.read_csv('sales.csv'); df":                          "Reads sales.csv",
			"rng=np.random.default_rng(1)\ndf = pd.DataFrame(rng.random(9))\ndf.plot()":       "Draws a chart",
			"pd.read_csv('passwords.csv')\nask()":                                             "ask()",
			"text = \"\"\"\n# not a comment\n\"\"\"\nprint(text)":                             "Works out text",
			"API_KEY = 'sk-12345'\nprint(len(API_KEY.split()))\nask()":                        "ask()",
			"# password: hunter2\ns3 = client('AKIAIOSFODNN7')\nask()":                        "Works out s3",
			"\"\"\"postgres://me:hunter2@db\"\"\"\nask()":                                     "ask()",
			"2 ** 100":           "2 ** 100",
			"x = 'Größe – 漢字'":   "Works out x",
			"x\n1+1\n# 1\n":      "",
			"import numpy as np": "",
			"":                   "",
			"\n \n\t\n":          "",
			"# ------\n)":        "",
			"# a \u202egro.live\x1b[31m \u200bb\u2028c\td": "a gro.live[31m b c d",
			"# " + strings.Repeat("word ", 30):             "word word word word word word word word word word word…",
			"# " + strings.Repeat("é", 1_000_000):          strings.Repeat("é", 59) + "…",
			strings.Repeat("\n", 1_000_000) + "# too late": "",
		} {
			if got := w.titled(code); got != want {
				t.Errorf("%.80q is called %q, want %q", code, got, want)
			}
		}
	})
}

// Whatever the code, its title is a short line of characters that can be seen.
func TestATitleIsHarmless(t *testing.T) {
	inTime(t, func(w *world) {
		rapid.Check(t, func(t *rapid.T) {
			parts := []string{"#", `"""`, "'''", "(", "\n", "\r", ";", "import ", "from ", "x", "\x00", "\u202e", "\u0301", "🙂"}
			code := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(parts), rapid.String())).Draw(t, "code"), "")
			if !utf8.ValidString(code) {
				t.Skip("is refused")
			}
			title := w.titled(code)
			if utf8.RuneCountInString(title) > 60 || strings.ContainsFunc(title, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q is called %q", code, title)
			}
		})
	})
}

// A title that a program or a file gives cannot turn what stands beside it.
func TestATitleTurnsNothing(t *testing.T) {
	inTime(t, func(w *world) {
		const given, want = "a\u202egnp\u202c\u2066b\u2069\u200e ü مرحبا 👩\u200d👧", "agnpb\u200e ü مرحبا 👩\u200d👧"
		m, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", Title: given})
		if err != nil || m.Title != want {
			t.Errorf("made: %q, %v", m.Title, err)
		}
		title := given + "2"
		if m, err = w.at("m").Update(w.ctx, machine.Change{Title: &title}); err != nil || m.Title != want+"2" {
			t.Errorf("changed: %q, %v", m.Title, err)
		}
		w.run("m", "print 1")
		c := w.packed("m", "")
		c.about.Title = given
		if m, err = w.Unpack(w.ctx, c, machine.CreateOptions{Name: "n"}); err != nil || m.Title != want {
			t.Errorf("from a file: %q, %v", m.Title, err)
		}
	})
}

// A machine that is opened from a backup stands beside the one that the backup is of.
func TestAMachineFromAFileIsToldFromTheOneThatItWas(t *testing.T) {
	inTime(t, func(w *world) {
		for _, given := range []string{"Café sales", strings.Repeat("x", 200), ""} {
			made, err := w.Create(w.ctx, machine.CreateOptions{Title: given})
			if err != nil {
				t.Fatal(err)
			}
			w.run(made.Name, "# Works out the tax of "+made.Name)
			was := w.get(made.Name)
			seen := map[string]bool{cmp.Or(was.Title, was.DerivedTitle): true}
			for range 2 {
				m, err := w.Unpack(w.ctx, w.packed(made.Name, ""), machine.CreateOptions{})
				title := cmp.Or(m.Title, m.DerivedTitle)
				if err != nil || seen[title] || !strings.HasSuffix(title, fmt.Sprintf(" (%d)", len(seen)+1)) {
					t.Errorf("%q beside %v, %v", title, seen, err)
				}
				seen[title] = true
			}
		}
	})
}

// What an AI says of its first code is for people; the code itself is not.
func TestAMachineIsCalledByTheFirstSummary(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		_, _, err := w.at("m").Execute(w.ctx, machine.ExecuteOptions{Code: "import pandas as pd; df = pd.read_csv('x')", Summary: "Read the sales of 2025"})
		w.ok(err)
		if m := w.get("m"); m.DerivedTitle != "Read the sales of 2025" {
			t.Errorf("it is called %q", m.DerivedTitle)
		}
	})
}

// What a person calls a machine stands beside what its first code says; that stays, also for the
// next daemon and in copies.
func TestAMachineKeepsTheTitleOfItsFirstCode(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		beginning, err := w.at("m").Checkpoint(w.ctx, "nothing has run")
		w.ok(err)
		called := func(name, title, derived string) {
			t.Helper()
			if m := w.get(name); m.Title != title || m.DerivedTitle != derived {
				t.Errorf("%s is called %q, and by its code %q", name, m.Title, m.DerivedTitle)
			}
		}
		w.run("m", "import os")
		called("m", "", "")
		w.run("m", "print sales # of 2025")
		w.run("m", "# Clean them")
		called("m", "", "print sales # of 2025")
		mine, none := "Mine", ""
		_, err = w.at("m").Update(w.ctx, machine.Change{Title: &mine})
		w.ok(err)
		called("m", "Mine", "print sales # of 2025")
		_, err = w.at("m").Update(w.ctx, machine.Change{Title: &none})
		w.ok(err)
		_, err = w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "copy"})
		w.ok(err)
		_, err = w.at("m").Fork(w.ctx, beginning.ID, machine.CreateOptions{Name: "again"})
		w.ok(err)
		w.close()
		w.open()
		w.run("copy", "# Something else")
		called("m", "", "print sales # of 2025")
		called("copy", "", "print sales # of 2025")
		called("again", "", "")
		if found, err := w.List(w.ctx, machine.Filter{Text: "SALES"}); err != nil || len(found.Items) != 2 {
			t.Errorf("found %+v, %v", found.Items, err)
		}
	})
}

// Whoever sends a key in code hears that it is in the machine now, and what is better.
func TestAKeyInCodeIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		if in := w.run("m", "print ghp_0123456789abcdef0123456789abcdef0123"); !strings.Contains(in.Notice, "a key (GitHub)") {
			t.Errorf("the notice is %q", in.Notice)
		}
		if in := w.run("m", "print 1"); in.Notice != "" {
			t.Errorf("the next notice is %q", in.Notice)
		}
	})
}
