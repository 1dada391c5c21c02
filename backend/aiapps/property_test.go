package aiapps_test

import (
	"bytes"
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

// mutant is a file of the corpus to which anything has happened.
func mutant(t *rapid.T, files map[string][]byte, names []string) (app aiapps.App, data []byte) {
	name := rapid.SampledFrom(names).Draw(t, "file")
	id, _, _ := strings.Cut(name, "--")
	app, _ = aiapps.Find(id)
	data = bytes.Clone(files[name])
	at := func() int { return rapid.IntRange(0, len(data)).Draw(t, "at") }
	put := func(i int, text string) { data = append(data[:i:i], append([]byte(text), data[i:]...)...) }
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		switch rapid.IntRange(0, 7).Draw(t, "change") {
		case 0:
			put(at(), rapid.SampledFrom([]string{" ", "\n", "\t", "\r\n", "  ", "\n\n", "\ufeff", "\u2028", "\u0085"}).Draw(t, "space"))
		case 1:
			put(at(), rapid.SampledFrom([]string{"/* c */", "// c\n", "# c\n", " # c", ",", ":", "{", "}", "[", "]", "\"", "'", "-", "- ", "&a ", "*a", "|", "=", "null"}).Draw(t, "token"))
		case 2:
			i := at()
			data = append(data[:i:i], data[min(len(data), i+rapid.IntRange(0, 20).Draw(t, "length")):]...)
		case 3:
			i := at()
			put(at(), string(data[i:min(len(data), i+rapid.IntRange(0, 60).Draw(t, "length"))]))
		case 4:
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		case 5:
			data = bytes.TrimRight(data, "\n")
		case 6:
			put(at(), rapid.String().Draw(t, "text"))
		case 7: // a line is moved
			lines := bytes.SplitAfter(data, []byte("\n"))
			i, j := rapid.IntRange(0, len(lines)-1).Draw(t, "from"), rapid.IntRange(0, len(lines)-1).Draw(t, "to")
			lines[i], lines[j] = lines[j], lines[i]
			data = bytes.Join(lines, nil)
		}
	}
	return app, data
}

func readCorpus(t *testing.T) (files map[string][]byte, names []string) {
	t.Helper()
	files = map[string][]byte{}
	for _, folder := range []string{"corpus", "broken"} {
		entries, err := os.ReadDir(filepath.Join("testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			data, err := os.ReadFile(filepath.Join("testdata", folder, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 20_000 {
				continue // what is large is slow, and no stranger than the rest
			}
			files[entry.Name()] = data
			names = append(names, entry.Name())
		}
	}
	return files, names
}

// Whatever a file looks like: it is left alone, or only the entry changes and can be taken out
// again to the byte.
func TestAnyFileCanBeChangedAndChangedBack(t *testing.T) {
	files, names := readCorpus(t)
	rapid.Check(t, func(t *rapid.T) {
		app, data := mutant(t, files, names)
		list, entry := app.List, app.Entry(server)
		before := bytes.Clone(data)
		servers, err := list.Servers(data)
		after, setErr := list.Set(data, aiapps.Key, entry)
		if !bytes.Equal(before, data) {
			t.Fatal("the text that was given has changed")
		}
		if err != nil {
			if !errors.Is(err, configfile.ErrBroken) || setErr == nil {
				t.Fatalf("a file that cannot be read (%v) was changed (%v)", err, setErr)
			}
			return
		}
		if setErr != nil {
			if !errors.Is(setErr, configfile.ErrNoWay) {
				t.Fatal(setErr)
			}
			return
		}
		now, err := list.Servers(after)
		if err != nil {
			t.Fatalf("%v:\n%s", err, after)
		}
		had := false
		for _, s := range servers {
			had = had || s.Name == aiapps.Key
		}
		if want := len(servers) + 1; !had && len(now) != want {
			t.Fatalf("%d servers became %d:\n%s", len(servers), len(now), after)
		}
		if back, ok := configfile.Between(data, after).Undo(after); !ok || !bytes.Equal(back, data) {
			t.Fatalf("undone it is\n%q, it was\n%q", back, data)
		}
		removed, err := list.Remove(after, aiapps.Key)
		if err != nil {
			if errors.Is(err, configfile.ErrNoWay) {
				return
			}
			t.Fatal(err)
		}
		if left, err := list.Servers(removed); err != nil || !had && len(left) != len(servers) {
			t.Fatalf("without the entry: %v, %v\n%s", left, err, removed)
		}
	})
}

var (
	aValue   = regexp.MustCompile(`([:=] ?)"[^"\\\n]*"`)
	aComment = regexp.MustCompile(`((?://|#) )[^\n]*|(/\* )[^*\n]*`)
	asAKey   = regexp.MustCompile(`SECRET[^\n]*?["']?\s*[:=]`) // keys are shown
)

// Whatever a file looks like: what a dry run shows of it hides what others have in it.
func TestNoDryRunShowsWhatIsOthers(t *testing.T) {
	files, names := readCorpus(t)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "ours-") })
	rapid.Check(t, func(rt *rapid.T) {
		app, data := mutant(rt, files, names)
		which := rapid.Uint64().Draw(rt, "which") // values are replaced
		hide := func(what *regexp.Regexp, with string) {
			data = what.ReplaceAllFunc(data, func(text []byte) []byte {
				if which = bits.RotateLeft64(which, 1); which&1 == 0 {
					return text
				}
				return what.ReplaceAll(text, []byte(with))
			})
		}
		hide(aValue, `$1"SECRET"`)
		hide(aComment, "${1}${2}SECRET")
		d := newDesk(t, "linux")
		path := d.file(app.ID, data)
		shown := func(report aiapps.Report, err error) {
			for _, change := range report.Changes {
				for line := range strings.Lines(change.Difference) {
					if strings.Contains(line, "SECRET") && !asAKey.MatchString(line) {
						rt.Fatalf("of\n%s\nit shows\n%s", d.read(path), change.Difference)
					}
				}
			}
		}
		shown(d.Connect(app.ID, aiapps.Options{Replace: true, DryRun: true}))
		if _, err := d.Connect(app.ID, aiapps.Options{Replace: true}); err == nil {
			shown(d.Disconnect(app.ID, aiapps.Options{DryRun: true}))
		}
	})
}

// The same through a manager and real files.
func TestAnyFileThroughAManager(t *testing.T) {
	files, names := readCorpus(t)
	rapid.Check(t, func(rt *rapid.T) {
		app, data := mutant(rt, files, names)
		d := newDesk(t, "linux")
		path := d.file(app.ID, data)
		before := d.state(app.ID)
		if _, err := d.Connect(app.ID, aiapps.Options{Replace: true}); err != nil {
			if got := d.read(path); got != string(data) {
				rt.Fatalf("refused (%v) but changed to\n%s", err, got)
			}
			return
		}
		connected := d.read(path)
		if d.state(app.ID) != aiapps.Connected {
			rt.Fatalf("not connected:\n%s", connected)
		}
		if _, err := d.Connect(app.ID, aiapps.Options{}); err != nil || d.read(path) != connected {
			rt.Fatalf("connecting twice is not as connecting once: %v", err)
		}
		if _, err := d.Disconnect(app.ID, aiapps.Options{}); err != nil {
			rt.Fatal(err)
		}
		if got := d.read(path); got != string(data) && before != aiapps.Outdated {
			rt.Fatalf("disconnected it is\n%q, it was\n%q", got, data)
		}
	})
}
