package desktopentry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/app/desktopentry"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "a.desktop")
	group := desktopentry.Group{{Key: "Type", Value: "Application"}, {Key: "Exec", Value: desktopentry.Exec("/a b/x", "--hidden", "%u")}}
	if err := desktopentry.Write(path, group); err != nil {
		t.Fatal(err)
	}
	read, err := desktopentry.Read(path)
	if err != nil || read.Get("Type") != "Application" || read.Get("Exec") != `"/a b/x" "--hidden" %u` || read.Get("Icon") != "" {
		t.Errorf("%v, %v", read, err)
	}
}

func TestOnlyTheMainGroupCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.desktop")
	text := "# a comment\n[Desktop Entry]\nName = A\n#Hidden=true\n[Desktop Action x]\nHidden=true\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	group, err := desktopentry.Read(path)
	if err != nil || group.Get("Name") != "A" || group.Get("Hidden") != "" {
		t.Errorf("%v, %v", group, err)
	}
}

func TestCommandsAreQuoted(t *testing.T) {
	for word, want := range map[string]string{
		`/usr/bin/x`: `"/usr/bin/x"`,
		`/50%/x`:     `"/50%%/x"`,
		`/$HOME/"x"`: `"/\\$HOME/\\"x\\""`,
		`/a\b`:       `"/a\\\\b"`,
	} {
		if got := desktopentry.Exec(word); got != want {
			t.Errorf("Exec(%s) = %s, want %s", word, got, want)
		}
	}
}
