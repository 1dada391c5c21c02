package aiapps_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps"
)

// skills are where the apps that take skills find ours, below the home folder.
var skills = map[string]string{
	"claude-code": ".claude/skills/forevervm/SKILL.md",
	"codex":       ".agents/skills/forevervm/SKILL.md",
	"gemini":      ".gemini/skills/forevervm/SKILL.md",
}

func TestASkillComesAndGoesWithTheConnection(t *testing.T) {
	for id, place := range skills {
		d := newDesk(t, "linux")
		d.file(id, nil)
		path := filepath.Join(d.home, place)
		if report, err := d.Connect(id, aiapps.Options{}); err != nil || len(report.Changes) != 1 {
			t.Fatalf("%s without it: %+v, %v", id, report, err)
		}
		dry, err := d.Connect(id, aiapps.Options{Skill: true, DryRun: true})
		if _, statErr := os.Stat(path); err != nil || statErr == nil || len(dry.Changes) != 2 || dry.Changes[1].Path != path || !strings.Contains(dry.Changes[1].Difference, "name: forevervm") {
			t.Errorf("%s: it would be %+v, %v", id, dry, err)
		}
		for range 2 { // the second time there is nothing to do
			if _, err := d.Connect(id, aiapps.Options{Skill: true}); err != nil {
				t.Fatal(err)
			}
		}
		text := d.read(path)
		// The standard's limits (agentskills.io/specification).
		front := strings.SplitN(text, "---\n", 3)[1]
		if description := strings.TrimPrefix(front[strings.Index(front, "description:"):], "description: "); !strings.HasPrefix(front, "name: forevervm\n") || len(description) > 1024 || strings.Count(text, "\n") > 500 {
			t.Errorf("%s", text)
		}
		if _, err := d.Disconnect(id, aiapps.Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something is left: %v", id, err)
		}
	}
}

func TestASkillOfThePersonStays(t *testing.T) {
	d := newDesk(t, "linux")
	d.file("gemini", nil)
	path := filepath.Join(d.home, skills["gemini"])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	d.write(path, []byte("mine"))
	if _, err := d.Connect("gemini", aiapps.Options{Skill: true}); !errors.Is(err, aiapps.ErrFile) {
		t.Errorf("over it: %v", err)
	}
	d.want("gemini", aiapps.Connected)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Connect("gemini", aiapps.Options{Skill: true}); err != nil {
		t.Fatal(err)
	}
	d.write(path, []byte("ours, changed"))
	if _, err := d.Disconnect("gemini", aiapps.Options{}); err != nil || d.read(path) != "ours, changed" {
		t.Errorf("%v", err)
	}
}
