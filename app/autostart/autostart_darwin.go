package autostart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// On says whether the program is started at login. launchd keeps apart from the file which agents
// are switched off.
func (e Entry) On() (bool, error) {
	path, err := e.path()
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	said, err := exec.Command("launchctl", "print-disabled", domain()).Output()
	if err != nil {
		return false, fmt.Errorf("launchctl does not say which agents are switched off: %w", err)
	}
	for line := range strings.Lines(string(said)) {
		label, state, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if strings.Trim(label, `"`) == e.label() {
			return state != "disabled" && state != "true", nil
		}
	}
	return true, nil
}

// Set has the program started at login from now on, whatever the system's switch said before, or no
// longer.
func (e Entry) Set(on bool) error {
	path, err := e.path()
	if err != nil {
		return err
	}
	if !on {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var words strings.Builder
	for _, word := range e.Command {
		words.WriteString("<string>")
		if err := xml.EscapeText(&words, []byte(word)); err != nil {
			return err
		}
		words.WriteString("</string>")
	}
	plist := `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>` + e.label() + `</string>
<key>ProgramArguments</key><array>` + words.String() + `</array>
<key>RunAtLoad</key><true/>
<key>ProcessType</key><string>Interactive</string>
</dict></plist>
`
	if err := renameio.WriteFile(path, []byte(plist), 0o644); err != nil {
		return err
	}
	return exec.Command("launchctl", "enable", domain()+"/"+e.label()).Run()
}

func (e Entry) label() string { return "com.forevervm." + e.ID }

func (e Entry) path() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", e.label()+".plist"), err
}

func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }
