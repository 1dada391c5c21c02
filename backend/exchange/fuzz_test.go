package exchange

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A name that may come out of a machine stays in its folder on every computer, is what it looks
// like, and is no program's own.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"sales.csv", "a/b c/d.png", ".git/config", "a/../b", "x\u202egnp.exe", "GIT~1", "con.txt", "a:b", "HEAD", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		at, why := refused(name, false)
		if why == "" && at != "" || !strings.HasPrefix(name, at) {
			t.Fatalf("%q is refused at %q for %q", name, at, why)
		}
		if why != "" {
			return
		}
		if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q has characters that nobody sees", name)
		}
		for _, part := range strings.Split(name, "/") {
			if part == "" || strings.Trim(part, ". ") == "" || part[0] == '.' || part[0] == '-' || strings.EqualFold(part, ".git") {
				t.Errorf("%q has the part %q", name, part)
			}
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			t.Errorf("%q leaves its folder", name)
		}
	})
}
