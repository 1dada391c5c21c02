// Package desktopentry reads and writes desktop entries: the files by which Linux desktops know
// programs (freedesktop.org's Desktop Entry Specification).
package desktopentry

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// Group is what a desktop entry says, line by line; the order is kept.
type Group []Pair

// Pair is one key and its value, which must be one line. Exec makes the value of the key of that
// name.
type Pair struct{ Key, Value string }

const title = "[Desktop Entry]"

// Get returns the value of a key, "" where there is none.
func (g Group) Get(key string) string {
	for _, pair := range g {
		if pair.Key == key {
			return pair.Value
		}
	}
	return ""
}

// Read returns the main group of a file.
func Read(path string) (Group, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var group Group
	inside := false
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch key, value, ok := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "["):
			inside = line == title
		case inside && ok && !strings.HasPrefix(line, "#"):
			group = append(group, Pair{strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return group, lines.Err()
}

// Write replaces a file by one with this group, all at once, and makes its folder.
func Write(path string, group Group) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var out strings.Builder
	out.WriteString(title + "\n")
	for _, pair := range group {
		out.WriteString(pair.Key + "=" + pair.Value + "\n")
	}
	return renameio.WriteFile(path, []byte(out.String()), 0o644)
}

// Exec is the value for a command. Codes such as %u, which the desktop replaces, must be words of
// their own.
func Exec(command ...string) string {
	var words []string
	for i, word := range command {
		if i > 0 && len(word) == 2 && word[0] == '%' {
			words = append(words, word)
			continue
		}
		// Quoted for the command, then for the file, in which a backslash stands for more itself.
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`, `%`, `%%`).Replace(word)
		words = append(words, `"`+strings.ReplaceAll(quoted, `\`, `\\`)+`"`)
	}
	return strings.Join(words, " ")
}
