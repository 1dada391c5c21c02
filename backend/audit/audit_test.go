package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func fill(t *testing.T, n int) (path string, l *Log) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "record.jsonl")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := l.Add(Entry{Action: Share, Machine: "m", About: fmt.Sprintf("/folder <%d>", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	return path, l
}

func TestListedInPages(t *testing.T) {
	path, l := fill(t, 7)
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Log{l, again} {
		var seen []string
		for before := int64(0); ; {
			page, err := l.List(before, 3)
			if err != nil || page.Broken != 0 || page.Head == "" {
				t.Fatalf("%+v, %v", page, err)
			}
			if len(page.Entries) == 0 {
				break
			}
			for _, e := range page.Entries {
				seen = append(seen, e.About)
				before = e.N
			}
		}
		if got := strings.Join(seen, ","); got != "/folder <7>,/folder <6>,/folder <5>,/folder <4>,/folder <3>,/folder <2>,/folder <1>" {
			t.Errorf("listed %s", got)
		}
	}
}

func TestWhatIsChangedShows(t *testing.T) {
	for name, change := range map[string]func(lines []string) []string{
		"a changed line":  func(l []string) []string { l[2] = strings.Replace(l[2], "folder", "fonder", 1); return l },
		"a missing line":  func(l []string) []string { return append(l[:2:2], l[3:]...) },
		"swapped lines":   func(l []string) []string { l[2], l[3] = l[3], l[2]; return l },
		"a foreign line":  func(l []string) []string { l[2] = "oops\n"; return l },
		"a line too many": func(l []string) []string { return append(append(l[:2:2], l[1]), l[2:]...) },
	} {
		path, l := fill(t, 5)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		if err := os.WriteFile(path, []byte(strings.Join(change(lines), "")), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := after.Add(Entry{Action: Purge}); err != nil { // the record goes on
			t.Fatal(err)
		}
		for _, l := range []*Log{l, after} {
			if page, err := l.List(0, 10); err != nil || page.Broken != 3 {
				t.Errorf("%s: broken at %d, want 3 (%v)", name, page.Broken, err)
			}
		}
	}
}

func TestACutEndShows(t *testing.T) {
	path, l := fill(t, 5)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	four := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	if err := os.Truncate(path, int64(four)); err != nil {
		t.Fatal(err)
	}
	if page, err := l.List(0, 10); err != nil || page.Broken != 5 {
		t.Errorf("broken at %d, want 5 (%v)", page.Broken, err)
	}
}

func TestHalfALineIsCutOff(t *testing.T) {
	path, _ := fill(t, 2)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"n":3,"action":"sh`); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	file.Close()
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Add(Entry{Action: Unshare}); err != nil {
		t.Fatal(err)
	}
	if page, err := l.List(0, 10); err != nil || page.Broken != 0 || len(page.Entries) != 3 || page.Entries[0].Action != Unshare {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	_, l := fill(t, 0)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := l.Add(Entry{Action: Answer, About: strings.Repeat("ä", 5000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if page, err := l.List(0, 100); err != nil || page.Broken != 0 || len(page.Entries) != 80 {
		t.Errorf("%d entries, broken at %d, %v", len(page.Entries), page.Broken, err)
	}
}
