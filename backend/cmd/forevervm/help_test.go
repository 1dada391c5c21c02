package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandIsExplained(t *testing.T) {
	root := (&app{}).root()
	used := map[string]bool{}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
			if !sub.IsAvailableCommand() || sub.Name() == "completion" || sub.Name() == "help" || sub.Parent().Name() == "completion" {
				continue
			}
			if sub.Example == "" && sub.Annotations[onlyGroup] == "" {
				t.Errorf("%s has no example", sub.CommandPath())
			}
			if groups[cmd.CommandPath()] != nil && sub.GroupID == "" {
				t.Errorf("%s is in no group", sub.CommandPath())
			}
		}
		used[cmd.CommandPath()] = true
	}
	each(root)
	for path := range examples {
		if !used[path] {
			t.Errorf("there is an example of %s, which does not exist", path)
		}
	}
}

// docs/cli.md is what `make generate` writes.
func TestReferenceIsGenerated(t *testing.T) {
	var page bytes.Buffer
	if err := reference((&app{}).root(), &page); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../../docs/cli.md")
	if err != nil || !bytes.Equal(kept, page.Bytes()) {
		t.Errorf("docs/cli.md is not what the program says: run `make generate` (%v)", err)
	}
}

func TestWrongCallsSayWhatIsRight(t *testing.T) {
	for call, want := range map[string]string{
		"machine lst":  "Did you mean \"list\"?",
		"machine nope": "`forevervm machine --help` lists them",
		"exec":         "call it as `forevervm exec NAME CODE|-",
		"machine copy": "call it as `forevervm machine copy NAME",
	} {
		var out, said bytes.Buffer
		status := run(t.Context(), nil, strings.Fields(call), strings.NewReader(""), &out, &said)
		if status != statusFailed || !strings.Contains(said.String(), want) {
			t.Errorf("%s: status %d, %q", call, status, said.String())
		}
	}
}

// What documents and examples have people type is a command, with flags and arguments that it
// takes.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	calls := map[string]string{}
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block, redirect := regexp.MustCompile("(?s)```sh\n(.*?)```"), regexp.MustCompile(` +[<>|] .*`)
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(page) == "cli.md" { // has usage lines, and the examples
			continue
		}
		for _, code := range block.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(code[1]) {
				if call, ok := strings.CutPrefix(strings.TrimSpace(line), "forevervm "); ok {
					calls[call] = filepath.Base(page)
				}
			}
		}
	}
	for path, example := range examples {
		for line := range strings.Lines(example) {
			calls[strings.TrimPrefix(strings.TrimSpace(line), "forevervm ")] = path
		}
	}
	if len(calls) < 100 {
		t.Errorf("only %d calls were found", len(calls))
	}
	for call, where := range calls {
		split := exec.Command("bash", "-c", "set -f; words() { printf '%s\\0' \"$@\"; }; words "+redirect.ReplaceAllString(call, ""))
		words, err := split.Output()
		if err != nil {
			t.Errorf("%s: %s: %v", where, call, err)
			continue
		}
		cmd, args, err := (&app{}).root().Find(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil && cmd.Annotations[onlyGroup] == "" {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: forevervm %s: %v", where, call, err)
		}
	}
}
